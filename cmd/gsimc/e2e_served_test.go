package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/learn/train"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/evaluate"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/spectral"
)

// The served answers are the evaluated ones. A model is trained on the training
// users of movietweetings; a real server with the store on disk takes every
// test user's history through StreamObserve; the place of each user's last item
// in the answer to Recommend must be the rank that evaluate found, user by
// user: for both estimators of the paper's model, and for learned dynamics.
func TestServedAnswersAreTheEvaluatedOnes(t *testing.T) {
	soak.Only(t)
	folder := filepath.Join("..", "..", "..", "shared", "reference", "movietweetings")
	data, splitFile := filepath.Join(folder, "interactions.csv.gz"),
		filepath.Join(folder, "split.csv.gz")
	if _, err := os.Stat(data); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no reference data: ../shared/reference/movietweetings is not beside the repository")
	}
	events, _, err := dataset.Read([]string{data}, dataset.Options{})
	check.Must(t, err)
	split := check.Get(dataset.ReadSplit(splitFile, events))(t)
	part := check.Get(events.Partition(split))(t)
	rank := 200
	if testing.Short() {
		rank = 20
	}
	for _, tt := range []struct {
		name       string
		train      []string // besides data and rank
		spec       func(*model.Spec)
		estimators []model.Estimator
		methods    []evaluate.Method // one for each estimator
	}{
		{
			name: "paper", train: []string{"--filter", "random-walk"}, spec: func(*model.Spec) {},
			estimators: []model.Estimator{model.EstimatorGS, model.EstimatorBGS},
			methods: []evaluate.Method{
				evaluate.Filtered(evaluate.GS, spectral.RandomWalk),
				evaluate.Filtered(evaluate.BGSOnline, spectral.RandomWalk),
			},
		},
		{
			name: "learned dynamics", train: []string{"--window", "0", "--bands", "0,0.5,0.9@720h",
				"--ridge", "1", "--degree-rescale", "0.5", "--degree-exponent", "1"},
			spec: func(s *model.Spec) {
				s.DegreeRescale, s.Local = 0.5, train.Recommended().Local
				s.Dynamics = model.DynamicsSpec{
					Kind: model.DynamicsLearned, Ridge: 1,
					Positions: train.Recommended().Dynamics.Positions, Deviation: true,
					Bands: []kalman.Band{{Rho: 0}, {Rho: 0.5}, {Rho: 0.9, HalfLife: 720 * 3600}},
				}
			},
			estimators: []model.Estimator{model.EstimatorBGS},
			methods:    []evaluate.Method{evaluate.LearnedDynamics()},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			modelFile := filepath.Join(dir, "model.gsimc")
			args := append([]string{"train", "--data", data, "--split", splitFile, "--out",
				modelFile, "--rank", fmt.Sprint(rank), "--seed", "1"}, tt.train...)
			mustRun(t, args...)
			evaluated := evaluatedRanks(t, part, rank, tt.spec, tt.methods)
			for i, estimator := range tt.estimators {
				// evaluate knows no extensions
				server := startServe(t, modelFile, filepath.Join(dir, "state"), "--estimator",
					string(estimator), "--extend-every", "0s")
				conn := server.client(t)
				if i == 0 { // the second server finds the histories on disk
					acked, err := streamEvents(t.Context(), conn, testHistories(events, part), nil)
					if err != nil {
						t.Fatalf("%d events acknowledged, then: %v", acked, err)
					}
					t.Logf("%d events of %d users streamed", acked, part.Test.Len())
				}
				got := servedRanks(t, []grpc.ClientConnInterface{conn}, events, part)
				compareRanks(t, evaluated[i], got)
				server.mustStop(t)
			}
		})
	}
}

