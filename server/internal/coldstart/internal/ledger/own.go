package ledger

import (
	"context"
	"errors"
	"log/slog"
	"maps"
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

// owned is what the holder of the lease of a base knows.
type owned struct {
	account  *Account
	head     // as it was last written
	term     uint64
	due      bool // the account has not been given out since it was due
	nextBeat time.Time
	beats    uint64
	others   map[string]sign // of other bases
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

// takeOver reads what the owner before has left: samples, and rows.
func (s *Shared) takeOver(ctx context.Context, base *model.Model, term uint64) (err error) {
	a := newAccount()
	a.count(base)
	if s.trends != "" {
		a.Tally.Inherited()
	}
	o := &owned{account: a, head: head{posters: map[string]posted{}}, term: term, due: true,
		others: map[string]sign{}}
	s.owned, s.written = o, ""
	taken := false
	defer func() {
		if !taken && !errors.Is(err, store.ErrLeaseLost) { // an error, or a panic
			s.owned = nil // take it again
		}
	}()
	// The first beat goes before all reading: whom others erase from now on, they tell this base.
	// What they post without it was noticed before, and the search finds it.
	if err := s.beat(ctx); err != nil {
		return err
	}
	h, placed, found, err := s.readSamples(ctx, s.base, a)
	if err != nil {
		return err
	}
	if found {
		o.head = h
		a.Rows, a.Borrowed = rowsOf(s.items, placed, nil)
	} else if err := s.inherit(ctx, base, o); err != nil {
		return err
	}
	a.Samples.Add(o.users)
	a.Samples.KeepChanges(!found)
	a.Counted, a.Searched, a.Weights = o.counted, o.searched, o.weights
	taken = true
	return nil
}

// readSamples puts the samples of a base into an account. It returns the head, and the numbers
// of users by which items were placed; found is false if there is no head, or a damaged one.
func (s *Shared) readSamples(
	ctx context.Context, base string, a *Account,
) (h head, placed map[string]float64, found bool, err error) {
	topic := samplesTopic(base)
	note, found, err := s.store.Note(ctx, topic, headName)
	if err != nil || !found {
		return h, nil, false, err
	}
	if h, err = decodeHead(note); err != nil {
		s.stage.Failed(ctx, "the samples of new items are made anew", err)
		return head{}, nil, false, nil
	}
	placed = map[string]float64{}
	for part := range samples.Parts {
		note, found, err := s.store.Note(ctx, topic, partName(part))
		if err != nil {
			return h, nil, false, err
		}
		if !found {
			continue
		}
		of, err := a.Samples.ReadPart(note)
		if err != nil {
			s.stage.Failed(ctx, "the samples of new items are made anew", err)
			a.Samples = samples.New()
			return head{}, nil, false, nil
		}
		maps.Copy(placed, of)
	}
	return h, placed, true, nil
}

// inherit begins with the samples of other bases: items that are new to them and to this one. Users
// whose erasure the owner of another base has not merged yet are left out.
func (s *Shared) inherit(ctx context.Context, base *model.Model, o *owned) error {
	names, err := s.store.NoteNames(ctx, basesTopic)
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
		h, _, found, err := s.readSamples(ctx, other, o.account)
		if err != nil {
			return err
		}
		if found && h.counted {
			o.counted, o.users = true, h.users
		}
	}
	for _, user := range erased {
		o.account.Samples.Mark(user)
	}
	o.account.Samples.Purge()
	o.account.Samples.Keep(newTo(base))
	o.account.Samples.Renew()
	return nil
}

// erasedFrom returns the users of the notices of erasures that are still to be merged for a base.
func (s *Shared) erasedFrom(ctx context.Context, base string) (users []string, err error) {
	names, err := s.store.NoteNames(ctx, noticesTopic(base))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, urgentMark) {
			continue
		}
		note, found, err := s.store.Note(ctx, noticesTopic(base), name)
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

// catchUp merges what servers have noticed, now if it is due or does not wait.
func (s *Shared) catchUp(ctx context.Context, base *model.Model) error {
	if err := s.beat(ctx); err != nil {
		return err
	}
	names, err := s.store.NoteNames(ctx, noticesTopic(s.base))
	if err != nil {
		return err
	}
	if s.owned.due || len(names) >= manyNotices || anyUrgent(names) {
		if err := s.merge(ctx, base, names); err != nil {
			return err
		}
	}
	if !s.owned.due {
		return nil
	}
	if stats, err := s.store.Stats(ctx); err == nil && stats.Users >= 0 {
		of := s.owned.account.Samples
		of.Recount(stats.Users, of.Total())
	}
	return nil
}

func anyUrgent(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(name, urgentMark)
	})
}

