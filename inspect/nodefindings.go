package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"dlock/lockcore"
)

const (
	// jumpShown is how long a jump of a clock is spoken of.
	jumpShown = 10 * time.Minute
	// restartShown is how long a restart is spoken of at least.
	restartShown = time.Hour
)

// serverFacts is what is known of one node when findings are made.
type serverFacts struct {
	name, addr string
	answers    bool
	down       bool
	refusal    string // the word of one that is there and does not serve
	facts      facts
	slots      int // that it serves, in a cluster
	barred     int // keys that we may not ask about
}

// deploymentFacts is what nodeFindings judges.
type deploymentFacts struct {
	topology  Topology
	quorum    int
	servers   []serverFacts
	uncovered int           // slots of a cluster that no server serves
	longest   time.Duration // the longest time to live that was seen
	// lost and why tell which nodes could not be looked up last time.
	lost, why []string
}

// nodeFindings gathers what is known and judges it.
func (s *session) nodeFindings(t Target, barred []int, longest time.Duration, now time.Time) []NodeFinding {
	d := deploymentFacts{topology: t.Topology, quorum: t.Quorum, uncovered: s.layout.uncovered(), longest: longest}
	d.lost, d.why = s.inspector.deployment.lookupTrouble()
	for n, m := range s.members {
		d.servers = append(d.servers, serverFacts{
			name: m.status.Name, addr: m.status.Addr, answers: m.answers(), down: m.status.State == NodeDown,
			refusal: m.refusal, facts: m.probe.known(), slots: s.layout.slots(n), barred: barred[n],
		})
	}
	return nodeFindings(d, now)
}

// nodeFindings says what about the nodes is worth attention, worst first.
func nodeFindings(d deploymentFacts, now time.Time) []NodeFinding {
	var out []NodeFinding
	add := func(id string, severity Severity, nodes []string, text, advice string) {
		out = append(out, NodeFinding{Finding{ID: id, Severity: severity, Text: text, Advice: advice}, nodes})
	}
	d.independence(add)
	d.clocks(add, now)
	d.lookups(add)
	for _, s := range d.servers {
		one := func(id string, severity Severity, text, advice string) {
			add(id, severity, []string{s.name}, s.name+" "+text, advice)
		}
		switch {
		case s.refusal != "":
			one("not-serving", High, "is there and does not serve at present: "+clip(s.refusal)+".", refusalAdvice(s.refusal))
		case s.down && d.topology == Cluster:
			one("shard-down", High, fmt.Sprintf("(%s) does not answer: what is locked in its %d of 16384 slots cannot be seen or taken.", s.addr, s.slots),
				"Bring it back, or let a replica take over; until then no lock there is known to be free.")
		}
		if !s.answers {
			continue
		}
		if s.barred > 0 {
			one("forbidden-keys", Medium, fmt.Sprintf("does not let this user ask about %d %s that %s: what they are is not known.", s.barred, plural(s.barred, "key", "keys"), plural(s.barred, "matches", "match")),
				"Allow the user these keys, or give a pattern that has none of them.")
		}
		d.writes(s, one)
		d.memory(s, one)
		d.persistence(s, one, now)
		d.identity(s, one)
	}
	slices.SortStableFunc(out, func(a, b NodeFinding) int {
		return cmp.Or(rank(a.Severity)-rank(b.Severity), strings.Compare(a.ID, b.ID))
	})
	return out
}

type addFinding = func(id string, severity Severity, nodes []string, text, advice string)
type addOne = func(id string, severity Severity, text, advice string)

