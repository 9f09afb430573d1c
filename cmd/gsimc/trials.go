package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"

	"github.com/gsimc/gsimc/dataset"
	"github.com/gsimc/gsimc/tune"
)

// trialKey says what trials hold for: others on the same data, split and program are worth the same.
type trialKey struct {
	Data    string `json:"data"`
	Split   string `json:"split"` // hash of the users' roles
	Items   int    `json:"items"` // a hint of the filters of rare users and items
	Seed    uint64 `json:"seed"`
	Version string `json:"version"`
}

func newTrialKey(report *dataset.Report, split dataset.Split, items int, seed uint64) trialKey {
	roles := make([]byte, len(split))
	for u, role := range split {
		roles[u] = byte(role)
	}
	return trialKey{Data: report.Hash, Split: fmt.Sprintf("%x", sha256.Sum256(roles)), Items: items, Seed: seed, Version: buildVersion()}
}

// trialLog keeps the trials of a search in a file, one JSON object a line after the key, so that an interrupted search can go
// on. A line that was cut off by a crash is left out.
type trialLog struct {
	f   *os.File
	err error // the first that happened
}

// openTrials opens the log and returns what it holds; fresh empties it. A log of other data is refused.
func openTrials(path string, key trialKey, fresh bool) (*trialLog, []tune.Trial, error) {
	mode := os.O_RDWR | os.O_CREATE
	if fresh {
		mode |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, mode, 0o644)
	if err != nil {
		return nil, nil, cli.Flag("--out", cli.PathError(err))
	}
	known, end, err := readTrials(f, key)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	l := &trialLog{f: f}
	if end == 0 {
		l.write(key)
	}
	return l, known, nil
}

var errOtherTrials = errors.New("these are not trials on the same events, split, seed and program: give --fresh to begin anew, or another --out")

// readTrials returns the trials and where the last whole one ends.
func readTrials(r io.Reader, key trialKey) (trials []tune.Trial, end int64, err error) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF { // a line without an end was cut off
			return trials, end, nil
		}
		if err != nil {
			return nil, 0, err
		}
		if end == 0 {
			var have trialKey
			if json.Unmarshal(line, &have) != nil || have != key {
				return nil, 0, errOtherTrials
			}
		} else {
			var t tune.Trial
			if err := json.Unmarshal(line, &t); err != nil {
				return nil, 0, fmt.Errorf("not a trial: %w: give --fresh to begin anew", err)
			}
			trials = append(trials, t)
		}
		end += int64(len(line))
	}
}

func (l *trialLog) add(t tune.Trial) { l.write(t) }

func (l *trialLog) write(v any) {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = l.f.Write(append(line, '\n'))
	}
	if l.err == nil {
		l.err = err
	}
}

func (l *trialLog) close() error {
	err := errors.Join(l.err, l.f.Close())
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}