// Three servers over a cluster serve what evaluate measures: each event goes to one of them, and
// each user asks all of them.
func TestThreeServersServeTheEvaluatedAnswers(t *testing.T) {
	t.Parallel()
	const rank = 24
	cluster := enginetest.SharedRedis(t, 3, 1)
	dir := t.TempDir()
	data, modelFile := filepath.Join(dir, "events.csv.gz"), filepath.Join(dir, "model.gsimc")
	execute(t, "generate", "--users", "900", "--items", "300", "--events", "25000", "--out", data)
	events, _, err := dataset.Read([]string{data}, dataset.Options{})
	check.Must(t, err)
	split := dataset.SeededSplit(events.NumUsers(), 1)
	execute(t, "train", "--data", data, "--split", writeSplit(t, events, split), "--rank",
		fmt.Sprint(rank), "--seed", "1", "--filter", "random-walk", "--out", modelFile)
	part := check.Get(events.Partition(split))(t)
	want := evaluatedRanks(t, part, rank, func(*model.Spec) {},
		[]evaluate.Method{evaluate.Filtered(evaluate.BGSOnline, spectral.RandomWalk)})
	address := "valkey://" + strings.Join(cluster.Addrs(), ",") + "/" + enginetest.Namespace()
	var conns []grpc.ClientConnInterface
	for range 3 {
		conns = append(conns, startShared(t, modelFile, address, "--extend-every", "0s").client(t))
	}
	for i, e := range testHistories(events, part) {
		check.Get(pb.NewEventServiceClient(conns[i%3]).Observe(t.Context(),
			&pb.ObserveRequest{Event: e}))(t)
	}
	for first := range conns { // each user asks each server
		order := slices.Concat(conns[first:], conns[:first])
		compareRanks(t, want[0], servedRanks(t, order, events, part))
	}
}

// evaluatedRanks runs methods that a server can answer with.
func evaluatedRanks(
	t *testing.T, part *dataset.Partition, rank int, edit func(*model.Spec),
	methods []evaluate.Method,
) []evaluate.Result {
	t.Helper()
	basis, err := spectral.Solve(train.Incidence(part), spectral.Options{
		Graph: spectral.Graph{Kind: spectral.Hypergraph, DegreeExponent: 1}, Rank: rank, Seed: 1})
	check.Must(t, err)
	spec := model.DefaultSpec()
	spec.TrainUsers = int64(part.Train.Len())
	edit(&spec)
	in := evaluate.Ingredients{Basis: basis, Spec: spec}
	results, err := evaluate.Run(part, evaluate.Options{Paper: in, Learned: in, Methods: methods})
	check.Must(t, err)
	return results
}

// testHistories are all events of the test users but their targets, those on
// items that the model does not know included.
func testHistories(d *dataset.Interactions, part *dataset.Partition) []*pb.Event {
	var events []*pb.Event
	for u, user := range part.Test.User {
		items := part.Test.Of(u)
		target := part.Items[items[len(items)-1]]
		for j := d.Ptr[user]; j < d.Ptr[user+1]; j++ {
			item := d.Items[d.Item[j]]
			if item == target {
				continue
			}
			events = append(events, &pb.Event{EventId: fmt.Sprint(j), UserId: d.Users[user],
				ItemId:    item,
				EventTime: &timestamppb.Timestamp{Seconds: d.Time[j]}})
		}
	}
	return events
}

// servedRanks asks one server after the other for the 100 best items of each test user and returns
// the place of the target, 0 where it is not among them.
func servedRanks(
	t *testing.T, conns []grpc.ClientConnInterface, d *dataset.Interactions,
	part *dataset.Partition,
) []int {
	t.Helper()
	ranks := make([]int, part.Test.Len())
	for u, user := range part.Test.User {
		items := part.Test.Of(u)
		a := recommendTo(t, conns[u%len(conns)], d.Users[user], 100)
		if a.Source != pb.ResultSource_RESULT_SOURCE_PERSONALIZED || len(a.Items) != 100 {
			t.Fatalf("user %d: %d items, source %v", u, len(a.Items), a.Source)
		}
		ranks[u] = slices.Index(a.Items, part.Items[items[len(items)-1]]) + 1
	}
	return ranks
}

func compareRanks(t *testing.T, want evaluate.Result, got []int) {
	t.Helper()
	hits := map[int]int{}
	for u, rank := range want.Ranks {
		expected := int(rank)
		if expected > 100 {
			expected = 0
		}
		check.Same(t, expected, got[u], "%v, test user %d: place where it is served", want.Name, u)
		for _, n := range evaluate.Cutoffs {
			if got[u] > 0 && got[u] <= n {
				hits[n]++
			}
		}
	}
	for _, m := range want.Metrics {
		served := float64(hits[m.N]) / float64(len(got))
		t.Logf("%v: HR@%d served %.6f, evaluated %.6f", want.Name, m.N, served, m.HR)
		check.Same(t, m.HR, served, "%v: HR@%d", want.Name, m.N)
	}
}
