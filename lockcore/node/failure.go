package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// Kind groups failures by what they mean for a lock and for a person.
type Kind int

// The kinds of failure.
const (
	// OK is no failure.
	OK Kind = iota
	// Unreachable: no connection, or it broke. Nothing is known about
	// what the server did.
	Unreachable
	// TimedOut: connected, but no answer in time. The command may still be
	// carried out.
	TimedOut
	// Unauthorized: the server wants other credentials.
	Unauthorized
	// Forbidden: this user may not run this command or touch this key.
	Forbidden
	// Replica: the server is a read-only replica.
	Replica
	// NotServing: the server is there but refuses work at present (loading,
	// out of memory, too few replicas, busy with a script, …). A later try
	// can succeed.
	NotServing
	// WrongType: the key is of another type.
	WrongType
	// Refused: any other error reply.
	Refused
	// ReadOnlyMode: we did not send it, because of --read-only.
	ReadOnlyMode
	// Canceled: the caller gave up.
	Canceled
	// Moved: another server of the cluster serves the key, see [Redirected].
	Moved
)

// Transient reports whether trying again a little later makes sense.
func (k Kind) Transient() bool {
	return k == Unreachable || k == TimedOut || k == NotServing
}

// Unanswered reports whether the node has not said what became of the command:
// it may have been carried out, or be carried out yet.
func (k Kind) Unanswered() bool {
	return k == Unreachable || k == TimedOut || k == Canceled
}

// notServing lists the error codes of a server that may answer properly later.
var notServing = []string{
	"LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "OOM", "NOREPLICAS", "MISCONF", "UNKILLABLE",
	"ERR max number of clients",
}

// scriptError is what servers put before the error of a command in a script.
const scriptError = "ERR user_script:"

// Classify tells what an error from a node's client means. It goes by the
// error code a reply starts with, the one part of it that servers keep stable.
func Classify(err error) Kind {
	if err == nil || errors.Is(err, redis.Nil) {
		return OK
	}
	switch {
	case errors.Is(err, ErrReadOnly):
		return ReadOnlyMode
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, redis.ErrPoolTimeout):
		return TimedOut
	}
	var redacted *redactedError
	if errors.As(err, &redacted) {
		return redacted.kind
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		return classifyReply(strings.TrimPrefix(reply.Error(), scriptError))
	}
	var last farewell
	if errors.As(err, &last) {
		return classifyReply(string(last))
	}
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		return TimedOut
	}
	return Unreachable
}

func classifyReply(text string) Kind {
	for _, code := range notServing {
		if strings.HasPrefix(text, code) {
			return NotServing
		}
	}
	code, _, _ := strings.Cut(text, " ")
	switch code {
	case "NOAUTH", "WRONGPASS", "DENIED":
		return Unauthorized
	case "NOPERM":
		return Forbidden
	case "READONLY":
		return Replica
	case "WRONGTYPE":
		return WrongType
	case "MOVED", "ASK":
		return Moved
	}
	if strings.Contains(text, "invalid password") || strings.Contains(text, "without any password configured") {
		return Unauthorized
	}
	return Refused
}

// Explain puts a failure into a few words, without the noise of the layers it
// came through. A connection that could not be set up is told with its [Stage]
// and, where that is not obvious, with what may help. Bytes from the server may
// be in it, but no secret: an error of a [Node]'s client holds none, and of any
// other one what a server repeats of arguments that it did not understand is
// left out.
func Explain(err error) string {
	if err == nil {
		return ""
	}
	var s *StageError
	if errors.As(err, &s) {
		return explainStage(s)
	}
	return explainCause(err)
}

func explainStage(s *StageError) string {
	if s.Stage == SentinelLookup {
		var parts []string
		all := []error{s.Err}
		if many, ok := s.Err.(interface{ Unwrap() []error }); ok {
			all = many.Unwrap()
		}
		for _, err := range all {
			parts = append(parts, Explain(err))
		}
		return string(s.Stage) + ": " + strings.Join(parts, "; ")
	}
	kind := Classify(s.Err)
	if kind == Unauthorized {
		return explainCause(s.Err)
	}
	what := explainCause(s.Err)
	switch {
	case s.Stage == Auth && kind != TimedOut && what == s.Err.Error():
		// What was sent are credentials, and these words may repeat them.
		what = "refused by the server, or it is not Redis"
	case s.Stage == Hello && kind == Unreachable && what == s.Err.Error():
		what = "the answer is not one that Redis gives"
	case s.Stage == Dial && kind == TimedOut:
		what = "no connection in time"
	case s.Stage == Dial && errors.Is(s.Err, syscall.ECONNREFUSED):
		what += " (nothing listens there)"
	case s.Stage == TLS:
		what = explainTLS(s.Err)
	case s.Stage == Hello && kind == Unreachable:
		what += " (it may want TLS, or not be Redis)"
	case s.Stage == ClusterSlots && strings.Contains(s.Err.Error(), "cluster support disabled"):
		what = "the server is not part of a cluster; use redis:// for it"
	}
	return string(s.Stage) + ": " + what
}

// explainTLS says what kept two sides from agreeing on encryption.
func explainTLS(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		plain     tls.RecordHeaderError
		remote    *net.OpError
	)
	switch {
	case errors.As(err, &authority):
		return "the server's certificate is not signed by an authority that is trusted here; give the file of its CA"
	case errors.As(err, &name):
		return "the server's certificate is not for " + name.Host + "; give the server name that it is for"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has expired or is not valid yet"
	case errors.As(err, &plain):
		return "the server does not speak TLS on this port"
	case errors.As(err, &remote) && remote.Op == "remote error":
		alert := strings.TrimPrefix(remote.Err.Error(), "tls: ")
		if strings.Contains(alert, "certificate required") {
			return "the server asks for a client certificate"
		}
		return "refused by the server, which may want another client certificate: " + alert
	case Classify(err) == TimedOut:
		return "no answer in time (the port may not speak TLS)"
	}
	return explainCause(err)
}

// explainCause explains a failure by itself.
func explainCause(err error) string {
	switch Classify(err) {
	case TimedOut:
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return "no connection in time"
		}
		return "no answer in time"
	case Unreachable:
		var dns *net.DNSError
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return "connection refused"
		case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return "connection closed by the server"
		case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
			return "no route to host"
		case errors.Is(err, os.ErrNotExist):
			return "no such socket"
		case errors.As(err, &dns):
			return "host name not found"
		case errors.Is(err, redis.ErrClosed):
			return "connection closed"
		}
		var op *net.OpError
		if errors.As(err, &op) {
			return op.Op + ": " + op.Err.Error()
		}
		return err.Error()
	case Unauthorized:
		return explainAuth(err)
	default:
		return Secrets{}.Redact(err.Error())
	}
}

// explainAuth says why nobody was let in, in words of our own: those of a
// server may repeat what it was sent.
func explainAuth(err error) string {
	text := err.Error()
	var reply redis.Error
	if errors.As(err, &reply) {
		text = reply.Error()
	}
	switch code, _, _ := strings.Cut(text, " "); {
	case code == "NOAUTH":
		return "AUTH: a password is needed, and none was given (NOAUTH)"
	case code == "DENIED":
		return "AUTH: the server is in protected mode; without a password it takes connections from its own host only"
	case strings.Contains(text, "without any password configured"):
		return "AUTH: a password was given, and the server has none"
	case code == "WRONGPASS":
		return "AUTH: wrong password, or the user is unknown or disabled (WRONGPASS)"
	default:
		return "AUTH: wrong password"
	}
}
