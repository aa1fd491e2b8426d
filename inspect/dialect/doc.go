// Package dialect knows how lock libraries write their locks into Redis: one
// file per library, which recognises an entry, decodes what it tells about its
// holder, and says what a safe release has to do, or why there is none.
//
// A dialect reads values only; it does no I/O except in [Release.Run]. Every
// byte it is given comes from Redis and may be hostile, so nothing here panics
// on any input and nothing is guessed: what a value does not tell stays empty.
package dialect
