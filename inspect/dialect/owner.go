package dialect

import (
	"strconv"
	"strings"
)

// splitOwner takes host:pid apart. The host may have colons of its own; a
// label that does not end in a number is neither.
func splitOwner(owner string) (host string, pid int) {
	at := strings.LastIndexByte(owner, ':')
	if at <= 0 {
		return "", 0
	}
	digits := owner[at+1:]
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n == 0 {
		return "", 0
	}
	return owner[:at], int(n)
}
