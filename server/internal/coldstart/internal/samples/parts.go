package samples

import (
	"maps"
	"slices"

	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/codec"
	"github.com/gsimc/gsimc/store"
)

// Parts is the number of notes that the items are spread over, so that a change is a small write.
const Parts = 64

// partOf is the part that an item is in.
func partOf(item string) int { return store.Shard(item, Parts) }

// KeepChanges notes from now on which parts are changed. They all are if all is set.
func (n *Items) KeepChanges(all bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed = new([Parts]bool)
	for part := range n.changed {
		n.changed[part] = all
	}
}

// touch takes note that an item has changed. Requires mu.
func (n *Items) touch(item string) {
	if n.changed != nil {
		n.changed[partOf(item)] = true
	}
}

// MustWrite takes note that parts could not be written.
func (n *Items) MustWrite(parts []int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, part := range parts {
		n.changed[part] = true
	}
}

// TakeChanged returns the parts that were changed since the last call.
func (n *Items) TakeChanged() (parts []int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for part, changed := range n.changed {
		if changed {
			parts = append(parts, part)
		}
	}
	clear(n.changed[:])
	return parts
}

// EncodePart returns the note of the samples of a part. placed is the number of users of an item
// when it was placed, 0 if it was not.
func (n *Items) EncodePart(part int, placed func(item string) float64) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	var ids []string
	for id := range n.items {
		if partOf(id) == part {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	w := codec.New()
	w.Count(len(ids))
	for _, id := range ids {
		c := n.items[id]
		w.Text(id)
		w.Flag(c.stale)
		w.Float(placed(id))
		w.Count(len(c.sample))
		for _, u := range c.sample {
			w.Text(u.id)
		}
	}
	return w.Bytes()
}

// ReadPart takes over the samples of a note of [Items.EncodePart], in the place of those that are
// held of its items. It returns the numbers of users that the items were placed by. Of a damaged
// note nothing is taken over.
func (n *Items) ReadPart(note []byte) (placed map[string]float64, err error) {
	r := codec.Read(note)
	items, placed := map[string]*coldItem{}, map[string]float64{}
	for range r.Count() {
		id := r.Text()
		c := &coldItem{stale: r.Flag()}
		placed[id] = r.Float()
		for range r.Count() {
			user := r.Text()
			c.sample = append(c.sample, sampledUser{background.Draw(user, 0), user})
		}
		if len(c.sample) > Size || !slices.IsSortedFunc(c.sample, compareSampled) {
			r.Fail()
		}
		if r.Err() != nil {
			break
		}
		items[id] = c
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.Copy(n.items, items)
	return placed, nil
}
