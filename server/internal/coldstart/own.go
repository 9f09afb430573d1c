package coldstart

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/background"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/codec"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/samples"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/store"
)

// Intervals of an owner.
const (
	// manyNotices is the number of notices at which they are merged before their time.
	manyNotices = 64
	// beatEvery is the interval at which an owner shows that its base is in use.
	beatEvery = 10 * time.Second
	// abandoned is the time without a sign after which the notes of a base are removed.
	abandoned = time.Minute
)

// owned is what the holder of the lease of a base knows. Its samples are Extender.items.
type owned struct {
	head
	term       uint64
	nextExtend time.Time
	nextBeat   time.Time
	beats      uint64
	others     map[string]sign // of other bases
}

// sign is the last sign of another base, and when it was first seen.
type sign struct {
	beat string
	seen time.Time
}

func leaseName(base string) string { return "gsimc.extension." + base }

// fence lets a write take place only while nobody else has got the lease.
func (o *owned) fence(base string) store.Fence {
	return store.Fence{Lease: leaseName(base), Term: o.term}
}

// take reads what the owner before has left: samples, and rows.
func (s *sharing) take(ctx context.Context, l *models.Lease, term uint64) (err error) {
	o := &owned{term: term, head: head{posters: map[string]posted{}},
		others: map[string]sign{}}
	s.owned, s.written = o, ""
	taken := false
	defer func() {
		if !taken && !errors.Is(err, store.ErrLeaseLost) { // an error, or a panic
			s.owned = nil // take it again
		}
	}()
	// The first beat goes before all reading: whom others erase from now on, they tell this base.
	if err := s.beat(ctx); err != nil {
		return err
	}
	x := s.x
	x.items, x.rows, x.unserved = samples.New(), map[string]itemRow{}, false
	h, placed, found, err := s.readSamples(ctx, s.base)
	if err != nil {
		return err
	}
	if found {
		o.head = h
		x.rows = rowsOf(s.items, placed)
	} else if err := s.inherit(ctx, l.Base(), o); err != nil {
		return err
	}
	x.items.Add(o.users)
	x.items.KeepChanges(!found)
	x.counted, x.searched = o.counted, o.searched
	taken = true
	return nil
}

// readSamples puts the samples of a base into Extender.items. It returns the head, and the numbers
// of users by which items were placed; found is false if there is no head, or a damaged one.
func (s *sharing) readSamples(
	ctx context.Context, base string,
) (h head, placed map[string]float64, found bool, err error) {
	topic := samplesTopic(base)
	note, found, err := s.Store.Note(ctx, topic, headName)
	if err != nil || !found {
		return h, nil, false, err
	}
	if h, err = decodeHead(note); err != nil {
		s.x.failed(ctx, "the samples of new items are made anew", err)
		return head{}, nil, false, nil
	}
	placed = map[string]float64{}
	for part := range samples.Parts {
		note, found, err := s.Store.Note(ctx, topic, partName(part))
		if err != nil {
			return h, nil, false, err
		}
		if !found {
			continue
		}
		of, err := s.x.items.ReadPart(note)
		if err != nil {
			s.x.failed(ctx, "the samples of new items are made anew", err)
			s.x.items = samples.New()
			return head{}, nil, false, nil
		}
		maps.Copy(placed, of)
	}
	return h, placed, true, nil
}

// inherit begins with the samples of other bases: items that are new to them and to this one. Users
// whose erasure the owner of another base has not merged yet are left out.
func (s *sharing) inherit(ctx context.Context, base *model.Model, o *owned) error {
	names, err := s.Store.NoteNames(ctx, basesTopic)
	if err != nil {
		return err
	}
	var erased []string
	for _, other := range names {
		if other == s.base {
			continue
		}
		gone, err := s.erasedFrom(ctx, other) // before the samples, which they are merged into
		if err != nil {
			return err
		}
		erased = append(erased, gone...)
		h, _, found, err := s.readSamples(ctx, other)
		if err != nil {
			return err
		}
		if found && h.counted {
			o.counted, o.users = true, h.users
		}
	}
	for _, user := range erased {
		s.x.items.Mark(user)
	}
	s.x.items.Purge()
	s.x.items.Keep(func(item string) bool { _, known := base.ItemIndex(item); return !known })
	s.x.items.Renew()
	return nil
}

