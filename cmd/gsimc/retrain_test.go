package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/retrain"
)

var metricLine = regexp.MustCompile(`(?m)^(gsimc_(?:retrain|retention|online)\S*) (\S+)$`)

// metrics are the series of retraining, retention and live quality of a running server.
func (p *serverProcess) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for _, m := range metricLine.FindAllStringSubmatch(p.metricsPage(t), -1) {
		var err error
		if found[m[1]], err = strconv.ParseFloat(m[2], 64); err != nil {
			t.Errorf("metric %s: %v", m[1], err)
		}
	}
	return found
}

// TestServeRetrains starts a server on the model of another catalogue, streams events to it, and
// waits until it has taught itself better; and one on a good model whose store has too little to
// learn from, which keeps what it has. TestRetrainOutcomes of package retrain has all outcomes.
func TestServeRetrains(t *testing.T) {
	soak.Processes(t, "the real binary")
	t.Parallel()
	events, right := smallModel(t)
	dir := t.TempDir()
	wrong := filepath.Join(dir, "model.gsimc")
	trainSmall(t, filepath.Join(dir, "foreign.csv.gz"), wrong, "77")
	before := provenance(t, wrong, "data_hash")

	// start serves from a store that holds the first events of each user.
	start := func(t *testing.T, model string, most int, flags ...string) *serverProcess {
		data := filepath.Join(t.TempDir(), "state")
		p := startServe(t, model, data)
		execute(t, "observe", "--data", firstEvents(t, events, 300, most, laterYears), "--server",
			p.GRPC)
		if m := p.metrics(t); m[`gsimc_retrain_total{outcome="swapped"}`] != 0 || len(m) < 5 {
			t.Errorf("without --retrain-every: %v", m)
		}
		p.mustStop(t)
		return startServe(t, model, data, append(flags, "--retrain-every", "1s")...)
	}
	t.Run("a better model is swapped in", func(t *testing.T) {
		p := start(t, wrong, 1000, "--quality-sample", "1", "--shadow-model", right)
		p.awaitLog(t, "retrained: the new model serves", 1)
		observeOnceMore(t, p, events)
		m := p.metrics(t)
		if m[`gsimc_retrain_total{outcome="swapped"}`] != 1 || m["gsimc_retrain_seconds"] <= 0 ||
			m[`gsimc_retrain_recall{model="new"}`] <= m[`gsimc_retrain_recall{model="old"}`] {
			t.Errorf("the metrics of retraining are %v", m)
		}
		if m[`gsimc_online_rank_count{model="serving"}`] != 1 ||
			m[`gsimc_online_rank_count{model="shadow"}`] != 1 {
			t.Errorf("the metrics of live quality are %v", m)
		}
		// the new model has seen what there is
		p.awaitLog(t, "not retrained: too few new events", 1)
		p.mustStop(t)
		if after := provenance(t, wrong, "data_hash"); after == before {
			t.Error("the model file is the old one")
		}
		if spec, rank := specOf(t, wrong); rank != 16 || spec.Dynamics.Kind != "learned" {
			t.Errorf("the new model has rank %d and the spec %+v", rank, spec)
		}
	})
	t.Run("a worse model is not", func(t *testing.T) {
		p := start(t, right, 2) // two events of each user are too little to learn from
		m := wantKept(t, p, right)
		if m[`gsimc_retrain_recall{model="new"}`] >= m[`gsimc_retrain_recall{model="old"}`] {
			t.Errorf("the metrics are %v", m)
		}
	})
}

// observeOnceMore sends an event that is new to a user, and waits until its rank is measured.
func observeOnceMore(t *testing.T, p *serverProcess, events string) {
	t.Helper()
	d, _, err := dataset.Read([]string{events}, dataset.Options{})
	check.Must(t, err)
	fresh := int32(0)
	for slices.Contains(d.Of(0), fresh) {
		fresh++
	}
	execute(t, "observe", "--user", d.Users[0], "--item", d.Items[fresh], "--server", p.GRPC)
	await(t, "the event is measured", func() bool {
		return p.metrics(t)[`gsimc_online_rank_count{model="shadow"}`] > 0
	})
}

// laterYears makes events newer than those that a model knows.
const laterYears = 2

// firstEvents writes the first events of the first users of a file to another, as of some years
// later.
func firstEvents(t *testing.T, path string, users, events, years int) string {
	t.Helper()
	d, _, err := dataset.Read([]string{path}, dataset.Options{})
	check.Must(t, err)
	text := "user_id,item_id,timestamp\n"
	for u, user := range d.Users[:users] {
		for j := d.Ptr[u]; j < min(d.Ptr[u]+int64(events), d.Ptr[u+1]); j++ {
			text += fmt.Sprintf("%s,%s,%d\n", user, d.Items[d.Item[j]],
				d.Time[j]+int64(years)*365*86400)
		}
	}
	return writeFile(t, "first.csv", text)
}

// wantKept waits for a retraining to a worse model, and checks that the server goes on with that of
// the file.
func wantKept(t *testing.T, p *serverProcess, path string) map[string]float64 {
	t.Helper()
	before := mustRead(t, path)
	p.awaitLog(t, "the new model is worse on the latest events", 1)
	m := p.metrics(t)
	if m[`gsimc_retrain_total{outcome="`+retrain.Kept+`"}`] == 0 ||
		m[`gsimc_retrain_total{outcome="swapped"}`] != 0 {
		t.Errorf("the metrics are %v", m)
	}
	check.Lacks(t, p.log.String(), "model loaded", "the log")
	check.Same(t, 5, len(recommendTo(t, p.client(t), "nobody", 5).Items), "items of the server")
	p.mustStop(t)
	check.Same(t, before, mustRead(t, path), "the model file")
	return m
}
