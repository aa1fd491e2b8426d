//go:build race

package lockcore_test

// underRace says that the race detector watches, which makes everything several
// times slower. What judges the protocol is the same without it; only what
// exercises the code's own concurrency is worth its time.
const underRace = true
