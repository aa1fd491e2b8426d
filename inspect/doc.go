// Package inspect looks at locks that live in Redis, judges them, explains
// them and, when a person asks for it, releases them.
//
// Data flows one way:
//
//	nodes -> probe (per node) -> observations -> verdict -> Lock -> Snapshot -> ui
//	                                                     \-> differences -> Event
//
// and one value flows back: a [Plan] that says what a release will send where.
// Everything between the observations and the Snapshot is pure: it takes the
// time as an argument and no client, so it is tested with tables.
//
// # What a lock is
//
// Package dialect knows how libraries write their locks; this package reads what
// a dialect needs, within bounds of number and bytes, and judges what it says.
// A lock may be a string, a hash, a set, a list or a sorted set, have one holder
// or several, consist of several keys, and have companions: queues, counters and
// signals that stand beside it. Companions and further keys are folded into
// their lock's row if their type fits their name. A queue that stands there
// without its lock for longer than a hand-over takes is a row of its own that is
// no lock ([Lock.Companion]).
//
// # What a look may and may not do
//
// Looking needs SCAN and PTTL and nothing else; every other command is
// optional, and a node that refuses one is remembered as "not permitted"
// rather than asked again on each pass. The package never sends KEYS, MONITOR
// or CONFIG SET and loads no script in order to look. Reading a value resets
// the idle time of the key, which for foreign locks is the only evidence of
// age, so a value is read again only when the key's remaining life is not what
// the last sample predicts, when the idle time shows that somebody used it, when
// a person asks (Get, Refresh), and now and then with growing pauses: right after
// our own reading the idle time shows nothing, and without expiry the remaining
// life never does. The idle time from before our readings is kept. Where the
// server knows CLIENT NO-TOUCH and permits it, reading leaves the idle time alone
// altogether. What companions tell is asked on each pass of up to some thousand
// locks, and of more when their values are read.
//
// A Watch asks about all locks in each look while there are up to some thousand
// on a server. Of more it asks about those on screen ([Inspector.SetVisible]) and
// about the others in turn, as fast as Config.ScanBudget allows; first about
// those whose time has run out or on which the nodes disagree. Copy.SampledAt
// tells how old an answer is and Snapshot.Scan.Oldest how old the oldest. What is
// not asked about again stays in the snapshots as it was judged last: its Idle
// and the figures in its Findings are of that moment. No lock counts as expired
// before the nodes said so.
//
// # Honesty
//
// A node that does not answer is unreachable, never free. A number that is
// not known is a zero [Maybe], never 0. A duration that is only a lower bound
// says so (Lock.HeldIsMinimum). Identity is (database, key bytes, token);
// never a row number, never the displayed text.
//
// Strings in these types that came from Redis (keys, tokens, owners, error
// texts) are raw bytes. They must go through the cleaner of package ui/text
// before they reach a terminal.
package inspect
