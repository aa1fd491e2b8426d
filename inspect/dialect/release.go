package dialect

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed delete.lua
var deleteSource string

// deleteScript is made once, since it carries the hash that EVALSHA needs.
var deleteScript = newScript(deleteSource)

// script is a Lua script in the form in which it is both sent and shown.
type script struct {
	text string
	run  *redis.Script
}

// newScript drops comments and line breaks, so that what a person reads in a
// plan is one line and still the very text that goes to the server.
func newScript(source string) script {
	var parts []string
	for line := range strings.Lines(source) {
		code, _, _ := strings.Cut(line, "--")
		if code = strings.TrimSpace(code); code != "" {
			parts = append(parts, code)
		}
	}
	text := strings.Join(parts, " ")
	return script{text: text, run: redis.NewScript(text)}
}

// Effect is what a release did on one node.
type Effect int

// The effects. The zero value is no effect that a server reports.
const (
	// Deleted: the entry was the one that was meant and is gone.
	Deleted Effect = iota + 1
	// Gone: there was nothing under the key.
	Gone
	// Other: somebody else's entry is there; it was not touched.
	Other
	// OtherType: the key is of another type; it was not touched.
	OtherType
)

// Release is what has to be sent to one node to free one entry: a script that
// compares before it deletes. It is a value and safe for concurrent use.
type Release struct {
	script script
	keys   []string
	args   []string
}

// Command returns the release as one would type it into redis-cli.
func (r Release) Command() string {
	var b strings.Builder
	b.WriteString("EVAL ")
	b.WriteString(Quote(r.script.text))
	b.WriteByte(' ')
	b.WriteString(strconv.Itoa(len(r.keys)))
	for _, word := range append(append([]string(nil), r.keys...), r.args...) {
		b.WriteByte(' ')
		b.WriteString(Quote(word))
	}
	return b.String()
}

// Run sends the release once: EVALSHA, and EVAL where the server does not know
// the script. The error is the node's, as its client returned it.
func (r Release) Run(ctx context.Context, c redis.Scripter) (Effect, error) {
	args := make([]any, len(r.args))
	for i, a := range r.args {
		args[i] = a
	}
	n, err := r.script.run.Run(ctx, c, r.keys, args...).Int64()
	if err != nil {
		return 0, err
	}
	switch n {
	case 1:
		return Deleted, nil
	case 0:
		return Gone, nil
	case -1:
		return Other, nil
	case -2:
		return OtherType, nil
	default:
		return 0, fmt.Errorf("the server answered the release with %d, which its script never returns", n)
	}
}

// compareAndDelete is the release of everything that is one string with a
// token in it.
func compareAndDelete(e Entry, h Holder) (Release, error) {
	switch {
	case e.Type != "" && e.Type != "string":
		return Release{}, fmt.Errorf("the key is a %s, not a string; dlock does not know what a safe release of it has to compare", e.Type)
	case !e.HasValue:
		return Release{}, errors.New("the value could not be read, so there is nothing to compare with")
	case h.Token != e.Value:
		return Release{}, errors.New("the key holds another token than the one to be released")
	}
	return Release{script: deleteScript, keys: []string{e.Key}, args: []string{e.Value}}, nil
}
