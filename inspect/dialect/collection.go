package dialect

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

var (
	//go:embed compare.lua
	compareSource string
	//go:embed remove.lua
	removeSource string

	removeScript = newScript(compareSource + removeSource)
)

// known finds the holder that is to be released in the entry it was seen in.
func known(d Dialect, e Entry, h Holder) (Holder, error) {
	decoded, ok := d.Recognise(e)
	if !ok {
		return Holder{}, fmt.Errorf("the key does not have the form of a %s lock, so it is not known what a safe release of it has to compare; look at it again", d.Name())
	}
	for _, holder := range decoded.Holders {
		if holder.Token == h.Token {
			return holder, nil
		}
	}
	return Holder{}, fmt.Errorf("the key holds nothing of the holder to be released; look at it again")
}

// The commands that read and remove one part, by the type of a collection.
var (
	ofHash      = [2]string{"HGET", "HDEL"}
	ofSet       = [2]string{"SISMEMBER", "SREM"}
	ofSortedSet = [2]string{"ZSCORE", "ZREM"}
)

// remove takes a holder out of a collection by its name alone, or by its name
// and the value that was seen.
func remove(e Entry, commands [2]string, name string, value ...string) Release {
	args := append([]string{commands[0], commands[1], name}, value...)
	return Release{script: removeScript, keys: []string{e.Key}, args: args}
}

// sortByToken puts holders into an order that does not depend on the server's.
func sortByToken(holders []Holder) {
	slices.SortFunc(holders, func(a, b Holder) int { return cmp.Compare(a.Token, b.Token) })
}

// scored reads a score that is a moment in Unix milliseconds.
func scored(s string) (time.Time, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(0 < f && f < 1<<53) {
		return time.Time{}, false
	}
	t := time.UnixMilli(int64(f))
	return t, plausible(t)
}

// seconds reads a moment in Unix seconds with a fraction.
func seconds(s string) (time.Time, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(0 < f && f < 1<<33) {
		return time.Time{}, false
	}
	whole, part := math.Modf(f)
	t := time.Unix(int64(whole), int64(part*1e6)*1e3)
	return t, plausible(t)
}

// lapsed reports a part that had ended when the entry was read. Members of a
// collection stay in it until somebody clears up.
func (e Entry) lapsed(until time.Time) bool {
	return !e.NodeTime.IsZero() && !until.IsZero() && !until.After(e.NodeTime)
}
