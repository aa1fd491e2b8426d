package dialect

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// example is an entry and what is read in it.
type example struct {
	name  string
	entry Entry
	// as is the dialect that recognises the entry.
	as   string
	want Decoded
}

// examples are those of all libraries.
func examples() []example { return slices.Concat(stringExamples, collectionExamples) }

func runExamples(t *testing.T, all []example) {
	t.Helper()
	for _, x := range all {
		t.Run(x.as+"/"+x.name, func(t *testing.T) {
			got, d := Recognise(x.entry)
			if d.Name() != x.as {
				t.Errorf("recognised by %s: %+v", d.Name(), got)
			}
			if x.want.Library == "" {
				x.want.Library = x.as
			}
			normal(&got)
			normal(&x.want)
			if !reflect.DeepEqual(got, x.want) {
				t.Errorf("got  %+v\nwant %+v", got, x.want)
			}
		})
	}
}

// normal makes decodings comparable that mean the same moments.
func normal(d *Decoded) {
	for i := range d.Holders {
		h := &d.Holders[i]
		h.Since, h.Until = h.Since.UTC(), h.Until.UTC()
	}
}

// Whatever is in Redis, all dialects keep what their interface promises.
func TestAnyEntry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkEntry(t, anyEntry(t)) })
}

func TestExamplesKeepThePromises(t *testing.T) {
	for _, x := range examples() {
		checkEntry(t, x.entry)
	}
}

func FuzzEntry(f *testing.F) {
	for _, x := range examples() {
		var items strings.Builder
		for _, i := range x.entry.Items {
			items.WriteString(i.Name + "\x00" + i.Value + "\x00")
		}
		f.Add(x.entry.Key, x.entry.Type, x.entry.Value, x.entry.HasValue, items.String())
	}
	f.Fuzz(func(t *testing.T, key, kind, value string, hasValue bool, items string) {
		e := Entry{Key: key, Type: kind, Value: value, HasValue: hasValue, NodeTime: time.Unix(1_796_118_050, 0)}
		parts := strings.Split(items, "\x00")
		for i := 0; i+1 < len(parts) && len(e.Items) < MaxItems; i += 2 {
			if _, has := e.Item(parts[i]); !has {
				e.Items = append(e.Items, Item{Name: parts[i], Value: parts[i+1]})
			}
		}
		checkEntry(t, e)
	})
}

// anyEntry draws an example that was tampered with, or something else.
func anyEntry(t *rapid.T) Entry {
	all := examples()
	bytes := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 48).Draw(t, "bytes")) })
	from := rapid.SampledFrom(all).Draw(t, "example").entry
	e := from
	e.Items = slices.Clone(from.Items)
	if rapid.Bool().Draw(t, "other key") {
		e.Key = rapid.OneOf(bytes, rapid.SampledFrom([]string{"", ":", "lock:", rapid.SampledFrom(all).Draw(t, "key of").entry.Key})).Draw(t, "key")
	}
	if rapid.Bool().Draw(t, "other type") {
		e.Type = rapid.SampledFrom([]string{"", "string", "hash", "set", "zset", "list", "stream"}).Draw(t, "type")
	}
	tamper := func(s string) string {
		if s == "" || !rapid.Bool().Draw(t, "tamper") {
			return s
		}
		at := rapid.IntRange(0, len(s)-1).Draw(t, "at")
		end := rapid.IntRange(at, len(s)).Draw(t, "end")
		return s[:at] + bytes.Draw(t, "in between") + s[end:]
	}
	e.Value = tamper(e.Value)
	var kept []Item
	for _, i := range e.Items {
		i.Name, i.Value = tamper(i.Name), tamper(i.Value)
		if _, has := (Entry{Items: kept}).Item(i.Name); !has {
			kept = append(kept, i)
		}
	}
	e.Items = kept
	e.HasValue = rapid.Bool().Draw(t, "read")
	e.Cut = rapid.Bool().Draw(t, "cut")
	e.NodeTime = rapid.SampledFrom([]time.Time{{}, time.Unix(1_796_118_050, 0), time.Unix(1, 0)}).Draw(t, "node time")
	return e
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkEntry(t failer, e Entry) {
	t.Helper()
	got, d := Recognise(e)
	if got.Library == "" {
		t.Fatalf("%+v: no library by %s", e, d.Name())
	}
	if _, ok := ByName(got.Library); !ok {
		t.Fatalf("%+v: no dialect is called %q", e, got.Library)
	}
	for _, name := range got.Candidates {
		if _, ok := ByName(name); !ok {
			t.Fatalf("%+v: no dialect is called %q", e, name)
		}
	}
	if len(got.Candidates) > 1 && got.Confidence == Certain {
		t.Fatalf("%+v: certain, and yet one of %q", e, got.Candidates)
	}
	checkHolders(t, e, got)
	if e.Type != "list" && len(e.Items) > 1 {
		turned := e
		turned.Items = slices.Clone(e.Items)
		slices.Reverse(turned.Items)
		if other, _ := Recognise(turned); !reflect.DeepEqual(got, other) {
			t.Fatalf("%+v:\n%+v, in the other order\n%+v", e, got, other)
		}
	}
	for _, d := range dialects {
		if one, ok := d.Recognise(e); ok {
			checkHolders(t, e, one)
			checkReleases(t, d, e, one)
			checkQuestions(t, d, e, one)
		}
		if r, err := d.Release(e, Holder{Token: "\x00nobody has this"}); err == nil {
			t.Fatalf("%s frees %+v of somebody who does not hold it: %s", d.Name(), e, r.Command())
		}
	}
	LockOf(e.Key)
}

