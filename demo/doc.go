// Package demo runs the real lock core on real nodes with workers that contend
// and write to a real store, so that people can watch locks, break things, and
// see what each way to lock makes of it. Nothing it shows is acted.
//
// A [Scenario] says what the workers do, a [Mode] how they are kept apart,
// [Faults] what can be broken. Modes are changed while it runs; each has a
// [ModeTally] that grows. Two judges watch, and neither asks the workers: a
// checker that shares the process's clock with all of them, and the database,
// from which damage is counted (package demo/store).
//
// A worker stands for a process: it has connections, a locker and a cable of
// its own, so that it can be stopped as a whole, watchdog included.
//
// A [Tour] shows the same one thing at a time.
package demo
