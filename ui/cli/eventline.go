package cli

import (
	"dlock/inspect"
	"dlock/ui/text"
)

// eventKinds are the kinds of events in the words of watch.
var eventKinds = []string{
	string(inspect.Taken), string(inspect.Renewed), string(inspect.Released), string(inspect.Ended), string(inspect.HandedOver),
	string(inspect.LostNode), string(inspect.GainedNode), string(inspect.WentSplit), string(inspect.WentNoTTL),
	string(inspect.NodeFell), string(inspect.NodeWentUp), string(inspect.Operator), string(inspect.Gap),
}

func eventStyle(k inspect.EventKind) style {
	switch k {
	case inspect.WentSplit, inspect.NodeFell:
		return alarm
	case inspect.WentNoTTL, inspect.LostNode, inspect.Operator, inspect.Gap:
		return warning
	case inspect.Ended, inspect.HandedOver:
		return notice
	case inspect.Renewed:
		return faint
	default:
		return plain
	}
}

// eventClock is how a person is told when something happened.
const eventClock = "15:04:05.000"

// eventWords tells an event of one lock, without the lock's key.
func (l look) eventWords(e inspect.Event) text.Safe {
	words := text.Clean(e.At.Format(eventClock)) + "  " + l.fitter().Fit(text.Clean(string(e.Kind)), kindCells)
	return words + l.eventTail(e)
}

// kindCells is the width of the longest word for an event.
const kindCells = len("gained-node")

// eventTail is who it was about, where, and what there is to say.
func (l look) eventTail(e inspect.Event) (tail text.Safe) {
	switch {
	case e.Owner != "":
		tail += "  " + text.CleanMax(e.Owner, 200)
	case e.Token != "":
		tail += "  " + l.clipped(e.Token, ownerCells)
	}
	if e.Node != "" && e.Key != "" {
		tail += "  " + text.Clean(e.Node)
	}
	if e.Text != "" {
		tail += "  " + text.CleanMax(e.Text, 500)
	}
	return tail
}
