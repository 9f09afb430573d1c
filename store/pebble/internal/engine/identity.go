package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/gsimc/gsimc/store/pebble/internal/mark"
)

// readMark reads the mark beside the engine.
func (e *Engine) readMark() error {
	m, found, err := mark.Read(e.fs, e.dir)
	if errors.Is(err, mark.ErrDamaged) {
		if e.opts.AcceptLoss {
			return nil
		}
		return &mark.LossError{Kind: mark.Unknown}
	}
	if found {
		e.marked = &m
	}
	return err
}

// dataThere reports whether the folder of the engine's files is there. It is an error if it is
// missing, or empty, and the mark says that there were commits in it.
func (e *Engine) dataThere() (bool, error) {
	state, err := inspectDir(e.fs, e.dir)
	if err != nil {
		return false, err
	}
	kind := mark.Gone
	if state == dirStore {
		empty, err := e.dataEmpty()
		if err != nil || !empty {
			return true, err
		}
		kind = mark.Emptied
	}
	lost := e.marked != nil && e.marked.Commit > 0
	switch {
	case lost && !e.opts.AcceptLoss:
		return false, &mark.LossError{Kind: kind, Marked: *e.marked}
	case kind == mark.Emptied && !e.opts.AcceptLoss:
		return true, nil // opening says what is missing
	case kind == mark.Emptied:
		return false, e.fs.RemoveAll(e.fs.PathJoin(e.dir, DataName))
	}
	return false, nil
}

// dataEmpty reports whether no file of the engine is left.
func (e *Engine) dataEmpty() (bool, error) {
	names, err := e.fs.List(e.fs.PathJoin(e.dir, DataName))
	return !slices.ContainsFunc(names, func(name string) bool { return name != LockName }), err
}

// CheckMark compares the mark with the id and the last commit that were found in the engine. The
// error is a [*mark.LossError]. Without a mark, as beside an older copy, there is nothing to
// compare.
func (e *Engine) CheckMark(id mark.ID, commit uint64) error {
	if e.marked == nil || e.opts.AcceptLoss {
		return nil
	}
	return e.marked.Check(id, commit)
}

// Unbroken reports whether the engine was opened with a mark that its id and last commit fit, and
// with all files that its seal names, so that it has all that it acknowledged, as far as can be
// told.
func (e *Engine) Unbroken(id mark.ID, commit uint64) bool {
	return e.marked != nil && e.marked.Check(id, commit) == nil && !e.unsealed
}

// Marked returns the mark that was found at the opening, or nil.
func (e *Engine) Marked() *mark.Mark { return e.marked }

// KeepMark begins to keep the mark of an engine with this id, last commit and number of users. What
// the mark said before is forgotten if it does not fit.
func (e *Engine) KeepMark(id mark.ID, commit uint64, users int64) error {
	counted := users >= 0
	if e.marked == nil || e.marked.Check(id, commit) != nil || (e.marked.Users >= 0) != counted {
		m := mark.Mark{ID: id, Commit: commit, Users: users, At: time.Now()}
		if err := mark.Write(e.fs, e.dir, m); err != nil {
			return err
		}
	}
	keeper, err := mark.Keep(e.fs, e.dir, e.opts.MarkEvery, e.opts.MarkFailed)
	e.keeper = keeper
	return err
}

// Durable notes that all commits up to a number are durable, and how many users there are then.
func (e *Engine) Durable(commit uint64, users int64) { e.keeper.Durable(commit, users) }

// AcceptsLoss reports whether the engine was opened to go on without what is missing.
func (e *Engine) AcceptsLoss() bool { return e.opts.AcceptLoss }
