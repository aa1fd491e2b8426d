package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"dlock/inspect"
	"dlock/inspect/dialect"
	"dlock/ui/text"
)

// jsonSchema is the version of the JSON output. Fields may be added under one
// number; none is renamed or changes its meaning.
const jsonSchema = 1

// jsonDocument is what `ls -o json` and `get -o json` print. In all of these
// types a pointer is a value that may be unknown, printed as null.
type jsonDocument struct {
	Schema   int        `json:"schema"`
	At       jsonTime   `json:"at"`
	Complete bool       `json:"complete"`
	Target   jsonTarget `json:"target"`
	Locks    []jsonLock `json:"locks"`
}

type jsonTarget struct {
	Topology string            `json:"topology"`
	Quorum   int               `json:"quorum"`
	Nodes    []jsonNode        `json:"nodes"`
	Findings []jsonNodeFinding `json:"findings"`
}

type jsonNode struct {
	Name          string  `json:"name"`
	Addr          string  `json:"addr"`
	State         string  `json:"state"`
	Error         *string `json:"error"`
	Role          *string `json:"role"`
	Version       *string `json:"version"`
	RTTMicros     *int64  `json:"rtt_us"`
	ClockOffsetMS *int64  `json:"clock_offset_ms"`
	Locks         *int    `json:"locks"`
	// Denied lists the commands that the node does not permit this user.
	Denied []string `json:"denied"`
}

type jsonLock struct {
	Key           string         `json:"key"`
	KeyB64        *string        `json:"key_b64"`
	Resource      string         `json:"resource"`
	Library       string         `json:"library"`
	Kind          *string        `json:"kind"`
	Type          *string        `json:"type"`
	State         string         `json:"state"`
	Flags         []string       `json:"flags"`
	Holder        *jsonHolder    `json:"holder"`
	Votes         jsonVotes      `json:"votes"`
	TTLMS         *int64         `json:"ttl_ms"`
	ValidMS       *int64         `json:"valid_ms"`
	HeldMS        *int64         `json:"held_ms"`
	HeldIsMinimum *bool          `json:"held_is_minimum"`
	Renewals      *int           `json:"renewals"`
	Fence         *int64         `json:"fence"`
	Waiters       *int           `json:"waiters"`
	IdleMS        *int64         `json:"idle_ms"`
	Nodes         []jsonLockNode `json:"nodes"`
	Findings      []jsonFinding  `json:"findings"`

	// Owners are all tokens that nodes store, whether or not one has a
	// quorum; Holder is the first where that is a holder.
	Owners      []jsonOwner     `json:"owners"`
	Shared      bool            `json:"shared"`
	Candidates  []string        `json:"candidates"`
	Confidence  *string         `json:"confidence"`
	WaiterList  []jsonWaiter    `json:"waiter_list"`
	CompanionOf *jsonKey        `json:"companion_of"`
	Companions  []jsonCompanion `json:"companions"`
}

type jsonHolder struct {
	Token    string    `json:"token"`
	TokenB64 *string   `json:"token_b64"`
	Owner    *string   `json:"owner"`
	Host     *string   `json:"host"`
	PID      *int      `json:"pid"`
	Since    *jsonTime `json:"since"`
	Count    *int      `json:"count"`
}

type jsonOwner struct {
	jsonHolder
	Thread *string   `json:"thread"`
	Mode   *string   `json:"mode"`
	Until  *jsonTime `json:"until"`
	Holds  bool      `json:"holds"`
	TTLMS  *int64    `json:"ttl_ms"`
	Nodes  []string  `json:"nodes"`
}

type jsonWaiter struct {
	Token    string    `json:"token"`
	TokenB64 *string   `json:"token_b64"`
	Owner    *string   `json:"owner"`
	Since    *jsonTime `json:"since"`
	Until    *jsonTime `json:"until"`
}

type jsonKey struct {
	Key    string  `json:"key"`
	KeyB64 *string `json:"key_b64"`
}

type jsonCompanion struct {
	jsonKey
	Role string  `json:"role"`
	Type *string `json:"type"`
}

type jsonVotes struct {
	Need        int `json:"need"`
	Agree       int `json:"agree"`
	Of          int `json:"of"`
	Unreachable int `json:"unreachable"`
}

type jsonLockNode struct {
	Node     string  `json:"node"`
	State    string  `json:"state"`
	Token    *string `json:"token"`
	TokenB64 *string `json:"token_b64"`
	TTLMS    *int64  `json:"ttl_ms"`
}

type jsonFinding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
	Advice   string `json:"advice"`
}

// jsonNodeFinding is about some nodes, or about all if Nodes is empty.
type jsonNodeFinding struct {
	jsonFinding
	Nodes []string `json:"nodes"`
}

// jsonTime prints RFC 3339 in UTC with milliseconds.
type jsonTime time.Time

