package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gsimc/gsimc/train"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server"
	"github.com/gsimc/gsimc/store"
)

// retrainFlags have a server learn a new model from its own histories from time to time.
type retrainFlags struct {
	RetrainEvery time.Duration `group:"Retraining:" default:"0s" help:"Learn a new model from the histories in the store after so much time, such as 24h, with the constants of the serving one, and serve it if it is not worse on the latest events. 0s: never."`
	RetrainCPUs  int           `group:"Retraining:" name:"retrain-cpus" default:"0" help:"Cores that the training may use; it yields to the server. 0: half of them."`
}

func (f *retrainFlags) check(storeKind string) error {
	var errs []error
	if f.RetrainEvery != 0 && f.RetrainEvery < time.Second {
		errs = append(errs, fmt.Errorf("--retrain-every: %s, want 0s or at least 1s", f.RetrainEvery))
	}
	if f.RetrainEvery != 0 && storeKind != "pebble" {
		errs = append(errs, errors.New("--retrain-every: histories that are kept in memory cannot be learned from, want --store pebble"))
	}
	if f.RetrainCPUs < 0 {
		errs = append(errs, fmt.Errorf("--retrain-cpus: %d, want 0 or more", f.RetrainCPUs))
	}
	return errors.Join(errs...)
}

// cpus is the number of cores for a training on a machine that has so many.
func (f *retrainFlags) cpus(cores int) int {
	if f.RetrainCPUs > 0 {
		return min(f.RetrainCPUs, cores)
	}
	return max(cores/2, 1)
}

// retrainer runs trainings as processes of their own, so that what they need of memory and time is not the server's, and
// lets what they make serve if it is good.
type retrainer struct {
	every     time.Duration
	exe       string
	cpus      int
	model     string // the serving model's file
	dataDir   string
	flags     []string // of the training, that come from those of the server
	store     store.Checkpointer
	server    modelServer
	log       *slog.Logger
	retrained func(server.Retraining) // counts
}

// modelServer is what a retrainer needs of a server.
type modelServer interface {
	ModelVersion() string
	Reload(ctx context.Context) error
}

// newRetrainer returns nil if there is nothing to do. It finds out now, not in a day, that the model cannot be replaced.
func (c *serveCmd) newRetrainer(st store.Store, s *server.Server, cfg *server.Config) (*retrainer, error) {
	copier, ok := st.(store.Checkpointer)
	if c.RetrainEvery == 0 || !ok {
		return nil, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("--retrain-every: %w", err)
	}
	// The file that a link points to is replaced, not the link.
	path, err := filepath.EvalSymlinks(c.Model)
	if err != nil {
		return nil, fmt.Errorf("--model: %w", pathError(err))
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".gsimc-probe-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return nil, fmt.Errorf("--retrain-every: the folder of --model must be writable: %w", pathError(err))
	}
	flags := []string{"--estimator", c.Estimator}
	for _, t := range slices.Sorted(maps.Keys(c.EventWeight)) {
		flags = append(flags, "--event-weight", fmt.Sprintf("%s=%v", t, c.EventWeight[t]))
	}
	return &retrainer{
		every: c.RetrainEvery, exe: exe, cpus: c.cpus(runtime.NumCPU()), model: path, dataDir: c.DataDir, flags: flags,
		store: copier, server: s, log: cfg.Logger, retrained: cfg.Metrics.Retrained,
	}, nil
}

// run retrains until ctx ends. The time between trainings is that from the end of one to the start of the next.
func (r *retrainer) run(ctx context.Context) {
	r.clean() // after an earlier server that was killed
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.every):
			r.once(ctx)
		}
	}
}

