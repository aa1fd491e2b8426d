// Package demo runs the real lock core on real nodes with workers that
// contend for a few resources, so that people can watch contention and quorum
// and break things. Nothing it shows is acted.
package demo
