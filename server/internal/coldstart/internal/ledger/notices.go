package ledger

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/codec"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/metrics"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/samples"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/tally"
	"github.com/gsimc/gsimc/store"
)

// Bounds of what a server posts.
const (
	// postEvery is the longest interval at which a server posts what it has noticed.
	postEvery = 250 * time.Millisecond
	// noticeBytes is about the largest size of one notice.
	noticeBytes = 1 << 20
	// maxUnposted bounds the notices that wait while the store does not take them.
	maxUnposted = 64
	// changedEvery is the shortest interval at which a server posts whose histories have changed.
	changedEvery = 5 * time.Second
	// lastPosting is the time for posting what is left when a server ends.
	lastPosting = 2 * time.Second
)

// urgentMark ends the names of notices of erasures, which do not wait.
const urgentMark = "!"

// Notices tells the owners of extensions what one of several servers notices: who has taken new
// items, how many users have come and gone, and who was erased. A nil *Notices notices nothing.
//
// The users of an item are a sample of those of one posting; see [samples.Items]. So the notices of
// a posting are bounded, whatever the number of events.
type Notices struct {
	NoticesDeps
	poster string
	awake  chan struct{}

	mu     sync.Mutex // held over what forget and take do to items as well
	items  *samples.Items
	erased map[string]bool

	changed *tally.Pending

	// Used by the goroutine of Run alone.
	told     time.Time // when changed was last taken
	taken    notice    // not yet in unposted
	sequence uint64
	unposted []*unposted
	failing  bool
}

// NoticesDeps are the parts of the server that [Notices] uses.
type NoticesDeps struct {
	Store store.Shared
	// Every is the interval of extensions.
	Every time.Duration
	// Bases returns the versions of the models of this server that are extended.
	Bases   func() []string
	Metrics *metrics.Metrics
	Log     *slog.Logger
	Guard   background.Guard
}

// notice is the content of a note.
type notice struct {
	users  int64    // who came, less who went
	erased []string // before the pairs
	pairs  map[string][]string

	changed map[string]struct{} // users with other histories, of a sample that was halved so often
	halved  int
}

// unposted is a notice that is still to be posted for some bases.
type unposted struct {
	name  string
	note  []byte
	bases []string
	done  []string // it has been posted for these
}

func (u *unposted) urgent() bool { return strings.HasSuffix(u.name, urgentMark) }

// NewNotices returns notices for the servers that share a store.
func NewNotices(d NoticesDeps) *Notices {
	return &Notices{NoticesDeps: d, poster: rand.Text(), items: samples.New(),
		erased: map[string]bool{}, changed: tally.NewPending(), awake: make(chan struct{}, 1)}
}

// forget tells of an erased user. first is set by one of the extenders of the server.
func (n *Notices) forget(user string, first bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if first {
		n.items.Add(-1)
	}
	n.items.Mark(user)
	n.changed.Remove(user)
	n.erased[strings.Clone(user)] = true
	select {
	case n.awake <- struct{}{}:
	default:
	}
}

// take returns what has been noticed since it was last called.
func (n *Notices) take() notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := notice{erased: slices.Sorted(maps.Keys(n.erased))}
	n.erased = map[string]bool{}
	n.items.Purge() // nobody is marked meanwhile
	t.pairs, t.users = n.items.Empty()
	if time.Since(n.told) >= min(changedEvery, n.Every) {
		n.told = time.Now()
		t.changed, t.halved = n.changed.TakeAll()
	}
	return t
}

// Run posts notices until ctx ends, and then what is left.
func (n *Notices) Run(ctx context.Context) {
	if n == nil {
		return
	}
	tick := time.NewTicker(min(max(n.Every, time.Millisecond), postEvery))
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-n.awake:
		}
		if ctx.Err() == nil {
			n.post(ctx)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastPosting)
	defer cancel()
	n.told = time.Time{} // changed users wait no more
	n.post(ctx)
}

func (n *Notices) post(ctx context.Context) {
	err := n.Guard(ctx, "posting notices of new items", func() error { return n.postAll(ctx) })
	switch {
	case err != nil && !n.failing && ctx.Err() == nil:
		n.Metrics.Failures.Inc()
		n.Log.LogAttrs(ctx, slog.LevelWarn, "what this server notices of new items cannot be "+
			"posted for the others", slog.String("error", err.Error()))
	case err == nil && n.failing:
		n.Log.LogAttrs(ctx, slog.LevelInfo, "notices of new items are posted again")
	}
	n.failing = err != nil
}

func (n *Notices) postAll(ctx context.Context) error {
	if n.taken.isEmpty() {
		n.taken = n.take()
	}
	if !n.taken.isEmpty() {
		bases, err := n.targets(ctx)
		if err != nil {
			return err // an erasure must not miss a base
		}
		n.wait(n.taken, bases)
		n.taken = notice{}
	}
	for len(n.unposted) > 0 {
		if err := n.postOne(ctx, n.unposted[0]); err != nil {
			return err
		}
		n.unposted = n.unposted[1:]
	}
	return nil
}

