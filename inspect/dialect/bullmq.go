package dialect

import (
	"strings"
	"time"
)

// bullMQ is the Node job queue BullMQ: the worker that runs a job, and a
// number of its own for the job.
type bullMQ struct{ text }

func (bullMQ) Name() string { return "bullmq" }

func (bullMQ) Patterns() []string { return []string{"bull:*:lock"} }

func (bullMQ) Recognise(e Entry) (Decoded, bool) {
	worker, n, ok := strings.Cut(e.text(), ":")
	job, named := bullJob(e.Key)
	if !ok || !named || !isUUID4(worker) || !isDigits(n) {
		return Decoded{}, false
	}
	d := mutex(e, Likely, Holder{Owner: worker})
	if strings.HasPrefix(job, "bull:") || strings.HasPrefix(job, "{bull}:") {
		d.Confidence = Certain
	}
	d.Kind, d.Habits = Job, bullHabits
	return d, true
}

// Questions asks the job for its worker's name and for when it began. BullMQ
// works only where the job is in the slot of its lock.
func (bullMQ) Questions(e Entry, _ Decoded) [][]string {
	job, ok := bullJob(e.Key)
	if !ok {
		return nil
	}
	return [][]string{{"HMGET", job, "pb", "processedOn"}}
}

// Learn takes the worker's name, where it has one, and when the job began.
func (bullMQ) Learn(_ Entry, d *Decoded, answers []any) Extra {
	if len(answers) != 1 || len(d.Holders) != 1 {
		return Extra{}
	}
	fields, _ := answers[0].([]any)
	if len(fields) != 2 {
		return Extra{}
	}
	if name, _ := fields[0].(string); name != "" {
		d.Holders[0].Owner = name
	}
	if began, _ := fields[1].(string); began != "" {
		if since, ok := millis(began); ok {
			d.Holders[0].Since = since
		}
	}
	return Extra{}
}

// bull is the older Bull, whose token is the queue's instance alone.
type bull struct{ text }

func (bull) Name() string { return "bull" }

func (bull) usual() Habits { return bullHabits }

func (bull) Recognise(e Entry) (Decoded, bool) {
	job, named := bullJob(e.Key)
	if !named || !strings.HasPrefix(job, "bull:") && !strings.HasPrefix(job, "{bull}:") || !isUUID4(e.text()) {
		return Decoded{}, false
	}
	d := mutex(e, Likely, Holder{Owner: e.Value})
	d.Kind, d.Habits = Job, bullHabits
	return d, true
}

var bullHabits = Habits{
	Renews:      15 * time.Second,
	Consequence: "the queue will take the job for stalled and run it once more, whether or not its worker goes on",
}

// bullJob returns the key of the job that a lock belongs to; the lock's key is
// prefix, queue and job in front of :lock.
func bullJob(key string) (job string, ok bool) {
	job, ok = strings.CutSuffix(key, ":lock")
	parts := strings.Split(job, ":")
	if !ok || len(parts) < 3 {
		return "", false
	}
	for _, p := range parts {
		if p == "" {
			return "", false
		}
	}
	return job, true
}
