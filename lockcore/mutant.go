package lockcore

// mutant is a way to break the protocol on purpose. Only tests set it, to show
// that what they check would notice; the zero value breaks nothing, and no
// exported option leads here.
type mutant struct {
	noRaise          bool       // a grant counts although its number is not on a quorum
	noEpoch          bool       // a token is used again after it was given back
	noChain          bool       // a release may overtake its acquire
	noQuarantine     bool       // a node that lost its data votes at once
	silenceIsConsent bool       // a node that did not answer in time counts as a yes
	lateBase         bool       // validity counts from when the answer came
	release          *luaScript // instead of release.lua
}

// consent takes silence for a yes, and reports whether there was any.
func (c *candidate) consent() bool {
	silent := false
	for i := range c.ballots {
		if c.ballots[i].inFlight && !c.ballots[i].granted {
			silent = true
			c.box.post(event{node: i, pushed: true, vote: vote{verdict: granted, fence: c.highest()}})
		}
	}
	return silent
}
