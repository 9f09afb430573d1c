package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server"
)

const (
	// modelSuffix ends the names of model files in a folder. Other files, and those whose names
	// begin with a dot as temporary files do, are none.
	modelSuffix = ".gsimc"
	// modelDirPoll is the interval at which the folder is looked at.
	modelDirPoll = time.Second
)

// modelDir is a folder of model files. The newest serves: that of the latest training by its own
// header, so that all servers choose the same. If the newest file cannot be loaded, a server that
// has a model keeps that model, and a server that starts takes the newest file that can be loaded.
// A modelDir is safe for concurrent use.
type modelDir struct {
	dir     string
	log     *slog.Logger
	refused func() // counts a refused file

	mu         sync.Mutex
	known      map[string]modelFile // by name
	tried      *modelFile           // the newest when it was opened last
	unreadable bool                 // the folder could not be read when it was last looked at

	trouble atomic.Pointer[error] // of the one that was opened last; nil: none
}

// modelFile is a file of the folder as it was when its header was read.
type modelFile struct {
	name string
	info fs.FileInfo
	head model.Head
	err  error
}

// same reports whether a file has not changed, nor who may read it.
func (f *modelFile) same(info fs.FileInfo) bool {
	return os.SameFile(f.info, info) && f.info.Size() == info.Size() &&
		f.info.ModTime().Equal(info.ModTime()) && f.info.Mode() == info.Mode()
}

func newModelDir(dir string, log *slog.Logger, refused func()) *modelDir {
	return &modelDir{dir: dir, log: log, refused: refused, known: map[string]modelFile{}}
}

// newestFirst returns the files of models, the newest first. Files whose headers cannot be read are
// told of once and left out. Requires mu.
func (d *modelDir) newestFirst() ([]*modelFile, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, err
	}
	known := make(map[string]modelFile, len(entries))
	var found []*modelFile
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, modelSuffix) {
			continue
		}
		info, err := os.Stat(filepath.Join(d.dir, name))
		if err != nil || !info.Mode().IsRegular() { // removed in this moment, or no file
			continue
		}
		f, seen := d.known[name]
		if !seen || !f.same(info) {
			f = modelFile{name: name, info: info}
			f.head, f.err = model.Stat(filepath.Join(d.dir, name))
			d.tellRefused(f.err, "a file of --model-dir is no model")
		}
		known[name] = f
		if f.err == nil {
			found = append(found, &f)
		}
	}
	d.known = known
	slices.SortStableFunc(found, func(a, b *modelFile) int {
		switch {
		case a.head.Newer(b.head):
			return -1
		case b.head.Newer(a.head):
			return 1
		}
		return 0
	})
	return found, nil
}

func (d *modelDir) tellRefused(err error, what string) {
	if err == nil {
		return
	}
	d.refused()
	d.log.LogAttrs(context.Background(), slog.LevelError, what, slog.String("error", err.Error()))
}

// open opens the newest model, or at the start the newest that can be loaded.
func (d *modelDir) open() (*model.Model, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	files, err := d.newestFirst()
	if err != nil {
		return nil, cli.Flag("--model-dir", cli.PathError(err))
	}
	starts := d.tried == nil
	d.trouble.Store(nil)
	if len(files) == 0 {
		if !starts {
			return nil, cli.Flag("--model-dir", fmt.Errorf("%s: there is no model file any more: "+
				"put one there", d.dir))
		}
		return nil, server.ErrNoModel
	}
	d.tried = files[0]
	m, err := d.load(files[0])
	if err == nil {
		return m, nil
	}
	d.trouble.Store(&err)
	for last, older := err, files[1:]; starts && len(older) > 0; older = older[1:] {
		d.tellRefused(last, "a file of --model-dir cannot be loaded: trying an older one")
		if m, last = d.load(older[0]); last == nil {
			return m, nil
		}
	}
	return nil, err
}

func (d *modelDir) load(f *modelFile) (*model.Model, error) {
	return cli.LoadModel("--model-dir", filepath.Join(d.dir, f.name))
}

// behind returns why a model serves that is not the newest; nil: it is. It never waits.
func (d *modelDir) behind() error {
	if err := d.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// changed reports whether another file is the newest than when one was opened last.
func (d *modelDir) changed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	files, err := d.newestFirst()
	if !d.unreadable {
		d.tellRefused(cli.PathError(err),
			"--model-dir cannot be read: the old model goes on serving")
	}
	d.unreadable = err != nil
	return len(files) > 0 && (d.tried == nil || files[0].name != d.tried.name ||
		!d.tried.same(files[0].info))
}

// watch has the model loaded anew when another file is the newest, until ctx ends.
func (d *modelDir) watch(ctx context.Context, every time.Duration, reload func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if d.changed() {
			reload()
		}
	}
}

// checkModelDir checks the flag beside the others.
func (c *Cmd) checkModelDir() error {
	if c.ModelDir == "" {
		return nil
	}
	var errs []error
	if c.Model != "" {
		errs = append(errs, cli.Flagf("--model-dir", "has no effect with --model, leave one out"))
	}
	if c.RetrainEvery != 0 {
		errs = append(errs, cli.Flagf("--retrain-every", "writes the file of --model, and not to "+
			"--model-dir: train in one place by gsimc train --out DIR/"))
	}
	return errors.Join(errs...)
}