// independence finds nodes that are one server, or copies of one another.
func (d deploymentFacts) independence(add addFinding) {
	if d.topology == Cluster {
		return
	}
	// group is the number of the first server whose fate each one shares.
	group := make([]int, len(d.servers))
	same := make([]bool, len(d.servers))   // is a server that was listed before
	follows := make([]int, len(d.servers)) // the one it is a replica of, -1 if none of these
	for i := range d.servers {
		group[i], follows[i] = i, -1
	}
	unite := func(i, j int) {
		from, to := group[i], group[j]
		for k := range group {
			if group[k] == from {
				group[k] = to
			}
		}
	}
	for i, s := range d.servers {
		if !s.answers {
			continue
		}
		for j, other := range d.servers {
			if j == i || !other.answers {
				continue
			}
			one := s.facts.runID != "" && s.facts.runID == other.facts.runID
			copies := s.facts.role == "replica" && other.facts.role != "" && (s.facts.master != "" && s.facts.master == other.addr ||
				s.facts.replID != "" && s.facts.replID == other.facts.replID)
			if copies && !one && other.facts.role == "master" && follows[i] < 0 {
				follows[i] = j
			}
			if one && j < i {
				same[i] = true
			}
			if one || copies {
				unite(max(i, j), min(i, j))
			}
		}
	}
	independent := 0
	for i := range group {
		if group[i] == i {
			independent++
		}
	}
	n := len(d.servers)
	votes := ""
	if n > 1 {
		votes = fmt.Sprintf(" Of %d votes only %d %s independent, so the quorum of %d is not what it seems.", n, independent, plural(independent, "is", "are"), d.quorum)
	}
	for i, s := range d.servers {
		if same[i] || !s.answers {
			continue
		}
		names := []string{s.name}
		for j := i + 1; j < n; j++ {
			if same[j] && d.servers[j].facts.runID == s.facts.runID {
				names = append(names, d.servers[j].name)
			}
		}
		if len(names) > 1 {
			add("same-server", High, names, fmt.Sprintf("%s are one server, and its vote counts %d times.", list(names), len(names))+votes,
				"Give each vote a server of its own; until then a lock that is shown as held may be on too few of them.")
		}
	}
	for i, s := range d.servers {
		if !s.answers || s.facts.role != "replica" {
			continue
		}
		of := ""
		switch {
		case follows[i] >= 0:
			of = " of " + d.servers[follows[i]].name
		case s.facts.master != "":
			of = " of " + clip(s.facts.master)
		}
		if n == 1 {
			add("replica-voter", High, []string{s.name}, fmt.Sprintf("%s is a read-only replica%s: it may be behind, and no lock can be taken or released there.", s.name, of),
				"Look at the master instead.")
			continue
		}
		add("replica-voter", High, []string{s.name}, fmt.Sprintf("%s is a read-only replica%s: it repeats its master's vote and has none of its own.", s.name, of)+votes,
			"Replace it by a server that replicates nothing.")
	}
}

// clocks compares the nodes' clocks with one another and with themselves.
func (d deploymentFacts) clocks(add addFinding, now time.Time) {
	var least, most *serverFacts
	for i := range d.servers {
		s := &d.servers[i]
		if !s.answers || !s.facts.clock.known {
			continue
		}
		if least == nil || s.facts.clock.offset() < least.facts.clock.offset() {
			least = s
		}
		if most == nil || s.facts.clock.offset() > most.facts.clock.offset() {
			most = s
		}
	}
	allowance := drift(lockcore.DefaultTTL)
	if d.topology == Redlock && least != nil && least != most {
		apart := most.facts.clock.offset() - least.facts.clock.offset()
		slack := most.facts.clock.slack + least.facts.clock.slack
		if apart-slack > allowance {
			add("clock-offset", Medium, d.inOrder(least.name, most.name),
				fmt.Sprintf("The clock of %s is %s (± %s) ahead of that of %s, and a lock of %s allows for %s of drift.", most.name, millis(apart), millis(slack), least.name, human(lockcore.DefaultTTL), millis(allowance)),
				"A steady difference ends no lock early; keep the clocks together all the same, since a clock that is put right in one step does.")
		}
	}
	for _, s := range d.servers {
		f := s.facts
		if !s.answers || f.jumped.IsZero() || now.Sub(f.jumped) > jumpShown {
			continue
		}
		where, effect, severity := "ahead", "every lock on it ends that much too early", High
		if f.jump < 0 {
			where, effect, severity = "back", "every lock on it ends that much too late", Medium
		}
		add("clock-jump", severity, []string{s.name},
			fmt.Sprintf("The clock of %s jumped %s by %s, %s ago: %s.", s.name, where, millis(f.jump.Abs()), human(max(0, now.Sub(f.jumped))), effect),
			"Have its clock slewed and not stepped, and do not rely on locks that were taken before.")
	}
}