// Busy shows that the owner is there. Erased users leave the samples meanwhile. The error ends the
// work: another server is the owner.
func (s *Shared) Busy(ctx context.Context, base *model.Model) error {
	if time.Since(s.looked) < postEvery {
		return nil
	}
	s.looked = time.Now()
	if term, held := s.keeper.Held(leaseName(s.base)); !held || term != s.owned.term {
		return store.ErrLeaseLost
	}
	if err := s.beat(ctx); err != nil {
		return err
	}
	names, err := s.store.NoteNames(ctx, noticesTopic(s.base))
	if err != nil || !anyUrgent(names) && len(names) < manyNotices ||
		s.looked.Before(s.resting) {
		return err
	}
	err = s.merge(ctx, base, names)
	// Servers may post faster than a slow store lets their notices be merged: the work must come to
	// its end nevertheless.
	s.resting = time.Now().Add(time.Since(s.looked))
	return err
}

// merge takes over what servers have noticed, and removes their notices.
func (s *Shared) merge(ctx context.Context, base *model.Model, names []string) error {
	if len(names) == 0 {
		return nil
	}
	s.owned.merges++
	for _, name := range names {
		poster, sequence, ok := parseNoticeName(name)
		if !ok || s.owned.posters[poster].sequence >= sequence {
			continue // merged before
		}
		note, found, err := s.store.Note(ctx, noticesTopic(s.base), name)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		t, err := decodeNotice(note)
		if err != nil {
			s.stage.Failed(ctx, "a notice of new items is left out", err)
		} else if err := s.mergeNotice(ctx, base, &t); err != nil {
			return err
		}
		s.owned.posters[poster] = posted{sequence, s.owned.merges}
	}
	s.owned.prune()
	if err := s.persist(ctx); err != nil {
		return err
	}
	return s.store.DeleteNotes(ctx, noticesTopic(s.base), names, s.owned.fence(s.base))
}

// mergeNotice takes over a notice. A pair enters a sample if the history of the user has the item
// now: the user may have been erased after the pair was noticed.
func (s *Shared) mergeNotice(ctx context.Context, base *model.Model, t *notice) error {
	counted := s.owned.account.Tally
	counted.Halve(t.halved)
	for user := range t.changed {
		counted.Pending.Add(user)
	}
	for _, user := range t.erased {
		counted.Pending.Add(user)
	}
	of := s.owned.account.Samples
	for _, user := range t.erased {
		of.Mark(user)
	}
	of.Purge()
	of.Add(t.users)
	of.Trim()
	entering := map[string][]string{} // items by user
	for item, users := range t.pairs {
		if _, known := base.ItemIndex(item); known {
			continue
		}
		for _, user := range users {
			if of.Wants(user, item) {
				entering[user] = append(entering[user], item)
			}
		}
	}
	pace := background.NewPacer(DutyCycle)
	for _, user := range slices.Sorted(maps.Keys(entering)) {
		wanted := map[string]bool{}
		for _, item := range entering[user] {
			wanted[item] = true
		}
		_, _, err := s.store.Since(ctx, user, store.Version{},
			func(_ store.Version, e store.Event) error {
				if wanted[e.Item] && s.updater.Weight(&e) > 0 {
					of.Note(user, e.Item)
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

// End does nothing: the store has everything.
func (s *Shared) End(context.Context, *models.Lease) {}

// Persist writes what has changed since it was last written.
func (s *Shared) Persist(ctx context.Context, _ *models.Lease) error { return s.persist(ctx) }

func (s *Shared) persist(ctx context.Context) error {
	o, a := s.owned, s.owned.account
	topic := samplesTopic(s.base)
	parts := a.Samples.TakeChanged()
	for at, part := range parts {
		note := a.Samples.EncodePart(part, func(item string) float64 { return a.Rows[item].Users })
		if err := s.put(ctx, topic, partName(part), note); err != nil {
			a.Samples.MustWrite(parts[at:])
			return err
		}
	}
	o.searched, o.counted, o.users, o.weights = a.Searched, a.Counted, a.Samples.Total(), a.Weights
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
func (s *Shared) beat(ctx context.Context) error {
	o := s.owned
	if time.Now().Before(o.nextBeat) {
		return nil
	}
	names, err := s.store.NoteNames(ctx, basesTopic)
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
func (s *Shared) watchOther(ctx context.Context, base string) error {
	note, found, err := s.store.Note(ctx, basesTopic, base)
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
	s.stage.Log.LogAttrs(ctx, slog.LevelInfo, "no server has this model any more: what was kept "+
		"of items that are new to it is removed", slog.String("model", base))
	delete(s.owned.others, base)
	if err := s.store.DeleteNotes(ctx, basesTopic, []string{base}, store.Fence{}); err != nil {
		return err
	}
	for _, topic := range []string{noticesTopic(base), samplesTopic(base), documentsTopic(base),
		trendsTopic(base)} {
		names, err := s.store.NoteNames(ctx, topic)
		if err != nil {
			return err
		}
		if err := s.store.DeleteNotes(ctx, topic, names, store.Fence{}); err != nil {
			return err
		}
	}
	return nil
}
