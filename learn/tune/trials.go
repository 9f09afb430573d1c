package tune

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/dataset"
)

// Key says for which search trials hold. Trials of another key are worth nothing.
type Key struct {
	Data    string `json:"data"`    // dataset.Report.Hash
	Split   string `json:"split"`   // hash of the users' roles
	Items   int    `json:"items"`   // of the training users: the filter of rare items changes it
	Seed    uint64 `json:"seed"`    // Options.Seed
	Version string `json:"version"` // of the program
}

// NewKey returns the key of a search on data with the given hash.
func NewKey(hash string, split dataset.Split, items int, seed uint64, version string) Key {
	roles := make([]byte, len(split))
	for u, role := range split {
		roles[u] = byte(role)
	}
	return Key{
		Data: hash, Split: fmt.Sprintf("%x", sha256.Sum256(roles)), Items: items, Seed: seed,
		Version: version,
	}
}

// Log keeps the trials of a search in a file, so that an interrupted search can go on. The file has
// the key in its first line and a trial in each further one, as JSON. A line that a crash has cut
// off is left out. A Log is not safe for concurrent use.
type Log struct {
	f   *os.File
	err error // the first
}

// OpenLog opens the log at path, or makes it, and returns its trials. fresh empties it. A log of
// another key is a fault of Out.
func OpenLog(path string, key Key, fresh bool) (*Log, []Trial, error) {
	mode := os.O_RDWR | os.O_CREATE
	if fresh {
		mode |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, mode, 0o644)
	if err != nil {
		return nil, nil, &fault.Fault{Field: "Out", Err: err}
	}
	known, end, err := readTrials(f, key)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(fault.In(path, err), f.Close())
	}
	l := &Log{f: f}
	if end == 0 {
		l.write(key)
	}
	return l, known, nil
}

// ErrOtherTrials tells that a log is of another key.
var ErrOtherTrials = errors.New("these trials are of other events, split, seed or program")

// advice tells the ways out of a log that cannot be used.
var advice = []fault.Change{
	{Verb: "begin anew with", Field: "Fresh"}, {Verb: "change", Field: "Out"},
}

// readTrials returns the trials and the end of the last whole one.
func readTrials(r io.Reader, key Key) (trials []Trial, end int64, err error) {
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
			var have Key
			if json.Unmarshal(line, &have) != nil || have != key {
				return nil, 0, &fault.Fault{Field: "Out", Err: ErrOtherTrials, Advice: advice}
			}
		} else {
			var t Trial
			if err := json.Unmarshal(line, &t); err != nil {
				return nil, 0, &fault.Fault{
					Field: "Out", Problem: "not a trial:", Err: err, Advice: advice,
				}
			}
			trials = append(trials, t)
		}
		end += int64(len(line))
	}
}

// Add writes a trial. An error shows in Close.
func (l *Log) Add(t Trial) { l.write(t) }

func (l *Log) write(v any) {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = l.f.Write(append(line, '\n'))
	}
	if l.err == nil {
		l.err = err
	}
}

// Close closes the file and returns the first error of all calls.
func (l *Log) Close() error { return errors.Join(l.err, l.f.Close()) }
