package lockcore

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Token is the value that a lock's key holds while it is locked:
//
//	6f1c1e1e-0d3c-4c1a-9a57-2f6a2f0c9b11/1796118050123456/web-3:4711
//	└ UUID, fresh for each attempt ────┘ └ ticket, µs ──┘ └ owner ─┘
//
// It is one line of printable text, so that a person with redis-cli can read
// it, and one opaque value to every other client. The three parts are
// separated by '/'; the owner comes last and may contain one. This form is
// settled: whatever is added later, ParseToken keeps reading it.
type Token struct {
	// UUID makes the token unique. Each attempt to acquire gets a new one,
	// so that a late answer to an abandoned attempt is never taken for a
	// vote in a later one.
	UUID uuid.UUID
	// Ticket is when the client first asked for the lock, by its own wall
	// clock in microseconds. It is kept over the attempts of one Acquire
	// and orders waiters. It is not when the lock was taken.
	Ticket int64
	// Owner is host:pid or the application's label.
	Owner string
}

// MaxOwner is the longest owner label that is accepted, in bytes.
const MaxOwner = 128

func newToken(ticket int64, owner string) Token {
	return Token{UUID: uuid.New(), Ticket: ticket, Owner: owner}
}

// String returns the token as it is stored in Redis.
func (t Token) String() string {
	return t.UUID.String() + "/" + strconv.FormatInt(t.Ticket, 10) + "/" + t.Owner
}

// Asked is when the client first asked for the lock, by the client's clock.
func (t Token) Asked() time.Time { return time.UnixMicro(t.Ticket) }

// ParseToken reads a value found in Redis. It reports false for everything
// that [Token.String] does not write.
func ParseToken(value string) (Token, bool) {
	const uuidLen = 36
	if len(value) < uuidLen+4 || value[uuidLen] != '/' {
		return Token{}, false
	}
	id, err := uuid.Parse(value[:uuidLen])
	if err != nil || id.String() != value[:uuidLen] {
		return Token{}, false
	}
	digits, owner, ok := strings.Cut(value[uuidLen+1:], "/")
	if !ok || len(digits) > 19 {
		return Token{}, false
	}
	ticket, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || ticket < 0 || strconv.FormatInt(ticket, 10) != digits {
		return Token{}, false
	}
	if checkOwner(owner) != nil {
		return Token{}, false
	}
	return Token{UUID: id, Ticket: ticket, Owner: owner}, true
}

// checkOwner says what is wrong with an owner label.
func checkOwner(owner string) error {
	switch {
	case owner == "":
		return fmt.Errorf("the owner label is empty")
	case len(owner) > MaxOwner:
		return fmt.Errorf("the owner label has %d bytes, at most %d are accepted", len(owner), MaxOwner)
	case !utf8.ValidString(owner):
		return fmt.Errorf("the owner label is not valid UTF-8")
	}
	for _, r := range owner {
		if unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return fmt.Errorf("the owner label has the character %U, which is not printable or is a space", r)
		}
	}
	return nil
}

// defaultOwner is host:pid of this process.
func defaultOwner() string {
	host, err := os.Hostname()
	if err != nil || checkOwner(host) != nil || len(host) > MaxOwner-12 {
		host = "unknown-host"
	}
	return host + ":" + strconv.Itoa(os.Getpid())
}
