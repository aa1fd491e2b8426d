package dialect

import "strings"

// madelsonMembers decodes the collections of DistributedLock.Redis: the
// readers of a read-write lock, a set whose one expiry each of them prolongs
// for all, and the holders of a semaphore by expiry.
func madelsonMembers(e Entry) (Decoded, bool) {
	d := Decoded{Confidence: Certain, Kind: Semaphore, Habits: madelsonHabits}
	if e.Type == "set" {
		d.Kind = ReadWrite
		if !strings.HasSuffix(e.Key, ".readers") {
			return Decoded{}, false
		}
	}
	for _, i := range e.Items {
		h, ok := madelsonHolder(i.Name)
		if !ok {
			return Decoded{}, false
		}
		h.Token = i.Name
		if e.Type == "set" {
			h.Mode = "read"
		} else if h.Until, ok = scored(i.Value); !ok {
			return Decoded{}, false
		}
		if !e.lapsed(h.Until) {
			d.Holders = append(d.Holders, h)
		}
	}
	sortByToken(d.Holders)
	return d, len(e.Items) > 0
}

func (d madelson) Release(e Entry, h Holder) (Release, error) {
	if e.Type != "set" && e.Type != "zset" {
		return compareAndDelete(e, h)
	}
	if _, err := known(d, e, h); err != nil {
		return Release{}, err
	}
	if e.Type == "set" {
		return remove(e, ofSet, h.Token), nil
	}
	return remove(e, ofSortedSet, h.Token), nil
}
