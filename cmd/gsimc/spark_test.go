package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/ranking"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/model"
)

// sparkLimit is the longest time that the tests of deploy/spark may take.
const sparkLimit = 15 * time.Minute

// python is the environment of the tests of deploy/spark.
type python struct {
	dir string // deploy/spark
	bin string // of the environment
}

// newPython makes the environment unless it is there. It skips the test where something is missing.
func newPython(t *testing.T) *python {
	t.Helper()
	if os.Getenv("GSIMC_SPARK") == "" {
		t.Skip("takes minutes and fetches packages of Python: run make spark-test")
	}
	for _, tool := range []string{"python3", "java"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := check.Get(filepath.Abs(filepath.Join("..", "..", "deploy", "spark")))(t)
	p := &python{dir: dir, bin: filepath.Join(dir, ".venv", "bin")}
	for _, args := range [][]string{
		{"python3", "-m", "venv", filepath.Join(dir, ".venv")},
		{filepath.Join(p.bin, "pip"), "install", "--quiet", "--requirement",
			filepath.Join(dir, "requirements.txt")},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0],
			args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("the packages of Python cannot be had: %v\n%s", err, out)
		}
	}
	return p
}

// run runs a program of the environment and returns what it printed on standard output. Each of
// its threads and processes keeps to one processor.
func (p *python) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sparkLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "PATH="+p.bin+":"+os.Getenv("PATH"),
		"PYSPARK_PYTHON="+filepath.Join(p.bin, "python"), "SPARK_LOCAL_IP=127.0.0.1",
		"SPARK_LOCAL_DIRS="+t.TempDir(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
		"PYTHONDONTWRITEBYTECODE=1")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		said := errs.String()
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out,
			said[max(0, len(said)-4000):])
	}
	return string(out)
}

// The masters of the tests: two executors of a processor each, as a cluster has them, and the
// driver alone.
const (
	twoExecutors = "local-cluster[2,1,2048]"
	oneProcess   = "local[2]"
)

// submit runs the job. Plans of SQL that change while they run, and code that is compiled for each,
// take longer than tables of this size.
func (p *python) submit(t *testing.T, master string, args ...string) string {
	t.Helper()
	return p.run(t, "spark-submit", append([]string{
		"--master", master, "--driver-memory", "2g",
		"--conf", "spark.executor.memory=1500m", "--conf", "spark.ui.enabled=false",
		"--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1",
		"--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.sql.adaptive.enabled=false",
		"--conf", "spark.sql.codegen.wholeStage=false", filepath.Join(p.dir, "train_spectrum.py"),
	}, args...)...)
}

// TestSparkNumerics runs the tests of the Python code that need no Spark.
func TestSparkNumerics(t *testing.T) {
	newPython(t).run(t, "python", "-m", "unittest")
}

// sparkData returns events, and a file with the roles of their users for the seed 1.
func sparkData(t *testing.T) (name, events, roles string, p *dataset.Partition) {
	t.Helper()
	dir := t.TempDir()
	name, events = "amazon-games", filepath.Join("..", "..", "..", "shared", "data",
		"amazon-games", "interactions.csv.gz")
	if _, err := os.Stat(events); err != nil {
		name, events = "a synthetic catalogue", filepath.Join(dir, "events.csv.gz")
		mustRun(t, "generate", "--users", "5000", "--items", "1500", "--events", "150000", "--out",
			events)
		t.Log("../shared/data/amazon-games is not beside the repository")
	}
	events = check.Get(filepath.Abs(events))(t)
	d, _, err := dataset.Read([]string{events}, dataset.Options{})
	check.Must(t, err)
	split := dataset.SeededSplit(d.NumUsers(), 1)
	roles = writeSplit(t, d, split)
	p = check.Get(d.Partition(split))(t)
	return name, events, roles, p
}