// lookups tells where it is not known which servers there are.
func (d deploymentFacts) lookups(add addFinding) {
	for i, name := range d.lost {
		if d.topology == Cluster {
			add("lookup-failed", Medium, nil, "No server tells which slots are where at present: "+clip(d.why[i])+".", "What is shown is where they were last; bring the servers back, or allow the user CLUSTER SLOTS.")
			continue
		}
		add("lookup-failed", Medium, []string{name}, "No sentinel tells the master of "+name+" at present: "+clip(d.why[i])+".", "A fail-over would not be noticed; bring the sentinels back.")
	}
	if d.uncovered > 0 {
		add("slots-uncovered", High, nil, fmt.Sprintf("%d of 16384 slots are served by no server, so nothing in them can be locked.", d.uncovered), "Assign the slots; redis-cli --cluster fix does that.")
	}
}

// writes finds what makes a server refuse to write, which shows only when a
// lock is taken or renewed.
func (d deploymentFacts) writes(s serverFacts, one addOne) {
	f := s.facts
	if f.role == "replica" {
		return
	}
	if f.good.Known && (f.minReplicas.Known && f.good.Value < f.minReplicas.Value || !f.minReplicas.Known && f.good.Value == 0) {
		need := "those that min-replicas-to-write asks for"
		if f.minReplicas.Known {
			need = fmt.Sprintf("the %d that min-replicas-to-write asks for", f.minReplicas.Value)
		}
		one("no-replicas", High, fmt.Sprintf("refuses writes (NOREPLICAS): %d %s in time, fewer than %s, so no lock can be taken, renewed or released there.", f.good.Value, plural(f.good.Value, "replica follows", "replicas follow"), need),
			"Bring the replicas back, or lower min-replicas-to-write.")
	}
	saving := f.saveFailed && f.stopsOnSaveError.Known && f.stopsOnSaveError.Value && f.save.Known && f.save.Value != ""
	if saving || f.appendFailed {
		what := "its last snapshot"
		if !saving {
			what = "its append-only file"
		}
		one("misconf", High, "refuses writes (MISCONF): "+what+" could not be written, so no lock can be taken, renewed or released there.", "Look into its log; as a rule the disk is full or not writable.")
	}
}

// memory finds what a full server does.
func (d deploymentFacts) memory(s serverFacts, one addOne) {
	f := s.facts
	limited := f.maxMemory.Known && f.maxMemory.Value > 0
	full := limited && f.usedMemory.Known && f.usedMemory.Value >= f.maxMemory.Value
	if full && f.role != "replica" && (f.eviction == "noeviction" || strings.HasPrefix(f.eviction, "volatile")) {
		one("out-of-memory", High, fmt.Sprintf("uses %d of %d bytes and refuses what needs more (OOM): no lock can be taken or renewed there, unless keys are dropped for it.", f.usedMemory.Value, f.maxMemory.Value),
			"Free memory or raise maxmemory.")
	}
	if f.eviction == "" || f.eviction == "noeviction" {
		return
	}
	which := "any key"
	if strings.HasPrefix(f.eviction, "volatile") {
		which = "keys that have an expiry, which locks have"
	}
	severity, when := High, "when its memory is full"
	if f.maxMemory.Known && !limited {
		severity, when = Low, "as soon as maxmemory is set, which it is not"
	}
	text := fmt.Sprintf("drops %s (%s) %s: a lock can vanish before its time.", which, clip(f.eviction), when)
	if f.evicted.Known && f.evicted.Value > 0 {
		text += fmt.Sprintf(" It has dropped %d so far.", f.evicted.Value)
	}
	one("eviction", severity, text, "Set maxmemory-policy noeviction, or keep locks on a server of their own.")
}

