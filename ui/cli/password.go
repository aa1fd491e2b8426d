package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"

	"dlock/ui/text"
)

// maxPassword is far beyond any password: Redis takes none of that size in
// practice, and whatever is longer is another file.
const maxPassword = 64 << 10

// passwordSource says where one of the passwords can come from.
type passwordSource struct {
	name              string // in the list of settings
	variable, fileVar string
	keyEnv, keyFile   string // of the profile
	lastVar           string // a variable of other programs, after the profile
	to                *string
}

// resolvePasswords reads the passwords that no URL has.
func (s *settings) resolvePasswords(env environment) error {
	sources := []passwordSource{
		{"password", "DLOCK_PASSWORD", "DLOCK_PASSWORD_FILE", keyPasswordEnv, keyPasswordFile, "REDISCLI_AUTH", &s.password},
		{"sentinel-password", "DLOCK_SENTINEL_PASSWORD", "DLOCK_SENTINEL_PASSWORD_FILE", keySentinelPasswordEnv, keySentinelPasswordFile, "", &s.sentinelPassword},
	}
	for _, source := range sources {
		if source.name == "password" && s.askpass {
			s.origins[source.name] = origin{fromPrompt, "--askpass"}
			continue
		}
		value, from, err := s.readPassword(env, source)
		if err != nil {
			return err
		}
		*source.to = value
		if value != "" {
			s.origins[source.name] = from
		}
	}
	return nil
}

func (s *settings) readPassword(env environment, source passwordSource) (string, origin, error) {
	if value, name := env.get(source.variable); value != "" {
		return value, origin{fromEnv, name}, nil
	}
	if file, name := env.get(source.fileVar); file != "" {
		value, err := passwordFile(file, "the file that "+name+" names")
		return value, origin{fromEnv, name}, err
	}
	byEnv, hasEnv := s.chosen.entry(source.keyEnv)
	byFile, hasFile := s.chosen.entry(source.keyFile)
	hasEnv = hasEnv && s.applies(byEnv, reaching, false)
	hasFile = hasFile && s.applies(byFile, reaching, false)
	switch {
	case hasEnv && hasFile:
		return "", origin{}, usage("%s: give %s or %s, not both", s.chosen.where(byFile), source.keyEnv, source.keyFile)
	case hasEnv:
		value, _ := env.get(byEnv.values[0])
		if value == "" {
			return "", origin{}, usage("%s: the variable that %s names is not set", s.chosen.where(byEnv), source.keyEnv)
		}
		return value, origin{fromProfile, s.chosen.where(byEnv)}, nil
	case hasFile:
		value, err := passwordFile(s.chosen.path(env, byFile.values[0]), s.chosen.where(byFile)+": the file that "+source.keyFile+" names")
		return value, origin{fromProfile, s.chosen.where(byFile)}, err
	}
	value, name := env.get(source.lastVar)
	return value, origin{fromEnv, name}, nil
}

// passwordFile reads a password from a file; a newline at its end is no part of
// it. what names the file in errors, since the name may be the password itself
// by mistake.
func passwordFile(name, what string) (string, error) {
	data, _, err := readSmall(name, maxPassword)
	if err != nil {
		return "", usage("%s cannot be read: %s", what, osReason(err))
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if password == "" {
		return "", usage("%s is empty; it must hold the password", what)
	}
	return password, nil
}

// askPassword asks for the password if that is wanted.
func (p *program) askPassword(ctx context.Context) error {
	if !p.settings.askpass {
		return nil
	}
	whose := "Redis password: "
	if p.settings.user != "" {
		whose = "Redis password of " + string(text.Clean(p.settings.user)) + ": "
	}
	password, err := p.readSecret(ctx, whose)
	switch {
	case errors.Is(err, context.Canceled):
		return quiet(exitInterrupted)
	case err != nil:
		return usage("--askpass cannot ask: %s; use DLOCK_PASSWORD or DLOCK_PASSWORD_FILE", err)
	case password == "":
		return usage("no password was given")
	}
	p.settings.password = password
	return nil
}

// readTerminal asks on the process's terminal, which need be neither standard
// input nor output, and shows nothing of the answer, also if it is typed ahead
// of the question. The terminal is as it was before when readTerminal returns.
func readTerminal(ctx context.Context, prompt string) (string, error) {
	in, out := "/dev/tty", "/dev/tty"
	if runtime.GOOS == "windows" {
		in, out = "CONIN$", "CONOUT$"
	}
	keys, err := os.OpenFile(in, os.O_RDWR, 0)
	if err != nil {
		return "", errNoTerminal
	}
	defer keys.Close()
	screen, err := os.OpenFile(out, os.O_RDWR, 0)
	if err != nil {
		return "", errNoTerminal
	}
	defer screen.Close()
	fd := int(keys.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", errNoTerminal
	}
	defer func() { _ = term.Restore(fd, before) }()
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		line, err := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{keys, screen}, "").ReadPassword(prompt)
		got <- answer{line, err}
	}()
	select {
	case a := <-got:
		if errors.Is(a.err, io.EOF) {
			// Control and C or D, which are no signals here.
			_, _ = screen.WriteString("\r\n")
			return "", context.Canceled
		}
		return a.line, a.err
	case <-ctx.Done():
		// The reader stays behind, which is the end of the program.
		_, _ = screen.WriteString("\r\n")
		return "", ctx.Err()
	}
}

var errNoTerminal = errors.New("there is no terminal")
