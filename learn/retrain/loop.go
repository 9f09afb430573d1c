package retrain

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/store"
)

// Server is the part of a server that a loop needs.
type Server interface {
	// ModelVersion returns the version of the serving model; empty if there is none yet.
	ModelVersion() string
	// Reload loads the model file again and has it serve. After an error the old model goes on
	// serving.
	Reload(ctx context.Context) error
}

// Training is the place of one training.
type Training struct {
	Checkpoint string // data folder of the copied store, to read events from
	// Like is the file of the serving model, to be trained like and to be compared with. Empty:
	// there is none.
	Like string
	Out  string // file to write the new model to
}

// Config says what a loop retrains.
type Config struct {
	// Every is the age at which the serving model is trained again, and the time from the end of
	// one attempt to the start of the next. The first model is tried for sooner.
	Every   time.Duration
	Model   string // file of the serving model
	DataDir string // data folder of Store
	Store   store.Checkpointer
	Server  Server

	// Command returns the command that runs a training and prints its train.Summary as JSON on
	// standard output. The loop sets its streams and how it is ended.
	Command func(ctx context.Context, t Training) *exec.Cmd

	Log  *slog.Logger
	Done func(Attempt) // called at the end of every attempt that was not stopped; may be nil
}

// Outcomes of an attempt.
const (
	Swapped    = "swapped"    // the new model serves
	Kept       = "kept"       // the new model is worse, the old one serves
	Superseded = "superseded" // a third model was loaded meanwhile
	Skipped    = "skipped"    // too few events to learn from, or too few new ones to compare on
	Failed     = "failed"     // there is no new model
)

// Outcomes returns all outcomes.
func Outcomes() []string { return []string{Swapped, Kept, Superseded, Skipped, Failed} }

// Attempt is one finished attempt.
type Attempt struct {
	Outcome string
	Took    time.Duration // from the checkpoint to the end
	Summary train.Summary // of the training, as far as it came
	First   bool          // there was no model before
	Err     error         // why the outcome is Skipped or Failed
}

// Loop retrains from time to time. Make one with [New].
type Loop struct {
	cfg   Config
	model string // the file itself, where cfg.Model is a link
}

// New returns a loop. It is a fault of Model if the file cannot be replaced: this shows now rather
// than at the end of the first training. The file that a link points to is replaced, not the link.
// A file that does not exist is made by the first training.
func New(cfg Config) (*Loop, error) {
	path, err := filepath.EvalSymlinks(cfg.Model)
	if errors.Is(err, fs.ErrNotExist) {
		path, err = cfg.Model, nil
	}
	if err != nil {
		return nil, &fault.Fault{Field: "Model", Err: fault.Cause(err)}
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".gsimc-probe-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return nil, &fault.Fault{
			Field: "Model", Problem: "its folder " + filepath.Dir(path) +
				" must be writable to retrain:", Err: fault.Cause(err),
		}
	}
	return &Loop{cfg: cfg, model: path}, nil
}

// Run makes attempts until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	l.clean() // after an earlier server that was killed
	l.pace(ctx, l.once)
}

// once makes an attempt and reports it.
func (l *Loop) once(ctx context.Context) (few bool) {
	began := time.Now()
	l.cfg.Log.Info("retraining")
	a := l.attempt(ctx)
	if ctx.Err() != nil {
		l.cfg.Log.Info("retraining stopped")
		return false
	}
	a.Took = time.Since(began)
	if l.cfg.Done != nil {
		l.cfg.Done(a)
	}
	a.log(ctx, l.cfg.Log)
	return a.Outcome == Skipped
}

// attempt trains, compares and swaps.
func (l *Loop) attempt(ctx context.Context) (a Attempt) {
	defer l.clean()
	a.First = l.cfg.Server.ModelVersion() == ""
	a.Summary, a.Err = l.train(ctx, a.First)
	switch few := new(train.TooFewError); {
	case errors.As(a.Err, &few):
		a.Outcome = Skipped
		return a
	case a.Err != nil:
		a.Outcome = Failed
		return a
	}
	switch c := a.Summary.Comparison; {
	case !a.First && c == nil:
		a.Outcome, a.Err = Failed, errors.New("the training compared nothing")
	case a.First && l.cfg.Server.ModelVersion() != "",
		!a.First && c.OldVersion != l.cfg.Server.ModelVersion():
		a.Outcome = Superseded
	case !a.First && c.Worse:
		a.Outcome = Kept
	default:
		a.Outcome = Swapped
		if a.Err = l.swap(ctx, l.fresh()); a.Err != nil {
			a.Outcome = Failed
		}
	}
	return a
}
