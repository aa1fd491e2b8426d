package dialect

import "strconv"

// An answer to one of [Curious.Questions] is whatever a server may say. What
// does not have the form that was asked for is taken for not told.

// numberIn reads a number that is not negative.
func numberIn(answer any) (int64, bool) {
	switch v := answer.(type) {
	case int64:
		return v, v >= 0
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil && n >= 0
	}
	return 0, false
}

// countIn reads a number that is small enough to count something.
func countIn(answer any) (int, bool) {
	n, ok := numberIn(answer)
	if !ok {
		return 0, false
	}
	return int(min(n, 1<<31-1)), true
}

// wordsIn reads a list, pairs in it one after the other.
func wordsIn(answer any) []string {
	list, _ := answer.([]any)
	var out []string
	for _, v := range list {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case int64:
			out = append(out, strconv.FormatInt(v, 10))
		case []any:
			for _, v := range v {
				s, _ := v.(string)
				out = append(out, s)
			}
		default:
			out = append(out, "") // keeps names and values in step
		}
	}
	return out
}

// subscribersIn reads the answer to PUBSUB NUMSUB about one channel.
func subscribersIn(answer any) (int, bool) {
	list, _ := answer.([]any)
	if len(list) != 2 {
		return 0, false
	}
	return countIn(list[1])
}