func (t jsonTime) MarshalJSON() ([]byte, error) {
	return []byte(`"` + time.Time(t).UTC().Format("2006-01-02T15:04:05.000Z07:00") + `"`), nil
}

// bytesForJSON returns a string that JSON can carry: the bytes themselves when
// they are valid UTF-8, else their quoted form and, beside it, their base64.
func bytesForJSON(raw string) (value string, b64 *string) {
	if utf8.ValidString(raw) {
		return raw, nil
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(raw))
	return string(quoted(raw)), &encoded
}

// textForJSON is for prose that may have bytes of a server in it.
func textForJSON(raw string) string {
	if utf8.ValidString(raw) {
		return raw
	}
	return string(text.Clean(raw))
}

// orNull turns a zero value into null, for fields whose zero means "not known".
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func maybeNull[T, U any](m inspect.Maybe[T], convert func(T) U) *U {
	if !m.Known {
		return nil
	}
	v := convert(m.Value)
	return &v
}

func same[T any](v T) T { return v }

func millis(d time.Duration) int64 { return d.Milliseconds() }

func newDocument(s inspect.Snapshot, locks []inspect.Lock) jsonDocument {
	doc := jsonDocument{
		Schema:   jsonSchema,
		At:       jsonTime(s.At),
		Complete: s.Complete,
		Target:   newTarget(s),
		Locks:    make([]jsonLock, 0, len(locks)),
	}
	for _, l := range locks {
		doc.Locks = append(doc.Locks, newLock(l, s.At))
	}
	return doc
}

func newTarget(s inspect.Snapshot) jsonTarget {
	t := s.Target
	out := jsonTarget{
		Topology: string(t.Topology), Quorum: t.Quorum,
		Nodes: make([]jsonNode, 0, len(t.Nodes)), Findings: make([]jsonNodeFinding, 0, len(s.Findings)),
	}
	for _, f := range s.Findings {
		out.Findings = append(out.Findings, jsonNodeFinding{newFinding(f.Finding), texts(f.Nodes)})
	}
	for _, n := range t.Nodes {
		state := n.State
		if state == inspect.NodePending {
			// Whoever parses this has four words to expect, and a node
			// that has not answered yet is not up.
			state = inspect.NodeDown
		}
		out.Nodes = append(out.Nodes, jsonNode{
			Name:          n.Name,
			Addr:          n.Addr,
			State:         string(state),
			Error:         orNull(textForJSON(n.Error)),
			Role:          orNull(textForJSON(n.Role)),
			Version:       orNull(textForJSON(n.Version)),
			RTTMicros:     maybeNull(n.RTT, time.Duration.Microseconds),
			ClockOffsetMS: maybeNull(n.ClockOffset, millis),
			Locks:         maybeNull(n.Locks, same[int]),
			Denied:        texts(n.Denied),
		})
	}
	return out
}

func newLock(l inspect.Lock, now time.Time) jsonLock {
	out := jsonLock{
		Library:  textForJSON(l.Library),
		Kind:     orNull(textForJSON(l.Kind)),
		Type:     orNull(textForJSON(l.Type)),
		State:    string(l.State),
		Flags:    make([]string, 0, len(l.Flags)),
		Holder:   newHolder(l),
		Votes:    jsonVotes{Need: l.Votes.Need, Agree: l.Votes.Agree, Of: l.Votes.Of, Unreachable: l.Votes.Unreachable},
		TTLMS:    remainingMS(l.Expiry, now),
		Renewals: orNull(l.Renewals),
		Fence:    maybeNull(l.Fence, same[int64]),
		Waiters:  maybeNull(l.Waiters, same[int]),
		IdleMS:   maybeNull(l.Idle, millis),
		Nodes:    make([]jsonLockNode, 0, len(l.Copies)),
		Findings: make([]jsonFinding, 0, len(l.Findings)),

		Owners:     make([]jsonOwner, 0, len(l.Owners)),
		Shared:     l.Shared,
		Candidates: texts(l.Candidates),
		Confidence: confidence(l),
		WaiterList: make([]jsonWaiter, 0, len(l.WaiterList)),
		Companions: make([]jsonCompanion, 0, len(l.Companions)),
	}
	out.Key, out.KeyB64 = bytesForJSON(l.ID.Key)
	out.Resource, _ = bytesForJSON(l.Resource)
	for _, f := range l.Flags {
		out.Flags = append(out.Flags, string(f))
	}
	if l.State == inspect.Held {
		if valid, known := l.Valid(now); known {
			ms := millis(max(0, valid))
			out.ValidMS = &ms
		}
	}
	if !l.HeldSince.IsZero() {
		ms, minimum := millis(max(0, now.Sub(l.HeldSince))), l.HeldIsMinimum
		out.HeldMS, out.HeldIsMinimum = &ms, &minimum
	}
	for _, c := range l.Copies {
		n := jsonLockNode{Node: c.Node, State: answerName(c.Answer)}
		if c.HasToken {
			token, b64 := bytesForJSON(c.Token)
			n.Token, n.TokenB64 = &token, b64
		}
		if c.Answer == inspect.AnswerHeld || c.Answer == inspect.AnswerOther {
			n.TTLMS = remainingMS(c.Expiry, now)
		}
		out.Nodes = append(out.Nodes, n)
	}
	for _, f := range l.Findings {
		out.Findings = append(out.Findings, newFinding(f))
	}
	for _, o := range l.Owners {
		out.Owners = append(out.Owners, newOwner(o, now))
	}
	for _, w := range l.WaiterList {
		one := jsonWaiter{Owner: orNull(textForJSON(w.Owner)), Since: momentOrNull(w.Since), Until: momentOrNull(w.Until)}
		one.Token, one.TokenB64 = bytesForJSON(w.Token)
		out.WaiterList = append(out.WaiterList, one)
	}
	if l.Companion != nil {
		of := newKey(l.Companion.Of)
		out.CompanionOf = &of
	}
	for _, c := range l.Companions {
		out.Companions = append(out.Companions, jsonCompanion{newKey(c.Key), textForJSON(string(c.Role)), orNull(textForJSON(c.Type))})
	}
	return out
}

