package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// durationValue is a flag that takes a time with a unit. A bare number is
// refused: 500 means seconds to one person and milliseconds to the next.
type durationValue struct {
	to  *time.Duration
	min time.Duration
}

func newDuration(to *time.Duration, value, least time.Duration) *durationValue {
	*to = value
	return &durationValue{to: to, min: least}
}

func (d *durationValue) String() string {
	if d.to == nil || *d.to == 0 {
		return ""
	}
	return shortDuration(*d.to)
}

func (d *durationValue) Type() string { return "duration" }

func (d *durationValue) Set(s string) error {
	if _, err := strconv.ParseFloat(s, 64); err == nil && s != "0" {
		// Only a number is repeated in an error; anything else may be a
		// secret that slipped into the wrong place.
		return fmt.Errorf("%s needs a unit, for example %sms", s, s)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return errors.New("needs a duration with a unit, for example 500ms, 10s or 2m")
	}
	if v < d.min {
		return fmt.Errorf("must be at least %s", shortDuration(d.min))
	}
	*d.to = v
	return nil
}

// shortDuration is time.Duration's own form without trailing zero units.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// countValue is a flag that takes a whole number within bounds.
type countValue struct {
	to       *int
	min, max int
}

func newCount(to *int, value, least, most int) *countValue {
	*to = value
	return &countValue{to: to, min: least, max: most}
}

func (c *countValue) String() string {
	if c.to == nil {
		return "0"
	}
	return strconv.Itoa(*c.to)
}

func (c *countValue) Type() string { return "number" }

func (c *countValue) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < c.min || v > c.max {
		return fmt.Errorf("needs a whole number from %d to %d", c.min, c.max)
	}
	*c.to = v
	return nil
}

// shareValue is a flag that takes a share in per cent.
type shareValue struct{ to *float64 }

func newShare(to *float64, value float64) *shareValue {
	*to = value
	return &shareValue{to: to}
}

func (s *shareValue) String() string {
	if s.to == nil {
		return ""
	}
	return strconv.FormatFloat(*s.to*100, 'g', 4, 64) + "%"
}

func (s *shareValue) Type() string { return "share" }

func (s *shareValue) Set(text string) error {
	number, marked := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	switch {
	case err == nil && !marked:
		return fmt.Errorf("%s needs a %%, for example %s%%", text, text)
	case err != nil || !(v >= 0.1 && v <= 100):
		return errors.New("needs a share from 0.1% to 100%, for example 2%")
	}
	*s.to = v / 100
	return nil
}

// choiceValue is a flag that takes one of a few words.
type choiceValue struct {
	to    *string
	words []string
}

func newChoice(to *string, value string, words ...string) *choiceValue {
	*to = value
	return &choiceValue{to: to, words: words}
}

func (c *choiceValue) String() string {
	if c.to == nil {
		return ""
	}
	return *c.to
}

func (c *choiceValue) Type() string { return "word" }

func (c *choiceValue) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return errors.New("must be " + orList(c.words))
	}
	*c.to = s
	return nil
}

// orList writes "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// flagSentence puts an error of the flag parser into one sentence. It repeats
// names that we defined ourselves and never what was typed: a mistyped
// command line is where a password ends up in an error.
func flagSentence(err error, known func(name string) string) string {
	var (
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
		unknown *pflag.NotExistError
	)
	switch {
	case errors.As(err, &missing):
		return "--" + missing.GetFlag().Name + " needs a value"
	case errors.As(err, &invalid):
		return valueSentence("--"+invalid.GetFlag().Name, invalid.GetFlag(), invalid.Unwrap())
	case errors.As(err, &unknown):
		if unknown.GetSpecifiedShortnames() != "" {
			return "there is no such short option; a key that begins with '-' goes after --"
		}
		name := unknown.GetSpecifiedName()
		if near := known(name); near != "" {
			return "there is no option --" + name + "; did you mean --" + near + "?"
		}
		if !plainWord(name) {
			return "there is no such option; a key that begins with '-' goes after --"
		}
		return "there is no option --" + name + " here"
	default:
		return "an option is not written as --name or --name=value; a key that begins with '-' goes after --"
	}
}

// valueSentence says what is wrong with the value of a flag or of the
// environment variable that stands for it.
func valueSentence(name string, flag *pflag.Flag, cause error) string {
	switch flag.Value.(type) {
	case *durationValue, *countValue, *shareValue, *choiceValue, *wordsValue:
		return name + " " + cause.Error()
	}
	switch flag.Value.Type() {
	case "bool":
		return name + " must be true or false"
	case "uint64":
		return name + " needs a whole number, 0 or more"
	}
	return name + " cannot be read"
}

// plainWord reports whether s looks like the name of a command or an option,
// so that it may be repeated in an error.
func plainWord(s string) bool {
	if s == "" || len(s) > 24 {
		return false
	}
	for i, r := range s {
		if (r < 'a' || r > 'z') && (i == 0 || r != '-') {
			return false
		}
	}
	return true
}
