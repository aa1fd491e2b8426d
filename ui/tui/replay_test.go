package tui

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fakeRecording is a player that is only told about.
type fakeRecording struct {
	*fakeSource
	pos  Position
	did  []string
	more bool
}

func (r *fakeRecording) Position() Position { return r.pos }
func (r *fakeRecording) Play()              { r.did, r.pos.Playing = append(r.did, "play"), true }
func (r *fakeRecording) Pause()             { r.did, r.pos.Playing = append(r.did, "pause"), false }
func (r *fakeRecording) Step(n int) {
	r.did = append(r.did, "step")
	r.pos.Moment = r.pos.Moment.Add(time.Duration(n) * time.Second)
}
func (r *fakeRecording) Speed(f float64)    { r.did, r.pos.Speed = append(r.did, "speed"), f }
func (r *fakeRecording) JumpTo(t time.Time) { r.did, r.pos.Moment = append(r.did, "jump"), t }
func (r *fakeRecording) NextEvent() bool    { r.did = append(r.did, "event"); return r.more }
func (r *fakeRecording) NextFinding() bool  { r.did = append(r.did, "finding"); return r.more }

// replayed is a screen over a recording of the incident, an hour and more ago.
func replayed(t testing.TB) (*screen, *fakeRecording) {
	rec := &fakeRecording{fakeSource: &fakeSource{snap: incident()}, pos: Position{Moment: t0, From: t0.Add(-time.Hour), To: t0.Add(time.Hour), Speed: 1}}
	s := newScreen(t, 120, 36, plain, Config{})
	w := s.app.world
	w.source, w.recording = rec, rec
	later := t0.Add(26 * time.Hour)
	s.now = later
	s.app = newApp(Config{Title: "incident.jsonl"}, s.app.kit, w, later)
	s.run(s.app.Init())
	s.resize(120, 36)
	s.load(incident())
	s.tick()
	return s, rec
}

func TestReplayShowsItsMoment(t *testing.T) {
	s, rec := replayed(t)
	s.mustShow("REPLAY", "Mar 14 12:04:31", "stands still", "of Mar 14 11:04:31 to Mar 14 13:04:31", "9.1s")
	s.mustNotShow("LIVE", "STALE", "READ-ONLY")
	s.now = s.now.Add(time.Hour)
	s.tick()
	s.mustShow("12:04:31", "9.1s") // it stands still
	s.press(" ")
	s.mustShow("x1")
	s.now = s.now.Add(4 * time.Second)
	s.app.at(s.now)
	s.mustShow("12:04:35", "5.1s") // countdowns go with the recording
	s.press(" ", ".", ",", "}", ")", "+")
	if want := []string{"play", "pause", "step", "step", "event", "finding", "speed"}; !slices.Equal(rec.did, want) {
		t.Fatalf("did %q, want %q", rec.did, want)
	}
	if rec.pos.Speed != 2 {
		t.Errorf("+ plays at %v", rec.pos.Speed)
	}
	s.press("-", "-")
	if rec.pos.Speed != 0.5 {
		t.Errorf("- plays at %v", rec.pos.Speed)
	}
	s.press("}")
	s.mustShow("there is no later event")
}

func TestReplayReleasesNothing(t *testing.T) {
	for _, keys := range [][]string{{"X"}, {"m", "X"}, {"7", "X"}, {"enter", "X"}} {
		s, rec := replayed(t)
		s.press(keys...)
		s.mustShow("releasing is off: this is a recording")
		if s.app.asking() || len(rec.executed)+rec.dryRuns > 0 {
			t.Errorf("%q opens a dialog", keys)
		}
	}
	s, _ := replayed(t)
	s.typeLine("release owner")
	s.mustShow("releasing is off")
}

func TestReplayJumps(t *testing.T) {
	for typed, want := range map[string]time.Time{
		"12:30": t0.Truncate(time.Minute).Add(26 * time.Minute), "11:10:05": time.Date(2026, 3, 14, 11, 10, 5, 0, time.UTC),
		"+30s": t0.Add(30 * time.Second), "-2m": t0.Add(-2 * time.Minute), "2026-03-14T12:00:00Z": time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC),
	} {
		s, rec := replayed(t)
		s.typeLine("jump " + typed)
		if !rec.pos.Moment.Equal(want) {
			t.Errorf("%s leads to %v, want %v", typed, rec.pos.Moment, want)
		}
	}
	s, rec := replayed(t)
	s.typeLine("jump soon")
	s.mustShow("jump to a time such as")
	s.typeLine("speed 61")
	s.mustShow("speed: from x0.25 to x60")
	s.typeLine("speed 10")
	if rec.pos.Speed != 10 {
		t.Errorf("plays at %v", rec.pos.Speed)
	}
	// Over midnight a time of day is that of the next day.
	night := Position{From: time.Date(2026, 1, 1, 23, 0, 0, 0, time.UTC), To: time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC)}
	if at, ok := night.parseMoment("01:00"); !ok || at.Day() != 2 {
		t.Errorf("01:00 is %v", at)
	}
}

// Whatever is pressed over a recording, the screen is whole and nothing is
// released.
func TestEveryKeyOverARecording(t *testing.T) {
	var keys []string
	for _, b := range newKeyMap(false, true) {
		if b.act != actSave {
			keys = append(keys, b.keys...)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s, rec := replayed(t)
		w, h := rapid.IntRange(minWidth, 180).Draw(rt, "w"), rapid.IntRange(minHeight, 60).Draw(rt, "h")
		s.resize(w, h)
		for range rapid.IntRange(1, 25).Draw(rt, "n") {
			s.press(rapid.SampledFrom(keys).Draw(rt, "key"))
			if s.app.asking() {
				rt.Fatal("a dialog is open")
			}
			checkScreen(rt, s.view(), w, h)
		}
		if len(rec.executed)+rec.dryRuns > 0 {
			rt.Fatal("something was released")
		}
	})
}
