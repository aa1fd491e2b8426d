package dialect

import (
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed sidekiq.lua
var sidekiqSource string

var sidekiqScript = newScript(compareSource + sidekiqSource)

// sidekiqUniqueJobs is sidekiq-unique-jobs: a hash of job ids under the digest
// of what makes a job the same. Up to version 8 a job's value is when it took
// the lock, and there are four keys more; from 9 on it is a description.
type sidekiqUniqueJobs struct{}

const (
	sidekiqPrefix = "uniquejobs:"
	sidekiqLocked = ":LOCKED"
	sidekiqQueued = ":QUEUED"
	sidekiqPrimed = ":PRIMED"
	sidekiqInfo   = ":INFO"

	sidekiqDigests  = "uniquejobs:digests"
	sidekiqExpiring = "uniquejobs:expiring_digests"
)

func (sidekiqUniqueJobs) Name() string { return "sidekiq-unique-jobs" }

func (sidekiqUniqueJobs) Patterns() []string { return []string{sidekiqPrefix + "*" + sidekiqLocked} }

func (sidekiqUniqueJobs) Recognise(e Entry) (Decoded, bool) {
	digest, ok := strings.CutSuffix(e.Key, sidekiqLocked)
	if !ok || !isSidekiqDigest(digest) || e.Type != "hash" || len(e.Items) == 0 {
		return Decoded{}, false
	}
	d := Decoded{Confidence: Likely, Kind: Job, Habits: Habits{
		Endless: true, Enqueued: true,
		Consequence: "a second job of the same kind can be queued while the first is still there",
	}}
	if strings.HasPrefix(digest, sidekiqPrefix) {
		d.Confidence = Certain
	}
	for _, i := range e.Items {
		h := Holder{Token: i.Name, Count: 1}
		since := i.Value
		if strings.HasPrefix(i.Value, "{") {
			var job struct {
				Worker string      `json:"worker"`
				Time   json.Number `json:"time"`
			}
			if json.Unmarshal([]byte(i.Value), &job) != nil {
				return Decoded{}, false
			}
			h.Owner, since = job.Worker, job.Time.String()
		}
		if h.Since, ok = seconds(since); !ok || !isHex(i.Name, 24) {
			return Decoded{}, false
		}
		d.Holders = append(d.Holders, h)
	}
	sortByToken(d.Holders)
	return d, true
}

// isSidekiqDigest reports prefix:hash, and that of a job which locks while it
// runs.
func isSidekiqDigest(s string) bool {
	s = strings.TrimSuffix(s, ":RUN")
	at := strings.LastIndexByte(s, ':')
	return at > 0 && (isHex(s[at+1:], 32) || isHex(s[at+1:], 64))
}

func (sidekiqUniqueJobs) LockOf(key string) (lock string, role Role, types []string, ok bool) {
	for _, c := range []struct {
		suffix, kind string
		role         Role
	}{
		{sidekiqQueued, "list", RoleSignal},
		{sidekiqPrimed, "list", RoleQueue},
		{sidekiqInfo, "string", RoleInfo},
	} {
		if digest, found := strings.CutSuffix(key, c.suffix); found && isSidekiqDigest(digest) {
			return digest + sidekiqLocked, c.role, []string{c.kind}, true
		}
	}
	if strings.HasPrefix(key, sidekiqPrefix) && isSidekiqDigest(key) {
		return key + sidekiqLocked, RoleInfo, []string{"string"}, true
	}
	return "", "", nil, false
}

func (d sidekiqUniqueJobs) Release(e Entry, h Holder) (Release, error) {
	if _, err := known(d, e, h); err != nil {
		return Release{}, err
	}
	value, _ := e.Item(h.Token)
	digest := strings.TrimSuffix(e.Key, sidekiqLocked)
	keys := []string{e.Key, sidekiqDigests}
	if !strings.HasPrefix(value, "{") {
		keys = append(keys, sidekiqExpiring, digest+sidekiqQueued, digest, digest+sidekiqPrimed, digest+sidekiqInfo)
	}
	return Release{script: sidekiqScript, keys: keys, args: []string{h.Token, value, digest}}, nil
}
