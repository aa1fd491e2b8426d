package dialect

// yii is the mutex of yii2-redis, whose keys are 5 digits of one hash and 32
// of another; what was locked cannot be told from them.
type yii struct{ text }

func (yii) Name() string { return "yii2" }

func (yii) Recognise(e Entry) (Decoded, bool) {
	if !isHex(e.Key, 37) || !all(e.text(), 20, isURLSafe) {
		return Decoded{}, false
	}
	return mutex(e, Likely, Holder{}), true
}