// once trains, compares and swaps. Whatever goes wrong leaves everything as it was.
func (r *retrainer) once(ctx context.Context) {
	began := time.Now()
	r.log.Info("retraining", slog.Int("cpus", r.cpus))
	got, outcome, err := r.attempt(ctx)
	if ctx.Err() != nil {
		r.log.Info("retraining stopped")
		return
	}
	done := server.Retraining{Outcome: outcome, Took: time.Since(began)}
	attrs := []slog.Attr{slog.Float64("duration_ms", float64(done.Took.Microseconds())/1e3)}
	if c := got.Comparison; c != nil {
		done.Compared, done.RecallOld, done.RecallNew = true, c.Old, c.New
		attrs = append(attrs, slog.String("version", got.Version), slog.Int("events", c.Users),
			slog.Int("events_left_out", c.LeftOut), slog.Int("recall_at", c.N),
			slog.Float64("recall_old", c.Old), slog.Float64("recall_new", c.New),
			slog.Float64("difference", c.Difference), slog.Float64("difference_stderr", c.DifferenceErr))
	}
	r.retrained(done)
	level, message := slog.LevelInfo, "retrained: the new model serves"
	switch outcome {
	case server.RetrainKept:
		level, message = slog.LevelWarn, "retrained: the new model is worse on the latest events, the old one goes on serving"
	case server.RetrainSuperseded:
		message = "retrained: another model was loaded meanwhile and goes on serving"
	case server.RetrainSkipped:
		message = "not retrained: too few new events to judge a new model by"
		attrs = append(attrs, slog.String("reason", err.Error()))
	case server.RetrainFailed:
		level, message = slog.LevelError, "retraining failed, the old model goes on serving"
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	r.log.LogAttrs(ctx, level, message, attrs...)
}

// attempt is once without the reports. The error belongs to RetrainFailed and RetrainSkipped.
func (r *retrainer) attempt(ctx context.Context) (got train.Summary, outcome string, err error) {
	fresh := r.fresh()
	defer r.clean()
	got, err = r.train(ctx, fresh)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitTooFew {
		return got, server.RetrainSkipped, err
	}
	if err != nil {
		return got, server.RetrainFailed, err
	}
	if got.Comparison == nil {
		return got, server.RetrainFailed, errors.New("the training compared nothing")
	}
	switch {
	case got.Comparison.OldVersion != r.server.ModelVersion():
		return got, server.RetrainSuperseded, nil
	case got.Comparison.Worse:
		return got, server.RetrainKept, nil
	}
	if err := r.swap(ctx, fresh); err != nil {
		return got, server.RetrainFailed, err
	}
	return got, server.RetrainSwapped, nil
}

// fresh is the file that a training writes.
func (r *retrainer) fresh() string { return r.model + ".retrained" }

// rollback is the name that the old model's file has besides while the new one is loaded. It is hidden and says whose it is,
// as what has it is removed.
func (r *retrainer) rollback() string {
	dir, name := filepath.Split(r.model)
	return filepath.Join(dir, "."+name+".gsimc-retrain-rollback")
}

// clean removes what a training may have left: its file, complete or not. It is gone already if the new model serves.
func (r *retrainer) clean() {
	dir, name := filepath.Split(r.fresh())
	_ = os.Remove(r.fresh())
	entries, _ := os.ReadDir(filepath.Clean(dir)) // what cannot be listed is left
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+name+".") && strings.HasSuffix(e.Name(), ".tmp") {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// train runs a training on a checkpoint of the store and returns what it says of itself.
func (r *retrainer) train(ctx context.Context, out string) (got train.Summary, err error) {
	dir, err := r.store.Checkpoint(ctx)
	if err != nil {
		return got, err
	}
	// The copy goes even if the server is on its way out.
	defer func() { err = errors.Join(err, r.store.RemoveCheckpoint(context.WithoutCancel(ctx), dir)) }()
	args := append([]string{"--quiet", "train", "--from-store", filepath.Join(r.dataDir, dir),
		"--like", r.model, "--compare", r.model, "--out", out, "--json"}, r.flags...)
	cmd := exec.CommandContext(ctx, r.exe, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = r.environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	if err := runInBackground(cmd); err != nil {
		return got, fmt.Errorf("gsimc train: %w: %s", err, lastLine(stderr.String()))
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		return got, fmt.Errorf("gsimc train: its summary cannot be read: %w", err)
	}
	return got, nil
}

// environment is that of a training: the settings of the server are not its own.
func (r *retrainer) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, envPrefix) || strings.HasPrefix(entry, "GOMAXPROCS=") ||
			strings.HasPrefix(entry, "SOURCE_DATE_EPOCH=")
	})
	return append(env, "GOMAXPROCS="+strconv.Itoa(r.cpus))
}

// swap gives the new file the name of the serving model's and has it loaded. If it is refused, the old file gets its name back.
func (r *retrainer) swap(ctx context.Context, fresh string) error {
	m, err := model.Open(fresh)
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		return err
	}
	previous := r.rollback()
	if err := os.Remove(previous); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Link(r.model, previous); err != nil {
		return err
	}
	if err := os.Rename(fresh, r.model); err != nil {
		return errors.Join(err, os.Remove(previous))
	}
	if err := r.server.Reload(ctx); err != nil {
		return errors.Join(err, os.Rename(previous, r.model))
	}
	return os.Remove(previous)
}

// lastLine is the last line with something in it.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