// erasedFrom returns the users of the notices of erasures that are still to be merged for a base.
func (s *sharing) erasedFrom(ctx context.Context, base string) (users []string, err error) {
	names, err := s.Store.NoteNames(ctx, noticesTopic(base))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, urgentMark) {
			continue
		}
		note, found, err := s.Store.Note(ctx, noticesTopic(base), name)
		if err != nil {
			return nil, err
		}
		if !found { // merged meanwhile
			continue
		}
		if t, err := decodeNotice(note); err == nil { // else the owner of the base says so
			users = append(users, t.erased...)
		}
	}
	return users, nil
}

// own does the work of the owner: it merges what servers have noticed, places items, and searches
// the store if that is still to be done.
func (s *sharing) own(ctx context.Context, l *models.Lease, now bool) error {
	if err := s.beat(ctx); err != nil {
		return err
	}
	names, err := s.Store.NoteNames(ctx, noticesTopic(s.base))
	if err != nil {
		return err
	}
	due := now || !time.Now().Before(s.owned.nextExtend)
	if due || len(names) >= manyNotices || anyUrgent(names) {
		if err := s.merge(ctx, l.Base(), names); err != nil {
			return err
		}
	}
	if !due {
		return nil
	}
	s.owned.nextExtend = time.Now().Add(s.x.every)
	if weights := s.weights(); weights != s.owned.weights {
		s.owned.weights = weights
		s.x.items.Renew()
		s.x.searched = false
	}
	if stats, err := s.Store.Stats(ctx); err == nil && stats.Users >= 0 {
		s.x.items.Recount(stats.Users, s.x.items.Total())
	}
	if s.x.counted {
		more, err := s.x.update(ctx, l)
		if err != nil {
			return err
		}
		if more {
			s.owned.nextExtend = time.Time{}
			return s.persist(ctx)
		}
	}
	if !s.x.searched {
		// The first beat is in the store: what is posted without this base was noticed before, and
		// the search finds it.
		if err := s.x.search(ctx, l); err != nil {
			return err
		}
		s.owned.nextExtend = time.Time{}
	}
	return s.persist(ctx)
}

func anyUrgent(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(name, urgentMark)
	})
}

// busy is called now and then by long work of the owner. Erased users leave the samples meanwhile.
// The error ends the work: another server is the owner. A nil sharing does nothing.
func (s *sharing) busy(ctx context.Context, base *model.Model) error {
	if s == nil || time.Since(s.looked) < postEvery {
		return nil
	}
	s.looked = time.Now()
	if term, held := s.keeper.Held(leaseName(s.base)); !held || term != s.owned.term {
		return store.ErrLeaseLost
	}
	if err := s.beat(ctx); err != nil {
		return err
	}
	names, err := s.Store.NoteNames(ctx, noticesTopic(s.base))
	if err != nil || !anyUrgent(names) && len(names) < manyNotices {
		return err
	}
	return s.merge(ctx, base, names)
}

// merge takes over what servers have noticed, and removes their notices.
func (s *sharing) merge(ctx context.Context, base *model.Model, names []string) error {
	if len(names) == 0 {
		return nil
	}
	s.owned.merges++
	for _, name := range names {
		poster, sequence, ok := parseNoticeName(name)
		if !ok || s.owned.posters[poster].sequence >= sequence {
			continue // merged before
		}
		note, found, err := s.Store.Note(ctx, noticesTopic(s.base), name)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		t, err := decodeNotice(note)
		if err != nil {
			s.x.failed(ctx, "a notice of new items is left out", err)
		} else if err := s.mergeNotice(ctx, base, &t); err != nil {
			return err
		}
		s.owned.posters[poster] = posted{sequence, s.owned.merges}
	}
	s.owned.prune()
	if err := s.persist(ctx); err != nil {
		return err
	}
	return s.Store.DeleteNotes(ctx, noticesTopic(s.base), names, s.owned.fence(s.base))
}

