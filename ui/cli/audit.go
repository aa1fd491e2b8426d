package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"dlock/inspect"
)

// auditRecord is one line of the audit file: what a person asked for and what
// became of it. The file is append-only, one JSON object a line.
type auditRecord struct {
	Schema   int      `json:"schema"`
	At       jsonTime `json:"at"`
	Operator string   `json:"operator"`
	SudoUser *string  `json:"sudo_user"`
	Dlock    string   `json:"dlock"`
	Command  string   `json:"command"`
	Key      string   `json:"key"`
	KeyB64   *string  `json:"key_b64"`
	DB       int      `json:"db"`
	Library  string   `json:"library"`
	Owner    *string  `json:"owner"`
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
// because --audit none asked for that.
type auditor struct {
	file     *os.File
	identity identity
	command  string
	reason   string
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
	if p.settings.audit == "" {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return nil, errors.New(osReason(err))
		}
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, errors.New(osReason(err))
	}
	return &auditor{file: f, identity: p.identity(), command: command, reason: reason}, nil
}

func (a *auditor) close() {
	if a != nil {
		a.file.Close()
	}
}

// released records what a release did.
func (a *auditor) released(r inspect.Result) error {
	if a == nil {
		return nil
	}
	rec := a.record(r.Plan.ID, r.Plan.Library, r.Plan.Owner, r.Plan.Token, r.At)
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
