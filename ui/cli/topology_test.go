package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dlock/demo/lab/labtest"
)

// on is the command line on a deployment behind one URL.
func on(t *testing.T, d labtest.Deployment) *site {
	t.Helper()
	return &site{t: t, lab: d.Lab, urls: []string{d.URL}, state: t.TempDir()}
}

func topologyOf(t *testing.T, e ending) string {
	t.Helper()
	var doc struct {
		Target struct {
			Topology string
			Quorum   int
		}
	}
	if err := json.Unmarshal([]byte(e.out), &doc); err != nil {
		t.Errorf("%v: %s", err, e.err)
	}
	return fmt.Sprint(doc.Target.Topology, " ", doc.Target.Quorum)
}

func TestCommandsOnACluster(t *testing.T) {
	s := on(t, labtest.StartCluster(t, 3))
	// Each is accepted by the one server that has its slot.
	keys := []string{"lock:b", "lock:c", "lock:d", "lock:e", "lock:f", "lock:g"}
	stored := 0
	for _, key := range keys {
		for n := range 3 {
			if labtest.Client(t, s.lab.Nodes()[n]).Set(t.Context(), key, "token-of-"+key, 0).Err() == nil {
				stored++
			}
		}
	}
	doc := s.document("ls")
	if stored != len(keys) || !doc.Complete || len(doc.Locks) != len(keys) || len(doc.Target.Nodes) != 3 {
		t.Fatalf("%d stored; %+v", stored, doc)
	}
	if got := topologyOf(t, s.run("ls", "-o", "json")); got != "cluster 1" {
		t.Error(got)
	}
	for _, key := range keys {
		if e := s.run("get", key); e.code != exitOK || e.err != "" || !strings.Contains(e.out, "token-of-"+key) {
			t.Errorf("get %s: %+v", key, e)
		}
		if e := s.run("release", key, "--token", "token-of-"+key); e.code != exitOK {
			t.Errorf("release %s: %+v", key, e)
		}
		if e := s.run("get", key); e.code != exitNotThere {
			t.Errorf("get %s afterwards: %+v", key, e)
		}
	}
	other := labtest.Client(t, s.lab.Nodes()[0])
	if e := s.run("ls", "--node", s.urls[0], "--node", "redis://"+other.Options().Addr); e.code != exitUsage || !strings.Contains(e.err, "give it alone") {
		t.Errorf("a cluster as a voter: %+v", e)
	}
	n, _ := s.lab.Node("n2")
	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	if e := s.run("ls"); e.code != exitIncomplete || !strings.Contains(e.err, n.Addr()) {
		t.Errorf("with a shard down: %+v", e)
	}
}

func TestCommandsOnSentinel(t *testing.T) {
	s := on(t, labtest.StartSentinel(t))
	s.do([]int{1}, "SET", "lock:a", "token-of-a", "PX", 60_000)
	if doc := s.document("ls"); !doc.Complete || len(doc.Locks) != 1 || doc.Locks[0].State != "held" {
		t.Errorf("%+v", doc)
	}
	e := s.run("get", "lock:a", "-o", "json")
	if got := topologyOf(t, e); got != "sentinel 1" || !strings.Contains(e.out, s.lab.Nodes()[0].Addr()) {
		t.Errorf("%s: %+v", got, e)
	}
	if e := s.run("release", "lock:a", "--token", "token-of-a"); e.code != exitOK || s.stored(1, "lock:a") != "" {
		t.Errorf("%+v", e)
	}
}
