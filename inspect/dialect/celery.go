package dialect

// celeryOnce is celery-once: the lock of redis-py, taken by whoever queues the
// task. Its key tells the task and its arguments.
type celeryOnce struct{ text }

func (celeryOnce) Name() string { return "celery-once" }

func (celeryOnce) Patterns() []string { return []string{"qo_*"} }

func (celeryOnce) Recognise(e Entry) (Decoded, bool) {
	h, ok := redisPyHolder(e.text())
	if _, named := under(e.Key, "qo_"); !ok || !named {
		return Decoded{}, false
	}
	d := mutex(e, Certain, h)
	d.Kind, d.Habits = Job, Habits{Enqueued: true, Careless: true}
	return d, true
}

// celerySingleton is celery-singleton: the id of the task that is queued or
// running.
type celerySingleton struct{ text }

func (celerySingleton) Name() string { return "celery-singleton" }

func (celerySingleton) Patterns() []string { return []string{"SINGLETONLOCK_*"} }

func (celerySingleton) Recognise(e Entry) (Decoded, bool) {
	digest, _ := under(e.Key, "SINGLETONLOCK_")
	if !isHex(digest, 32) || !isText(e.text()) {
		return Decoded{}, false
	}
	d := mutex(e, Likely, Holder{})
	if isUUID4(e.Value) {
		d.Confidence = Certain
	}
	d.Kind, d.Habits = Job, Habits{Enqueued: true, Careless: true, Endless: true}
	return d, true
}
