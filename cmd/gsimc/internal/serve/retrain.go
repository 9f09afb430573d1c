package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/stores"
	"github.com/gsimc/gsimc/learn/retrain"
	"github.com/gsimc/gsimc/server"
	"github.com/gsimc/gsimc/store"
)

// retrainFlags have a server learn a new model from its own histories from time to time.
type retrainFlags struct {
	RetrainEvery time.Duration `group:"Retraining:" default:"0s" help:"Age of the model at which a new one is learned from the histories in the store, such as 24h. It keeps the constants of the old model, and is served unless it is worse on the latest events; the first one is learned as soon as there are enough events, with the defaults of train. 0s: never."`
	RetrainCPUs  int           `group:"Retraining:" name:"retrain-cpus" default:"0" help:"Cores for the training, which yields to the server. 0: half of them."`
}

func (f *retrainFlags) check(storeFlag string) error {
	var errs []error
	if f.RetrainEvery != 0 && f.RetrainEvery < time.Second {
		errs = append(errs, cli.Flagf("--retrain-every", "%s, want 0s or at least 1s",
			f.RetrainEvery))
	}
	switch {
	case f.RetrainEvery == 0 || stores.OnDisk(storeFlag):
	case stores.Shared(storeFlag):
		errs = append(errs, cli.Flagf("--retrain-every", "each server would learn a model of its "+
			"own from a store that servers share: train in one place, and give all the file"))
	default:
		errs = append(errs, cli.Flagf("--retrain-every",
			"histories that are kept in memory cannot be learned from, want --store pebble"))
	}
	if f.RetrainCPUs < 0 {
		errs = append(errs, cli.Flagf("--retrain-cpus", "%d, want 0 or more", f.RetrainCPUs))
	}
	return errors.Join(errs...)
}

// cpus returns the number of cores for a training on a machine with this number of cores.
func (f *retrainFlags) cpus(cores int) int {
	if f.RetrainCPUs > 0 {
		return min(f.RetrainCPUs, cores)
	}
	return max(cores/2, 1)
}

// newRetrainer returns nil if there is nothing to do. It finds out now, not in a day, that the
// model cannot be replaced.
func (c *Cmd) newRetrainer(
	st store.Store, s *server.Server, cfg *server.Config,
) (*retrain.Loop, error) {
	copier, ok := st.(store.Checkpointer)
	if c.RetrainEvery == 0 || !ok {
		return nil, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, cli.Flag("--retrain-every", err)
	}
	flags := []string{"--estimator", c.Estimator}
	cpus := c.cpus(runtime.NumCPU())
	return retrain.New(retrain.Config{
		Every: c.RetrainEvery, Model: c.modelFile(), DataDir: c.DataDir, Store: copier, Server: s,
		Log: cfg.Logger,
		Command: func(ctx context.Context, t retrain.Training) *exec.Cmd {
			args := append([]string{"--quiet", "train", "--from-store", t.Checkpoint,
				"--out", t.Out, "--json"}, flags...)
			weights := s.EventWeights() // those of a file may have changed
			for _, t := range slices.Sorted(maps.Keys(weights)) {
				args = append(args, "--event-weight", fmt.Sprintf("%s=%v", t, weights[t]))
			}
			if t.Like != "" {
				args = append(args, "--like", t.Like, "--compare", t.Like)
			}
			cmd := exec.CommandContext(ctx, exe, args...)
			cmd.Env = trainingEnvironment(cpus)
			return cmd
		},
		Done: func(a retrain.Attempt) {
			done := server.Retraining{Outcome: a.Outcome, Took: a.Took}
			if a.Outcome == retrain.Swapped || a.Outcome == retrain.Kept {
				done.Ended = time.Now()
			}
			if c := a.Summary.Comparison; c != nil {
				done.Compared, done.RecallOld, done.RecallNew = true, c.Old, c.New
			}
			cfg.Metrics.Retrained(done)
		},
	})
}

// trainingEnvironment is that of a training on a number of cores: the settings of the server are
// not its own.
func trainingEnvironment(cpus int) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, cli.EnvPrefix) || strings.HasPrefix(entry, "GOMAXPROCS=") ||
			strings.HasPrefix(entry, "SOURCE_DATE_EPOCH=")
	})
	return append(env, "GOMAXPROCS="+strconv.Itoa(cpus))
}
