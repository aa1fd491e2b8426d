// Benchmark measures dlock's lock core beside other Go lock libraries, on the
// same redis-server processes, in one run:
//
//	go run .                      # everything, on one node and on five
//	go run . -quick               # the same with short slices, to see that it works
//	go run . -only parallel -contestants dlock -nodes 1 -cpuprofile cpu.out
//
// The contestants are dlock (with fencing, watchdog and fair hand-over, as it
// comes), redsync, redsync with WithFailFast, redislock (on one node), and a
// floor: SET NX PX and a compare-and-delete script on all nodes in parallel,
// waiting for a quorum, with nothing around them. No lock built on go-redis'
// connection pool can be faster than the floor.
//
// It is a module of its own, so that a program that imports the lock core does
// not carry the other libraries.
//
// # What makes the figures comparable
//
// The contestants take turns on the same servers in short slices, in an order
// that rotates, so that what else the machine does hits all alike. Percentiles
// are taken from all samples, not from averages of slices. Every scenario opens
// its own connections and warms them up before it measures. All connection pools
// have the same size. The other libraries get the client that their READMEs
// show; the floor gets the same client as dlock.
//
// Where clients contend, each is a client of its own, with its own connections:
// what is measured is how a lock goes from one process to another. Every grant
// is checked there: two holders inside at a time, or a fencing token that does
// not grow, end the run with an error.
//
// The long round trip is made by a proxy in this process (see delay.go). What
// it really adds is measured and printed, since the targets are close to it.
package main
