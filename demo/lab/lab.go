package lab

// Kind says what the nodes are made of.
type Kind string

// The kinds. Embedded nodes live in this process and need nothing installed;
// Process nodes are redis-server child processes.
const (
	Embedded Kind = "embedded"
	Process  Kind = "redis-server"
)

// State is what a node of the lab is at present.
type State string

// The states of a lab node.
const (
	Up     State = "up"
	Down   State = "down"   // killed: connections are refused
	Paused State = "paused" // accepts connections and does not answer
)

// Status is one node at a moment.
type Status struct {
	Name  string
	Addr  string
	State State
}