// TestSparkTrainsAlike trains on two executors and in one process, from the same events and roles,
// and compares the models: eigenvalues, read-outs, and the lists of the test users.
func TestSparkTrainsAlike(t *testing.T) {
	py := newPython(t)
	name, events, roles, part := sparkData(t)
	dir := t.TempDir()
	lake, direct := filepath.Join(dir, "lake.gsimc"), filepath.Join(dir, "direct.gsimc")

	begin := time.Now()
	job := py.submit(t, twoExecutors, "--data", events, "--split", roles, "--rank", "100",
		"--out", filepath.Join(dir, "spectrum"))
	onSpark := time.Since(begin)
	begin = time.Now()
	printed := mustRun(t, "train", "--from-spectrum",
		filepath.Join(dir, "spectrum", "spectrum.safetensors"), "--data",
		filepath.Join(dir, "spectrum", "sample.parquet"), "--out", lake)
	finishing := time.Since(begin)
	begin = time.Now()
	mustRun(t, "train", "--data", events, "--split", roles, "--rank", "100", "--out", direct)
	t.Logf("%s, k = 100\n%s\n%s\non Spark %.0f s, finished in %.1f s; gsimc train alone %.1f s",
		name, job, printed, onSpark.Seconds(), finishing.Seconds(), time.Since(begin).Seconds())

	py.compareModels(t, direct, lake)
	compareLists(t, direct, lake, evaluatedHits(t, events, roles, part), part)
}

// compareModels compares the numbers of two models of the same users.
func (p *python) compareModels(t *testing.T, direct, lake string) {
	t.Helper()
	var far map[string]float64
	script := check.Get(filepath.Abs(filepath.Join("testdata", "compare_models.py")))(t)
	text := p.run(t, "python", script, direct, lake)
	decode(t, text, &far)
	t.Logf("differences: %s", text)
	for figure, most := range map[string]float64{
		"kappa": 1e-6, "kappa_each": 1e-6, "readout": 1e-4, "mean": 1e-4, "subspace": 1e-6,
		"degrees": 0, "scale": 1e-12,
	} {
		if x, found := far[figure]; !found || !(x <= most) {
			t.Errorf("%s differs by %v, want at most %v", figure, x, most)
		}
	}
	if far["local_pairs"] < 0.999 {
		t.Errorf("%.4f of the local graph is in common, want 0.999", far["local_pairs"])
	}
}

// awkwardEvents writes events with weights, repeated items, equal times, bad rows, and ids with
// quotes and letters beyond ASCII, and the roles of their users. It returns the number of bad rows.
func awkwardEvents(t *testing.T, events, roles string) (bad int) {
	t.Helper()
	const users, items = 1500, 400
	rng := rand.New(rand.NewPCG(74, 1))
	text, role := []byte("who,what,at,much\n"), []byte("user_id,role\n")
	for u := range users {
		name := fmt.Sprintf("\"u \"\"%d\"\", é\"", u)
		role = fmt.Appendf(role, "%s,%s\n", name, []string{"train", "train", "train", "validation",
			"test"}[rng.IntN(5)])
		at, place := 1_600_000_000+rng.IntN(1e7), rng.IntN(items)
		for range 1 + rng.IntN(40) {
			if at += rng.IntN(3) * rng.IntN(200_000); rng.IntN(4) == 0 {
				place = int(rng.Float64() * rng.Float64() * items)
			}
			place = (place + rng.IntN(7)) % items
			text = fmt.Appendf(text, "%s,%s%d,%d000,%.2f\n", name,
				[]string{"a", "B", "é"}[place%3], place, at, 0.5+rng.Float64())
		}
		if u%100 == 0 {
			text = fmt.Appendf(text, "%s,,%d000,1\n%s,a1,soon,1\n%s,a1,%d000,0\n", name, at, name,
				name, at)
			bad += 3
		}
	}
	write(t, events, string(text))
	write(t, roles, string(role))
	return bad
}