// postOne posts a notice for all of its bases. An erasure also goes to bases that have begun since
// the notice was made: they may have read the samples of others before it was merged there.
func (n *Notices) postOne(ctx context.Context, u *unposted) error {
	for {
		for len(u.bases) > 0 {
			base := u.bases[0]
			if err := n.Store.PutNote(ctx, noticesTopic(base), u.name, u.note,
				store.Fence{}); err != nil {
				return err
			}
			u.bases, u.done = u.bases[1:], append(u.done, base)
			n.Metrics.Notices.Inc()
		}
		if !u.urgent() {
			return nil
		}
		all, err := n.targets(ctx)
		if err != nil {
			return err
		}
		u.bases = slices.DeleteFunc(all, func(base string) bool {
			return slices.Contains(u.done, base)
		})
		if len(u.bases) == 0 {
			return nil
		}
	}
}

// targets are the bases that notices are posted for: those of this server, and those that others
// extend.
func (n *Notices) targets(ctx context.Context) ([]string, error) {
	own := n.Bases()
	all, err := n.Store.NoteNames(ctx, basesTopic)
	all = append(all, own...)
	slices.Sort(all)
	return slices.Compact(all), err
}

// wait appends the notices of t to those that are to be posted. Beyond maxUnposted the oldest one
// without an erasure goes.
func (n *Notices) wait(t notice, bases []string) {
	for _, part := range t.split() {
		n.sequence++
		u := &unposted{name: noticeName(n.poster, n.sequence, len(part.erased) > 0),
			note: part.encode(), bases: slices.Clone(bases)}
		if len(u.bases) > 0 {
			n.unposted = append(n.unposted, u)
		}
	}
	for len(n.unposted) > maxUnposted {
		at := slices.IndexFunc(n.unposted, func(u *unposted) bool {
			return !u.urgent()
		})
		if at < 0 {
			return
		}
		n.unposted = slices.Delete(n.unposted, at, at+1)
		n.Metrics.Dropped.Inc()
	}
}

func (t *notice) isEmpty() bool {
	return t.users == 0 && len(t.erased) == 0 && len(t.pairs) == 0 && len(t.changed) == 0
}

// split returns notices of about noticeBytes at most; the first ones have the erasures.
func (t *notice) split() []notice {
	part := func(users int64) notice {
		return notice{users: users, halved: t.halved,
			pairs: map[string][]string{}, changed: map[string]struct{}{}}
	}
	parts := []notice{part(t.users)}
	last, size := &parts[0], 0
	room := func(bytes int) {
		if size += bytes; size > noticeBytes {
			parts = append(parts, part(0))
			last, size = &parts[len(parts)-1], bytes
		}
	}
	for _, user := range t.erased {
		room(len(user) + 2)
		last.erased = append(last.erased, user)
	}
	for _, item := range slices.Sorted(maps.Keys(t.pairs)) {
		for _, user := range t.pairs[item] {
			room(len(user) + len(item) + 4)
			last.pairs[item] = append(last.pairs[item], user)
		}
	}
	for user := range t.changed {
		room(len(user) + 2)
		last.changed[user] = struct{}{}
	}
	return parts
}

func (t *notice) encode() []byte {
	w := codec.New()
	w.Int(t.users)
	w.Count(len(t.erased))
	for _, user := range t.erased {
		w.Text(user)
	}
	w.Count(len(t.pairs))
	for _, item := range slices.Sorted(maps.Keys(t.pairs)) {
		w.Text(item)
		w.Count(len(t.pairs[item]))
		for _, user := range t.pairs[item] {
			w.Text(user)
		}
	}
	w.Count(len(t.changed))
	for user := range t.changed {
		w.Text(user)
	}
	w.Uint(uint64(t.halved))
	return w.Bytes()
}

func decodeNotice(note []byte) (notice, error) {
	r := codec.Read(note)
	t := notice{users: r.Int(), pairs: map[string][]string{}, changed: map[string]struct{}{}}
	for range r.Count() {
		t.erased = append(t.erased, r.Text())
	}
	for range r.Count() {
		item := r.Text()
		for range r.Count() {
			t.pairs[item] = append(t.pairs[item], r.Text())
		}
	}
	for range r.Count() {
		t.changed[r.Text()] = struct{}{}
	}
	if t.halved = int(min(r.Uint(), tally.MostHalved+1)); t.halved > tally.MostHalved {
		r.Fail()
	}
	return t, r.End()
}

// The topics of notes, and the names in them.
const (
	basesTopic      = "gsimc.extension.bases"
	noticesPrefix   = "gsimc.extension.notices."
	samplesPrefix   = "gsimc.extension.samples."
	documentsPrefix = "gsimc.extension.documents."
	trendsPrefix    = "gsimc.extension.trends."
)

func noticesTopic(base string) string   { return noticesPrefix + base }
func samplesTopic(base string) string   { return samplesPrefix + base }
func documentsTopic(base string) string { return documentsPrefix + base }
func trendsTopic(base string) string    { return trendsPrefix + base }

// noticeName is the name of the notice that a poster posts at this place of its sequence. The names
// of a poster sort by it.
func noticeName(poster string, sequence uint64, urgent bool) string {
	name := fmt.Sprintf("%s-%016x", poster, sequence)
	if urgent {
		name += urgentMark
	}
	return name
}

// parseNoticeName is the inverse of noticeName.
func parseNoticeName(name string) (poster string, sequence uint64, ok bool) {
	poster, digits, ok := strings.Cut(strings.TrimSuffix(name, urgentMark), "-")
	sequence, err := strconv.ParseUint(digits, 16, 64)
	return poster, sequence, ok && err == nil
}
