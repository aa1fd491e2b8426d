package text

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Quote writes a key, or any other bytes, as one argument: as it is where it is
// not empty and has neither quotes, backslashes, spaces nor anything that
// [Clean] would escape, else in double quotes with the escapes that redis-cli
// reads and writes: \n \r \t \a \b \" \\ and \xHH for each other byte that may
// not be shown. The result is fit for a terminal, [Unquote] and redis-cli read
// it back; for a shell use [Shell], since a shell takes the quotes away.
func Quote(key string) string {
	if key != "" && !strings.ContainsAny(key, `"'\ `) && printable(key) {
		return key
	}
	out := make([]byte, 0, len(key)+len(key)/4+2)
	out = append(out, '"')
	var rd reader
	for i := 0; i < len(key); {
		r, size, ok := rd.next(key[i:])
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case ok:
			out = append(out, key[i:i+size]...)
		default:
			out = appendByteEscapes(out, key[i:i+size])
		}
		i += size
	}
	return string(append(out, '"'))
}

func appendByteEscapes(out []byte, raw string) []byte {
	for _, c := range []byte(raw) {
		switch c {
		case '\n':
			out = append(out, `\n`...)
		case '\r':
			out = append(out, `\r`...)
		case '\t':
			out = append(out, `\t`...)
		case '\a':
			out = append(out, `\a`...)
		case '\b':
			out = append(out, `\b`...)
		default:
			out = append(out, '\\', 'x', hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	return out
}

// Unquote reads an argument that a person typed or pasted: one that begins and
// ends with a double quote is decoded, anything else stands for itself. Beside
// what [Quote] writes it understands \uHHHH and \UHHHHHHHH, the escapes that
// screens show. The error says at which byte the argument is wrong; it repeats
// nothing of the argument.
func Unquote(arg string) (string, error) {
	if len(arg) < 2 || arg[0] != '"' || arg[len(arg)-1] != '"' {
		return arg, nil
	}
	in := arg[:len(arg)-1]
	out := make([]byte, 0, len(in))
	for i := 1; i < len(in); {
		switch in[i] {
		case '"':
			return "", fmt.Errorf(`the quoted argument has a quote inside, at byte %d: write it as \"`, i)
		default:
			out = append(out, in[i])
			i++
		case '\\':
			var (
				n   int
				err error
			)
			if out, n, err = appendDecoded(out, in[i:]); err != nil {
				return "", fmt.Errorf("the quoted argument is wrong at byte %d: %w", i, err)
			}
			i += n
		}
	}
	return string(out), nil
}

// appendDecoded decodes the escape at the start of s and returns how many bytes
// of s it took.
func appendDecoded(out []byte, s string) ([]byte, int, error) {
	if len(s) < 2 {
		return out, 0, errors.New(`it ends within an escape; write a backslash as \\`)
	}
	digits := 0
	switch s[1] {
	case '\\', '"':
		return append(out, s[1]), 2, nil
	case 'n':
		return append(out, '\n'), 2, nil
	case 'r':
		return append(out, '\r'), 2, nil
	case 't':
		return append(out, '\t'), 2, nil
	case 'a':
		return append(out, '\a'), 2, nil
	case 'b':
		return append(out, '\b'), 2, nil
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return out, 0, errors.New(`there is no such escape; write a backslash as \\`)
	}
	value, ok := parseHex(s[2:], digits)
	switch {
	case !ok:
		return out, 0, fmt.Errorf(`\%c needs %d hexadecimal digits; write a backslash as \\`, s[1], digits)
	case digits == 2:
		return append(out, byte(value)), 4, nil
	case value > utf8.MaxRune || !utf8.ValidRune(rune(value)):
		return out, 0, fmt.Errorf(`\%c does not name a character; write single bytes as \xHH`, s[1])
	default:
		return utf8.AppendRune(out, rune(value)), 2 + digits, nil
	}
}

func parseHex(s string, digits int) (uint32, bool) {
	if len(s) < digits {
		return 0, false
	}
	var v uint32
	for _, c := range []byte(s[:digits]) {
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | uint32(c-'0')
		case 'a' <= c && c <= 'f':
			v = v<<4 | uint32(c-'a'+10)
		case 'A' <= c && c <= 'F':
			v = v<<4 | uint32(c-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

// RedisCLI writes a command as one line that can be pasted into redis-cli, each
// argument as [Quote] writes it. The line is fit for a terminal; show it with
// [Escaped].
func RedisCLI(args ...string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = Quote(a)
	}
	return strings.Join(quoted, " ")
}