// mergeNotice takes over a notice. A pair enters a sample if the history of the user has the item
// now: the user may have been erased after the pair was noticed.
func (s *sharing) mergeNotice(ctx context.Context, base *model.Model, t *notice) error {
	x := s.x
	for _, user := range t.erased {
		x.items.Mark(user)
	}
	x.items.Purge()
	x.items.Add(t.users)
	x.items.Trim()
	entering := map[string][]string{} // items by user
	for item, users := range t.pairs {
		if _, known := base.ItemIndex(item); known {
			continue
		}
		for _, user := range users {
			if x.items.Wants(user, item) {
				entering[user] = append(entering[user], item)
			}
		}
	}
	pace := background.NewPacer(dutyCycle)
	for _, user := range slices.Sorted(maps.Keys(entering)) {
		wanted := map[string]bool{}
		for _, item := range entering[user] {
			wanted[item] = true
		}
		_, _, err := x.Store.Since(ctx, user, store.Version{},
			func(_ store.Version, e store.Event) error {
				if wanted[e.Item] && x.Updater.Weight(&e) > 0 {
					x.items.Note(user, e.Item)
				}
				return nil
			})
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			return err
		}
		if err := pace.Pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// persist writes what has changed since it was last written.
func (s *sharing) persist(ctx context.Context) error {
	o, x := s.owned, s.x
	topic := samplesTopic(s.base)
	parts := x.items.TakeChanged()
	for at, part := range parts {
		note := x.items.EncodePart(part, func(item string) float64 { return x.rows[item].users })
		if err := s.put(ctx, topic, partName(part), note); err != nil {
			x.items.MustWrite(parts[at:])
			return err
		}
	}
	o.users, o.counted, o.searched = x.items.Total(), x.counted, x.searched
	note := o.encode()
	if string(note) == s.written {
		return nil
	}
	if err := s.put(ctx, topic, headName, note); err != nil {
		return err
	}
	s.written = string(note)
	return nil
}

// beat shows that the base is in use, and removes what is left of bases that are not.
func (s *sharing) beat(ctx context.Context) error {
	o := s.owned
	if time.Now().Before(o.nextBeat) {
		return nil
	}
	names, err := s.Store.NoteNames(ctx, basesTopic)
	if err != nil {
		return err
	}
	if o.beats > 0 && !slices.Contains(names, s.base) {
		s.owned = nil // another server has taken the base for abandoned: begin anew
		return store.ErrLeaseLost
	}
	o.beats++
	s.signs++
	sign := codec.New()
	sign.Text(s.keeper.Holder())
	sign.Uint(s.signs)
	if err := s.put(ctx, basesTopic, s.base, sign.Bytes()); err != nil {
		return err
	}
	o.nextBeat = time.Now().Add(beatEvery)
	for _, other := range names {
		if other == s.base {
			continue
		}
		if err := s.watchOther(ctx, other); err != nil {
			return err
		}
	}
	return nil
}

// watchOther removes the notes of a base that has given no sign for long.
func (s *sharing) watchOther(ctx context.Context, base string) error {
	note, found, err := s.Store.Note(ctx, basesTopic, base)
	if err != nil || !found {
		return err
	}
	last, seen := s.owned.others[base]
	if !seen || last.beat != string(note) {
		s.owned.others[base] = sign{string(note), time.Now()}
		return nil
	}
	if time.Since(last.seen) < abandoned {
		return nil
	}
	s.x.Log.LogAttrs(ctx, slog.LevelInfo, "no server has this model any more: what was kept of "+
		"items that are new to it is removed", slog.String("model", base))
	delete(s.owned.others, base)
	if err := s.Store.DeleteNotes(ctx, basesTopic, []string{base}, store.Fence{}); err != nil {
		return err
	}
	for _, topic := range []string{noticesTopic(base), samplesTopic(base), documentsTopic(base)} {
		names, err := s.Store.NoteNames(ctx, topic)
		if err != nil {
			return err
		}
		if err := s.Store.DeleteNotes(ctx, topic, names, store.Fence{}); err != nil {
			return err
		}
	}
	return nil
}

// weights is a hash of the weights of events.
func (s *sharing) weights() uint64 {
	hash, of := fnv.New64a(), s.x.Updater.Weights()
	for _, kind := range slices.Sorted(maps.Keys(of)) {
		_, _ = hash.Write(append([]byte(kind), 0)) // never fails
		_, _ = hash.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(of[kind])))
	}
	return hash.Sum64()
}

// mostUsers returns n of the items, those with the most users.
func mostUsers(items []model.NewItem, n int) []model.NewItem {
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b model.NewItem) int {
		return cmp.Or(cmp.Compare(b.Users, a.Users), cmp.Compare(a.ID, b.ID))
	})
	return items[:n]
}
