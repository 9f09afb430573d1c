package pebble

import (
	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/plan"
	"github.com/gsimc/gsimc/store/pebble/internal/recent"
	"github.com/gsimc/gsimc/store/pebble/internal/row"
)

// planner decides for the records of a call whether they are new. It belongs to the committer.
type planner struct {
	histories *recent.Histories
	reader    reader
	editor    *recent.Editor
	stages    []prefetch.Stage

	call  *call
	grown bool // by the call: the memory of the histories
}

// How many records ahead of its planning each step of loading a history begins: the history, and
// then the memory that it shows the way to.
const (
	historyAhead = 8
	tailAhead    = 4
)

func newPlanner(histories *recent.Histories, reader reader, editor *recent.Editor) *planner {
	p := &planner{histories: histories, reader: reader, editor: editor}
	p.stages = []prefetch.Stage{
		{Distance: historyAhead, Begin: func(i int) { editor.Fetch(p.call.handles[i]) }},
		{Distance: tailAhead, Begin: func(i int) {
			editor.FetchTail(p.call.handles[i], p.call.hashes[i])
		}},
	}
	return p
}

// plan decides which records are new and writes these to the open row of the journal. On an error
// everything is as it was.
func (p *planner) plan(call *call) error {
	p.call = call
	defer func() { p.call = nil }() // the records are the caller's again
	if err := p.find(); err != nil {
		return err
	}
	p.grown = call.fetched
	defer p.trim()
	p.editor.Begin()
	if err := plan.Make(p, call.records, call.results, p.stages...); err != nil {
		p.editor.Undo() // an error of the disk, perhaps, which may be over when it is tried again
		return err
	}
	p.editor.Keep()
	return nil
}

// find looks up the histories that were not in memory, or are not any more. If one is missing, it
// asks the caller to read it, once.
func (p *planner) find() error {
	c := p.call
	for i, found := range c.handles {
		user := c.records[i].User
		h := p.editor.Present(found, user)
		if h == nil && !c.fetched && (i == 0 || c.records[i-1].User != user) {
			c.missing = append(c.missing, user)
		}
		c.handles[i] = h
	}
	if len(c.missing) > 0 {
		return errRetry
	}
	return nil
}

// trim keeps the bound if histories, or their ids, have come into memory, even if no event is new.
func (p *planner) trim() {
	if !p.grown {
		return
	}
	for i := range p.call.records {
		p.editor.Trim(p.call.records[i].User)
	}
}

// history returns the history of record i, with its ids.
func (p *planner) history(i int) (*recent.History, error) {
	h := p.call.handles[i]
	if h == nil {
		user := p.call.records[i].User
		if h = p.histories.Get(user); h == nil { // an earlier record may have read it
			loaded, err := p.reader.load(user)
			if err != nil {
				return nil, err
			}
			h = p.editor.Put(loaded)
		}
		p.call.handles[i] = h
	}
	if !p.editor.Complete(h) {
		if err := p.editor.LoadIDs(h, p.idsInRows(h.User())); err != nil {
			return nil, err
		}
		p.grown = true
	}
	return h, nil
}

func (p *planner) idsInRows(user string) func(*recent.IDs, uint64) error {
	return func(ids *recent.IDs, rows uint64) error { return p.reader.readIDs(ids, user, rows) }
}

// Find implements plan.Histories.
func (p *planner) Find(i int) (at store.Version, e store.Event, err error) {
	h, err := p.history(i)
	if err != nil {
		return at, store.Event{}, err
	}
	id := p.call.records[i].Event.ID
	p.editor.Candidates(h, p.call.hashes[i], func(candidate uint64) bool {
		e, err = p.eventAt(h, candidate)
		if err == nil && e.ID == id {
			at = p.reader.version(p.editor.Version(h, candidate))
		}
		return err == nil && at.Revision == 0
	})
	if err != nil || at.Revision == 0 {
		return store.Version{}, store.Event{}, err
	}
	return at, e, nil
}

// Add implements plan.Histories.
func (p *planner) Add(i int) store.Version {
	return p.reader.version(
		p.editor.Add(p.call.handles[i], &p.call.records[i].Event, p.call.hashes[i]))
}

// eventAt returns the event of a revision, planned ones included.
func (p *planner) eventAt(h *recent.History, revision uint64) (store.Event, error) {
	if event, found := p.editor.Event(h, revision); found {
		return row.DecodeEvent(event)
	}
	return p.reader.eventInRows(h.User(), revision)
}
