//go:build unix

package lab

import (
	"bufio"
	"context"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// answerLimit bounds one attempt to get an answer.
const answerLimit = time.Second

var processID = regexp.MustCompile(`(?m)^process_id:(\d+)\r?$`)

// answer is what came back from a server's address.
type answer int

const (
	silence  answer = iota // nothing, or a server that is not ready
	unsigned               // a server that does not tell which process it is
	ours                   // the process that was asked for
)

// ask finds out what serves clients at addr. It returns errPortTaken when
// that is another process than pid.
func ask(ctx context.Context, addr string, pid int) (answer, error) {
	dialer := net.Dialer{Timeout: answerLimit}
	conn, err := dialer.DialContext(ctx, "tcp4", addr)
	if err != nil {
		return silence, nil
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	conn.SetDeadline(time.Now().Add(answerLimit))
	if _, err := io.WriteString(conn, "*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n"); err != nil {
		return silence, nil
	}
	return readAnswer(bufio.NewReader(conn), pid)
}

func readAnswer(r *bufio.Reader, pid int) (answer, error) {
	ping, err := r.ReadString('\n')
	if err != nil || strings.HasPrefix(ping, "-LOADING") {
		return silence, nil
	}
	info, err := r.ReadString('\n')
	if err != nil {
		return silence, nil
	}
	size, bulk := strings.CutPrefix(strings.TrimSpace(info), "$")
	if !bulk {
		return unsigned, nil
	}
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 || n > 1<<20 {
		return silence, nil
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return silence, nil
	}
	id := processID.FindSubmatch(body)
	switch {
	case id == nil:
		return unsigned, nil
	case string(id[1]) != strconv.Itoa(pid):
		return silence, errPortTaken
	default:
		return ours, nil
	}
}