func newFinding(f inspect.Finding) jsonFinding {
	return jsonFinding{ID: f.ID, Severity: string(f.Severity), Text: textForJSON(f.Text), Advice: textForJSON(f.Advice)}
}

func newKey(raw string) (k jsonKey) {
	k.Key, k.KeyB64 = bytesForJSON(raw)
	return k
}

// texts is a list for JSON, empty rather than null.
func texts(raw []string) []string {
	out := make([]string, 0, len(raw))
	for _, s := range raw {
		out = append(out, textForJSON(s))
	}
	return out
}

func momentOrNull(t time.Time) *jsonTime {
	if t.IsZero() {
		return nil
	}
	m := jsonTime(t)
	return &m
}

// confidence is how sure the library is, nil where none was recognised.
func confidence(l inspect.Lock) *string {
	if l.Library == "" || l.Library == dialect.Unknown {
		return nil
	}
	word := "possible"
	switch l.Confidence {
	case dialect.Likely:
		word = "likely"
	case dialect.Certain:
		word = "certain"
	}
	return &word
}

// newOwner describes one token; the time of one that holds is that of its quorum.
func newOwner(o inspect.Owner, now time.Time) jsonOwner {
	ends := o.Expiry
	if o.Holds && o.Loss.IsKnown() {
		ends = o.Loss
	}
	return jsonOwner{
		jsonHolder: newIdentity(o),
		Thread:     orNull(textForJSON(o.Thread)),
		Mode:       orNull(textForJSON(o.Mode)),
		Until:      momentOrNull(o.Until),
		Holds:      o.Holds,
		TTLMS:      remainingMS(ends, now),
		Nodes:      texts(o.Votes),
	}
}

func newHolder(l inspect.Lock) *jsonHolder {
	o, ok := l.Holder()
	if !ok || l.State == inspect.Split || l.State == inspect.Partial {
		return nil // a holder is who has a quorum, or may have one
	}
	h := newIdentity(o)
	return &h
}

func newIdentity(o inspect.Owner) jsonHolder {
	h := jsonHolder{
		Owner: orNull(textForJSON(o.Name)),
		Host:  orNull(textForJSON(o.Host)),
		PID:   orNull(o.PID),
		Since: momentOrNull(o.Since),
		Count: orNull(o.Count),
	}
	h.Token, h.TokenB64 = bytesForJSON(o.Token)
	return h
}

func remainingMS(e inspect.Expiry, now time.Time) *int64 {
	left, known := e.Remaining(now)
	if !known {
		return nil
	}
	ms := millis(left)
	return &ms
}

// writeJSON prints one value, indented or as one line.
func writeJSON(w io.Writer, v any, indent bool) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if indent {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escapeUnprintable(b.String()))
	return err
}

// escapeUnprintable writes what a terminal would act upon or hide (C1
// controls, bidi and format characters, …) as \u escapes, which mean the same
// to a JSON parser. Outside of strings JSON has only ASCII, so the whole text
// can be treated alike.
func escapeUnprintable(s string) string {
	clean := func(r rune) bool { return r < 0x7f || r > 0x7f && unicode.IsPrint(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case clean(r):
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// answerName is a node's answer in the words of the JSON output, which has none
// for a node that was about to be asked: it gave no answer.
func answerName(a inspect.Answer) string {
	if a == inspect.AnswerPending {
		a = inspect.AnswerUnreachable
	}
	return string(a)
}
