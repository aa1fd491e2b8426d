//go:build !race

package lockcore_test

const underRace = false