// TestSparkPreparesAlike: events with all that a preparation has to deal with, and other settings
// than the defaults, give the model of gsimc train too.
func TestSparkPreparesAlike(t *testing.T) {
	py, dir := newPython(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	bad := awkwardEvents(t, in("events.csv"), in("roles.csv"))
	form := []string{"--data", in("events.csv"), "--user-column", "who", "--item-column", "what",
		"--time-column", "at", "--weight-column", "much", "--time-unit", "ms", "--max-bad-rows",
		strconv.Itoa(bad), "--min-user-events", "3", "--min-item-events", "4", "--split",
		in("roles.csv"), "--rank", "20", "--window", "8", "--degree-exponent", "0.9",
		"--degree-rescale", "0.5", "--bands", "0,0.6@300h,0.9", "--positions", "12",
		"--local-neighbours", "5"}
	t.Log(py.submit(t, oneProcess, append([]string{"--out", dir, "--partitions", "3"}, form...)...))
	mustRun(t, "train", "--from-spectrum", in("spectrum.safetensors"), "--data",
		in("sample.parquet"), "--out", in("lake.gsimc"))
	mustRun(t, append([]string{"train", "--out", in("direct.gsimc")}, form...)...)
	py.compareModels(t, in("direct.gsimc"), in("lake.gsimc"))
	for _, key := range []string{"last_event", "min_user_events", "min_item_events"} {
		if a, b := provenance(t, in("direct.gsimc"), key), provenance(t, in("lake.gsimc"),
			key); a != b {
			t.Errorf("%s is %q, want %q", key, b, a)
		}
	}
}

// evaluatedHits is the number of test users whose last item gsimc evaluate finds among the first
// ten.
func evaluatedHits(t *testing.T, events, roles string, p *dataset.Partition) int {
	t.Helper()
	table := mustRun(t, "evaluate", "--data", events, "--split", roles, "--rank", "100",
		"--methods", "dynamics", "--json")
	m := regexp.MustCompile(`"hr@10": ([0-9.e-]+)`).FindStringSubmatch(table)
	if m == nil {
		t.Fatalf("gsimc evaluate printed no hr@10: %s", table)
	}
	var hr float64
	check.Must(t, json.Unmarshal([]byte(m[1]), &hr))
	return int(hr*float64(p.Test.Len()) + 0.5)
}

// compareLists compares the lists of two models for the test users: the hits of their last items,
// which are those of gsimc evaluate, and the items of the first ten places.
func compareLists(t *testing.T, direct, lake string, evaluated int, p *dataset.Partition) {
	t.Helper()
	var models [2]*model.Model
	for i, path := range []string{direct, lake} {
		m := check.Get(model.Open(path))(t)
		defer m.Close()
		models[i] = m
	}
	tested := &dataset.Partition{Items: p.Items, Train: p.Train, Validation: p.Test}
	var hits [2]int
	for i, m := range models {
		result, _ := evaluate.OnValidation(m, tested, 0)
		for _, rank := range result.Ranks {
			if rank <= 10 {
				hits[i]++
			}
		}
	}
	common, same := 0, 0
	for u := range p.Test.Len() {
		h := train.History(&p.Test, u)
		one, other := firstTen(models[0], h[:len(h)-1]), firstTen(models[1], h[:len(h)-1])
		alike := true
		for i := range one {
			alike = alike && one[i].Item == other[i].Item
			for j := range other {
				if one[i].Item == other[j].Item {
					common++
				}
			}
		}
		if alike {
			same++
		}
	}
	users := p.Test.Len()
	share := float64(common) / float64(10*users)
	t.Logf("%d test users: hits %d by gsimc evaluate, %d by gsimc train, %d by Spark; %.4f %% of "+
		"the first ten in common, %d lists in the same order", users, evaluated, hits[0], hits[1],
		100*share, same)
	if hits[0] != evaluated || hits[1] < hits[0]-1 || hits[1] > hits[0]+1 {
		t.Errorf("hits %v, want %d, within one", hits, evaluated)
	}
	if share < 0.999 {
		t.Errorf("%.3f %% of the first ten places are in common, want 99.9", 100*share)
	}
}

// firstTen returns the list after a history, without its items.
func firstTen(m *model.Model, h model.History) []ranking.Scored {
	s, q, seen := m.NewState(), m.NewQuery(), ranking.NewSet(m.NumItems())
	for _, e := range h {
		m.Fold(s, e)
		seen.Add(e.Item)
	}
	m.QueryTo(q, s, model.EstimatorBGS)
	return m.TopN(nil, q, 10, seen)
}
