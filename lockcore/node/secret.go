package node

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Secrets takes credentials out of texts that a server wrote. We never print
// one ourselves, but a server that does not know a command answers with the
// command's arguments, and those of AUTH and HELLO are credentials. The zero
// value knows none and still cuts such arguments off. It is immutable and safe
// for concurrent use.
type Secrets struct{ words []string }

// NewSecrets returns what hides the given words; empty ones are passed over.
func NewSecrets(words ...string) Secrets {
	var s Secrets
	for _, word := range words {
		// Servers write line breaks as spaces.
		for _, form := range []string{word, strings.NewReplacer("\r", " ", "\n", " ").Replace(word)} {
			if strings.TrimSpace(form) != "" && !slices.Contains(s.words, form) {
				s.words = append(s.words, form)
			}
		}
	}
	// Longest first, so that a word that contains another one does not leave
	// its rest behind.
	slices.SortStableFunc(s.words, func(a, b string) int { return len(b) - len(a) })
	return s
}

const hidden = "[hidden]"

// shortSecret is the length up to which a secret is only hidden where it stands
// as a word of its own: hiding every "e" of a sentence would hide nothing and
// tell what the secret is.
const shortSecret = 3

// ordinary are words that servers use of themselves. Hiding one of them where
// it is no echo would tell that it is a password, and make the text useless.
const ordinary = `
	ASK AUTH BUSY CLUSTERDOWN CROSSSLOT DENIED ERR EXECABORT HELLO LOADING MASTERDOWN MISCONF MOVED NOAUTH NOPERM
	NOPROTO NOREPLICAS NOSCRIPT OOM READONLY Redis TRYAGAIN UNKILLABLE WRONGPASS WRONGTYPE
	access account admin allowed already arguments arguments authentication Authentication available before
	called client clients closed cluster command commands config configuration configured connection connections
	dataset default denied disabled enough error failed good internal invalid keys loading lock locked lowercase
	master matching maxmemory maximum memory number password passwords pattern permission permissions protected
	protocol reached read redis refused replica replicas required reset root running script secret server servers
	snapshot subcommand syntax timeout unknown unsupported used user username using value version without write wrong`

var ordinaryWords = strings.Fields(ordinary)

// Redact returns the text without a secret in it. What a server repeats of
// arguments that it did not understand is cut off as a whole. Elsewhere a
// secret is hidden wherever it occurs, with two exceptions, since the text
// must not tell by its gaps what the secret is: one of up to three bytes, or
// one that is part of a word that servers use of themselves ("pass"), is hidden
// only as a word of its own, and one that is such a word itself ("password")
// only in quotes.
func (s Secrets) Redact(text string) string {
	const echo = "with args beginning with" // the words of Redis before them
	if before, _, found := strings.Cut(text, echo); found {
		text = before + "with arguments " + hidden
	}
	for _, word := range s.words {
		switch {
		case !strings.Contains(text, word):
		case slices.Contains(ordinaryWords, word):
			text = replaceBetween(text, word, isQuote)
		case len(word) <= shortSecret || strings.Contains(ordinary, word):
			text = replaceBetween(text, word, isNoLetter)
		default:
			text = strings.ReplaceAll(text, word, hidden)
		}
	}
	return text
}

// replaceBetween hides a word where a border stands on both of its sides; 0 is
// the border of the text itself.
func replaceBetween(text, word string, border func(byte) bool) string {
	at := func(i int) byte {
		if i < 0 || i >= len(text) {
			return 0
		}
		return text[i]
	}
	var b strings.Builder
	kept := 0
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			break
		}
		start, end := from+i, from+i+len(word)
		if border(at(start-1)) && border(at(end)) {
			b.WriteString(text[kept:start])
			b.WriteString(hidden)
			kept, from = end, end
		} else {
			from = start + 1
		}
	}
	b.WriteString(text[kept:])
	return b.String()
}

func isQuote(c byte) bool { return c == '\'' || c == '"' || c == '`' }

func isNoLetter(c byte) bool {
	return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80)
}

// clean returns an error without a secret in its text. Only what a server
// replied can hold one.
func (s Secrets) clean(err error) error {
	if staged, ok := err.(*StageError); ok {
		if inner := s.clean(staged.Err); inner != staged.Err {
			return &StageError{staged.Stage, inner}
		}
		return err
	}
	var reply redis.Error
	if err == nil || err == redis.Nil || !errors.As(err, &reply) {
		return err
	}
	text := err.Error()
	if redacted := s.Redact(text); redacted != text {
		return &redactedError{text: redacted, kind: Classify(err)}
	}
	return err
}

// redactedError stands for a server's reply that held a secret. It does not
// lead back to the reply.
type redactedError struct {
	text string
	kind Kind
}

func (e *redactedError) Error() string { return e.text }

// RedisError makes it a redis.Error, as the reply is.
func (e *redactedError) RedisError() {}

// redaction cleans each error that a client returns.
type redaction struct{ secrets Secrets }

func (redaction) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (r redaction) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil {
			return nil
		}
		err = r.secrets.clean(err)
		cmd.SetErr(err)
		return err
	}
}

func (r redaction) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if own := cmd.Err(); own != nil {
				cmd.SetErr(r.secrets.clean(own))
			}
		}
		return r.secrets.clean(err)
	}
}
