package inspect

import (
	"strconv"
	"strings"
	"time"
)

const (
	// infoMost is how much of an answer to INFO is read, in bytes, and
	// valueMost how long a value may be. A server gives a tenth of either.
	infoMost  = 1 << 18
	valueMost = 512
)

// forgetInfo drops what only INFO tells. Of a server that no longer tells its
// run id the old one is not known to be right.
func (f *facts) forgetInfo() {
	f.version, f.runID, f.replID, f.cluster = "", "", "", false
	f.uptime, f.lag = Maybe[time.Duration]{}, Maybe[time.Duration]{}
	f.replicas, f.good = Maybe[int]{}, Maybe[int]{}
	f.maxMemory, f.usedMemory, f.evicted = Maybe[int64]{}, Maybe[int64]{}, Maybe[int64]{}
	f.aof, f.saveFailed, f.appendFailed = Maybe[bool]{}, false, false
}

// readInfo takes in an answer to INFO. It is text that anybody may have
// written: what is not of the form it should have is as if it were not there.
func (f *facts) readInfo(text string) {
	valkey, uncounted := "", int64(0)
	text = text[:min(len(text), infoMost)]
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		if !ok || len(value) > valueMost {
			continue
		}
		number := func() (int64, bool) {
			n, err := strconv.ParseInt(value, 10, 64)
			return n, err == nil && n >= 0
		}
		switch name {
		case "redis_version":
			f.version = value
		case "valkey_version":
			valkey = value
		case "run_id":
			f.runID = value
		case "uptime_in_seconds":
			if n, ok := number(); ok && n < int64(longestLife/time.Second) {
				f.uptime = Known(time.Duration(n) * time.Second)
			}
		case "cluster_enabled":
			f.cluster = value == "1"
		case "master_replid":
			f.replID = value
		case "role":
			if f.role == "" {
				f.role = map[string]string{"master": "master", "slave": "replica", "replica": "replica"}[value]
			}
		case "connected_slaves":
			if n, ok := number(); ok && n < 1<<20 {
				f.replicas = Known(int(n))
			}
		case "min_slaves_good_slaves":
			if n, ok := number(); ok && n < 1<<20 {
				f.good = Known(int(n))
			}
		case "maxmemory_policy":
			f.eviction = value
		case "maxmemory":
			if n, ok := number(); ok {
				f.maxMemory = Known(n)
			}
		case "used_memory":
			if n, ok := number(); ok {
				f.usedMemory = Known(n)
			}
		case "mem_not_counted_for_evict":
			if n, ok := number(); ok {
				uncounted = n
			}
		case "evicted_keys":
			if n, ok := number(); ok {
				f.evicted = Known(n)
			}
		case "aof_enabled":
			f.aof = Known(value != "0")
		case "rdb_last_bgsave_status":
			f.saveFailed = value == "err"
		case "aof_last_write_status":
			f.appendFailed = value == "err"
		default:
			if lag, ok := readLag(name, value); ok && (!f.lag.Known || lag > f.lag.Value) {
				f.lag = Known(lag)
			}
		}
	}
	if valkey != "" {
		f.version = valkey
	}
	if f.usedMemory.Known {
		f.usedMemory.Value = max(0, f.usedMemory.Value-uncounted)
	}
}

// readLag reads how far a replica is behind out of a line such as
// slave0:ip=10.0.0.2,port=6379,state=online,offset=42,lag=1.
func readLag(name, value string) (time.Duration, bool) {
	number, ok := strings.CutPrefix(name, "slave")
	if _, err := strconv.ParseUint(number, 10, 31); !ok || err != nil {
		return 0, false
	}
	for part := range strings.SplitSeq(value, ",") {
		if text, ok := strings.CutPrefix(part, "lag="); ok {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 || n >= int64(longestLife/time.Second) {
				return 0, false
			}
			return time.Duration(n) * time.Second, true
		}
	}
	return 0, false
}

// olderThan compares a version such as 7.0.15 with a major and minor number. A
// version of another form is not older.
func olderThan(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	a, err1 := strconv.Atoi(first)
	b, err2 := strconv.Atoi(second)
	if err1 != nil || err2 != nil {
		return false
	}
	return a < major || a == major && b < minor
}
