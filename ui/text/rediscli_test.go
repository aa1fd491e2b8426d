package text

import (
	"bufio"
	"io"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The real redis-cli reads our lines from its standard input, as it reads what
// is pasted, and sends what it understood to a server that notes it down.
func TestRedisCLIByTheRealOne(t *testing.T) {
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Skip("no redis-cli in PATH")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	got := make(chan [][]string, 1)
	go func() { got <- noteCommands(listener) }()

	var every strings.Builder
	for c := range 256 {
		every.WriteByte(byte(c))
	}
	keys := append(slices.Clone(hostile), "", every.String(), strings.Join(hostile, ""), "a b", "'a'", `"a"`, `\`)
	var script strings.Builder
	var want [][]string
	for _, k := range keys {
		script.WriteString(RedisCLI("DLOCKTEST", k, "x") + "\n")
		want = append(want, []string{"DLOCKTEST", k, "x"})
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), cli, "-h", "127.0.0.1", "-p", port)
	cmd.Stdin = strings.NewReader(script.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("redis-cli: %v\n%s", err, out)
	}
	_ = listener.Close()
	commands := slices.DeleteFunc(<-got, func(c []string) bool { return c[0] != "DLOCKTEST" })
	if len(commands) != len(want) {
		t.Fatalf("%d lines became %d commands", len(want), len(commands))
	}
	for i := range want {
		if !slices.Equal(commands[i], want[i]) {
			t.Errorf("%s was read as %q", RedisCLI(want[i]...), commands[i])
		}
	}
}

// noteCommands answers every command of every connection with +OK until the
// listener is closed, and returns the commands.
func noteCommands(listener net.Listener) (commands [][]string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return commands
		}
		in := bufio.NewReader(conn)
		for {
			args, err := readCommand(in)
			if err != nil {
				break
			}
			commands = append(commands, args)
			if _, err := io.WriteString(conn, "+OK\r\n"); err != nil {
				break
			}
		}
		_ = conn.Close()
	}
}

func readCommand(in *bufio.Reader) ([]string, error) {
	number := func() (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number()
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := number()
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(in, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:size])
	}
	return args, nil
}