func checkHolders(t failer, e Entry, d Decoded) {
	t.Helper()
	for _, h := range d.Holders {
		found := e.HasValue && h.Token == e.Value
		for _, i := range e.Items {
			found = found || strings.Contains(i.Name, h.Token) || strings.Contains(i.Value, h.Token)
		}
		if !found {
			t.Fatalf("%+v: the token of %+v is not in it", e, h)
		}
		if h.Count < 1 || h.PID < 0 || !strings.Contains(h.Owner, h.Host) {
			t.Fatalf("%+v: %+v", e, h)
		}
	}
}

func checkReleases(t failer, d Dialect, e Entry, decoded Decoded) {
	t.Helper()
	for _, h := range decoded.Holders {
		r, err := d.Release(e, h)
		if err != nil {
			if err.Error() == "" {
				t.Fatalf("%s says nothing about why it does not free %+v", d.Name(), e)
			}
			continue
		}
		words, ok := splitLikeRedisCLI(r.Command())
		if !ok || len(words) < 4 || words[0] != "EVAL" || words[1] != r.script.text {
			t.Fatalf("%q reads as %q", r.Command(), words)
		}
		if want := slices.Concat(words[:3], r.keys, r.args); !slices.Equal(words, want) {
			t.Fatalf("%q reads as %q", want, words)
		}
		if !slices.Contains(r.keys, e.Key) || !slices.Contains(r.args, h.Token) {
			t.Fatalf("%s frees %+v without its key or token: %q", d.Name(), e, words)
		}
	}
}

func checkQuestions(t failer, d Dialect, e Entry, decoded Decoded) {
	t.Helper()
	c, ok := d.(Curious)
	if !ok {
		return
	}
	reading := []string{
		"EXISTS", "GET", "HGET", "HLEN", "HMGET", "LLEN", "LRANGE", "MGET", "PTTL", "PUBSUB",
		"SCARD", "STRLEN", "TYPE", "ZCARD", "ZCOUNT", "ZRANGE", "ZSCORE",
	}
	questions := c.Questions(e, decoded)
	for _, q := range questions {
		if len(q) < 2 || !slices.Contains(reading, q[0]) {
			t.Fatalf("%s asks %q", d.Name(), q)
		}
	}
	n := len(questions)
	for _, answers := range [][]any{
		nil, make([]any, n),
		repeat(n, errors.New("refused")), repeat(n, int64(-7)), repeat(n, "\xff"),
		repeat(n, []any{}), repeat(n, []any{nil, int64(9), "x", []any{"y"}, errors.New("z")}),
		repeat(n, []any{"\xff", "1796118050123"}), repeat(n, []any{"a", int64(3), "b", int64(1)}),
	} {
		learnt := decoded
		learnt.Holders = slices.Clone(decoded.Holders)
		extra := c.Learn(e, &learnt, answers)
		for _, h := range learnt.Holders {
			if h.Count < 1 {
				t.Fatalf("%s learns %+v", d.Name(), learnt)
			}
		}
		if extra.Waiting < 0 {
			t.Fatalf("%s learns %+v", d.Name(), extra)
		}
	}
}

func repeat(n int, v any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = v
	}
	return out
}
