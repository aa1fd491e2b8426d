package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"dlock/inspect"
)

// outcomeSending is the outcome of a line that is written before a release is
// sent. A line with the result and the same Attempt follows, unless the program
// was killed in between.
const outcomeSending = "sending"

// auditRecord is one line of the audit file: what a person asked for and what
// became of it. The file is append-only, one JSON object a line. What is sent
// to nodes has two lines, one before and one after.
type auditRecord struct {
	Schema int      `json:"schema"`
	At     jsonTime `json:"at"`
	// Attempt joins the two lines of a release that was sent; nil if nothing
	// was.
	Attempt  *string `json:"attempt"`
	Operator string  `json:"operator"`
	SudoUser *string `json:"sudo_user"`
	Dlock    string  `json:"dlock"`
	Command  string  `json:"command"`
	Key      string  `json:"key"`
	KeyB64   *string `json:"key_b64"`
	DB       int     `json:"db"`
	Library  string  `json:"library"`
	Owner    *string `json:"owner"`
	// TokenSHA256 is the start of the token's hash. The token itself would
	// let whoever reads the file release the lock in its holder's place;
	// the hash still tells whether two lines, or a line and a token that
	// somebody knows, are about the same holder.
	TokenSHA256 *string     `json:"token_sha256"`
	Reason      *string     `json:"reason"`
	Outcome     string      `json:"outcome"`
	Detail      *string     `json:"detail"`
	Freed       *bool       `json:"freed"`
	TookMS      int64       `json:"took_ms"`
	Nodes       []auditNode `json:"nodes"`
}

type auditNode struct {
	Node        string  `json:"node"`
	Outcome     string  `json:"outcome"`
	Detail      *string `json:"detail"`
	ExpiresInMS *int64  `json:"expires_in_ms"`
}

// identity is who runs the program.
type identity struct {
	name string // user@host
	sudo string // the user who became name by sudo, "" for none
}

func whoami(env environment) identity {
	name, _ := env.get("USER", "LOGNAME", "USERNAME")
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if name == "" {
		name = "unknown"
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	sudo, _ := env.get("SUDO_USER")
	return identity{name: name + "@" + host, sudo: sudo}
}

// auditor appends records to the audit file. A nil auditor keeps no record,
// because --audit none asked for that. It is safe for concurrent use.
type auditor struct {
	file     *os.File
	identity identity
	command  string
	reason   string
	now      func() time.Time

	mu       sync.Mutex
	attempts map[attemptKey]string // of what is being sent
}

type attemptKey struct {
	id    inspect.ID
	token string
}

var errNoStateDir = errors.New("there is no home directory to keep it in")

// openAudit opens the audit file before anything is sent, so that a release
// that could not be recorded does not happen.
func (p *program) openAudit(command, reason string) (*auditor, error) {
	name := p.settings.auditFile(p.env)
	switch name {
	case "none":
		return nil, nil
	case "":
		return nil, errNoStateDir
	}
	own := p.settings.audit == ""
	if own {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return nil, errors.New(osReason(err))
		}
	}
	f, err := openAppend(name)
	if err != nil {
		return nil, err
	}
	if open, err := restrict(f, own); err != nil {
		f.Close()
		return nil, err
	} else if open {
		p.say("others can read or write the audit file; chmod 600 keeps it to its owner")
	}
	return &auditor{
		file: f, identity: p.identity(), command: command, reason: reason, now: p.now,
		attempts: make(map[attemptKey]string),
	}, nil
}

