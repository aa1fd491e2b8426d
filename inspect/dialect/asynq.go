package dialect

import "strings"

// asynq is hibiken/asynq: the id of the one task of its kind that is queued or
// running.
type asynq struct{ text }

func (asynq) Name() string { return "asynq" }

func (asynq) Patterns() []string { return []string{"asynq:{*}:unique:*"} }

func (asynq) Recognise(e Entry) (Decoded, bool) {
	rest, _ := under(e.Key, "asynq:{")
	queue, task, ok := strings.Cut(rest, "}:unique:")
	at := strings.LastIndexByte(task, ':')
	if !ok || queue == "" || at <= 0 || !isText(e.text()) {
		return Decoded{}, false
	}
	if digest := task[at+1:]; digest != "" && !isHex(digest, 32) {
		return Decoded{}, false
	}
	d := mutex(e, Certain, Holder{})
	d.Kind, d.Habits = Job, Habits{Enqueued: true}
	return d, true
}