// persistence finds what a restart forgets, and that there was one.
func (d deploymentFacts) persistence(s serverFacts, one addOne, now time.Time) {
	f := s.facts
	forgets := f.aof.Known && !f.aof.Value && f.save.Known && f.save.Value == ""
	if forgets {
		severity := Low
		if d.topology == Redlock {
			severity = Medium
		}
		one("no-persistence", severity, "keeps nothing on disk (no append-only file, no save points): after a restart it has no locks, and grants them again.",
			"Set appendonly yes, or keep it out of use for the longest time to live after each restart; dlock's own locks do that by themselves.")
	}
	ago, seen := f.uptime.Value, false
	if !f.restarted.IsZero() {
		if since := max(0, now.Sub(f.restarted)); !f.uptime.Known || since < ago {
			ago = since
		}
		seen = now.Sub(f.restarted) < max(restartShown, d.longest)
	}
	if !seen && (!f.uptime.Known || ago >= max(restartShown, d.longest)) {
		return
	}
	text := "was started " + human(ago) + " ago"
	if seen {
		text = "was replaced by another run of the server " + human(ago) + " ago, while dlock watched"
	}
	severity, result := Low, ""
	if seen {
		severity = Medium
	}
	if ago < d.longest {
		severity, result = Medium, fmt.Sprintf(", and locks live for up to %s: what it lost may still be held", human(d.longest))
		if forgets {
			severity = High
		}
	}
	one("restarted", severity, text+result+".", "If it did not keep its data, do not count its votes before the longest time to live is over.")
}

// identity finds servers that are not what they are used as.
func (d deploymentFacts) identity(s serverFacts, one addOne) {
	f := s.facts
	if f.cluster && d.topology != Cluster {
		one("cluster-shard", High, "is one shard of a cluster and has only part of the keys.", "Use a redis+cluster:// URL.")
	}
	switch {
	case olderThan(f.version, 2, 8):
		one("old-version", High, "runs version "+clip(f.version)+", which cannot list keys by SCAN.", "Ask about keys by name, and upgrade the server to 5.0 or later.")
	case olderThan(f.version, 5, 0):
		one("old-version", Medium, "runs version "+clip(f.version)+", on which dlock can look but its own locks do not work.", "Upgrade the server to 5.0 or later.")
	}
}

func refusalAdvice(word string) string {
	code, _, _ := strings.Cut(word, " ")
	switch code {
	case "LOADING":
		return "It is reading its data; wait until it has, or look into its log."
	case "BUSY", "UNKILLABLE":
		return "A script runs for too long; SCRIPT KILL or FUNCTION KILL ends one that has not written yet."
	case "CLUSTERDOWN":
		return "Too few of the cluster's servers are up, or slots are served by none; redis-cli --cluster check tells which."
	case "MASTERDOWN":
		return "It is a replica that has lost its master; look at the master instead."
	default:
		return "Look into its log; what it says is what clients are told too."
	}
}

// inOrder puts names into the order of the servers.
func (d deploymentFacts) inOrder(names ...string) []string {
	var out []string
	for _, s := range d.servers {
		if slices.Contains(names, s.name) {
			out = append(out, s.name)
		}
	}
	return out
}

// clip shortens what a server said.
func clip(s string) string {
	const most = 200
	s = strings.TrimRight(s, ". \r\n")
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}

// millis is a duration to the millisecond, or finer if it is short.
func millis(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}