// openAppend opens a file to append to. A pipe is refused: a release would wait
// for whoever reads it, and a record that somebody may or may not read is none.
func openAppend(name string) (*os.File, error) {
	flags := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if runtime.GOOS != "windows" {
		// Opening a pipe that nobody reads would wait for a reader.
		flags |= syscall.O_NONBLOCK
	}
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		if info, e := os.Stat(name); e == nil && !storable(info) {
			return nil, errNoFile
		}
		return nil, errors.New(osReason(err))
	}
	info, err := f.Stat()
	if err == nil && !storable(info) {
		err = errNoFile
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

var errNoFile = errors.New("it is a pipe, a folder or a socket, not a file")

func storable(info os.FileInfo) bool {
	return info.Mode().IsRegular() || info.Mode()&os.ModeCharDevice != 0
}

// restrict makes the usual audit file its owner's alone. One that was named is
// left as its owner wants it; open reports that everybody has access to it.
func restrict(f *os.File, own bool) (open bool, err error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS == "windows" {
		return false, err
	}
	if own && info.Mode().Perm()&0o077 != 0 && f.Chmod(0o600) == nil {
		return false, nil
	}
	return info.Mode().Perm()&0o007 != 0, nil
}

func (a *auditor) close() {
	if a != nil {
		a.file.Close()
	}
}

// recorded is an inspector that sends nothing of which there is no record yet.
type recorded struct {
	inspector
	audit *auditor
}

func (r *recorded) Execute(ctx context.Context, p inspect.Plan, dryRun bool) inspect.Result {
	if dryRun {
		return r.inspector.Execute(ctx, p, true)
	}
	if err := r.audit.sending(p); err != nil {
		refused := inspect.Result{Plan: p, Outcome: inspect.OutRefused, At: r.audit.now()}
		for _, s := range p.Steps {
			refused.Nodes = append(refused.Nodes, inspect.NodeOutcome{
				Node: s.Node, Key: s.Key, Outcome: inspect.OutRefused, Detail: "nothing was sent: " + err.Error(), Expiry: s.Expiry,
			})
		}
		return refused
	}
	return r.inspector.Execute(ctx, p, false)
}

// sending records that a plan is about to be carried out.
func (a *auditor) sending(p inspect.Plan) error {
	if a == nil {
		return nil
	}
	rec := a.record(p.ID, p.Library, p.Owner, p.Token, a.now())
	attempt := uuid.NewString()
	rec.Attempt, rec.Outcome = &attempt, outcomeSending
	for _, s := range p.Steps {
		if s.Send {
			rec.Nodes = append(rec.Nodes, auditNode{Node: s.Node, Outcome: outcomeSending, ExpiresInMS: remainingMS(s.Expiry, a.now())})
		}
	}
	a.mu.Lock()
	a.attempts[attemptKey{p.ID, p.Token}] = attempt
	a.mu.Unlock()
	return a.append(rec)
}

// released records what a release did.
func (a *auditor) released(r inspect.Result) error {
	if a == nil {
		return nil
	}
	rec := a.record(r.Plan.ID, r.Plan.Library, r.Plan.Owner, r.Plan.Token, r.At)
	key := attemptKey{r.Plan.ID, r.Plan.Token}
	a.mu.Lock()
	rec.Attempt = orNull(a.attempts[key])
	delete(a.attempts, key)
	a.mu.Unlock()
	freed := r.Freed
	rec.Outcome, rec.Freed, rec.TookMS = string(r.Outcome), &freed, millis(r.Took)
	for _, n := range r.Nodes {
		rec.Nodes = append(rec.Nodes, auditNode{
			Node:        n.Node,
			Outcome:     string(n.Outcome),
			Detail:      orNull(textForJSON(n.Detail)),
			ExpiresInMS: remainingMS(n.Expiry, r.At),
		})
	}
	return a.append(rec)
}

// notSent records an attempt that ended before anything was sent.
func (a *auditor) notSent(l inspect.Lock, token, outcome, detail string, at time.Time) error {
	if a == nil {
		return nil
	}
	owner := ""
	for _, o := range l.Owners {
		if o.Token == token {
			owner = o.Name
		}
	}
	rec := a.record(l.ID, l.Library, owner, token, at)
	rec.Outcome, rec.Detail = outcome, orNull(textForJSON(detail))
	return a.append(rec)
}

func (a *auditor) record(id inspect.ID, library, owner, token string, at time.Time) auditRecord {
	rec := auditRecord{
		Schema:   jsonSchema,
		At:       jsonTime(at),
		Operator: textForJSON(a.identity.name),
		SudoUser: orNull(textForJSON(a.identity.sudo)),
		Dlock:    version(),
		Command:  a.command,
		DB:       id.DB,
		Library:  textForJSON(library),
		Owner:    orNull(textForJSON(owner)),
		Reason:   orNull(textForJSON(a.reason)),
		Nodes:    []auditNode{},
	}
	rec.Key, rec.KeyB64 = bytesForJSON(id.Key)
	if token != "" {
		hash := tokenHash(token)
		rec.TokenSHA256 = &hash
	}
	return rec
}

// append writes the line by one call, so that lines of several programs that
// write to one file do not mix.
func (a *auditor) append(rec auditRecord) error {
	var line bytes.Buffer
	if err := writeJSON(&line, rec, false); err != nil {
		return err
	}
	if _, err := a.file.Write(line.Bytes()); err != nil {
		return errors.New("the audit line could not be written: " + osReason(err))
	}
	return nil
}

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:8])
}
