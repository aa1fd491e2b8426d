package cli

// origin says where a value came from.
type origin struct {
	kind  originKind
	where string // the flag, the variable, or file:line
}

type originKind string

const (
	fromFlag    originKind = "flag"
	fromEnv     originKind = "env"
	fromProfile originKind = "profile"
	fromPrompt  originKind = "prompt"
	fromDefault originKind = "default"
)

func (o origin) String() string {
	if o.where == "" {
		return "default"
	}
	return o.where
}
