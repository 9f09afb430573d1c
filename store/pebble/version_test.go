package pebble

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/pebble/internal/engine"
	"github.com/gsimc/gsimc/store/pebble/internal/mark"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
)

// versions returns the versions of all histories, after checking that Since tells the same.
func versions(t *testing.T, s store.Store) map[string]store.Version {
	t.Helper()
	all := map[string]store.Version{}
	check.Must(t, s.Each(t.Context(), 0, 1, func(user string, head store.Version) error {
		all[user] = head
		got, same, err := s.Since(t.Context(), user, head, nil)
		if got != head || !same {
			err = errors.Join(err, fmt.Errorf("%s: %v since %v, same %v", user, got, head, same))
		}
		return err
	}))
	return all
}

// wantMarks wants each history to have a mark of its own.
func wantMarks(t *testing.T, all map[string]store.Version) {
	t.Helper()
	marks := map[uint64]bool{}
	for _, v := range all {
		marks[v.Mark] = true
	}
	if len(marks) != len(all) || marks[0] {
		t.Errorf("%d users have %d marks, or one is 0", len(all), len(marks))
	}
}

// lives writes users of whom some are in rows, some in the journal and some in both, and some have
// been erased and returned.
func lives(t *testing.T, s *Store) {
	t.Helper()
	for i := range 12 {
		mustAppend(t, s, fmt.Sprint("rows-", i), 0, 3)
		mustAppend(t, s, fmt.Sprint("both-", i), 0, 3)
		mustAppend(t, s, fmt.Sprint("returned-", i), 0, 3)
		mustAppend(t, s, fmt.Sprint("gone-", i), 0, 3)
	}
	flush(t, s)
	for i := range 12 {
		mustAppend(t, s, fmt.Sprint("both-", i), 3, 5)
		mustAppend(t, s, fmt.Sprint("journal-", i), 0, 2)
		for _, user := range []string{"returned-", "gone-"} {
			check.Get(s.Erase(t.Context(), fmt.Sprint(user, i)))(t)
		}
		mustAppend(t, s, fmt.Sprint("returned-", i), 0, 3)
	}
}

// TestVersionsStay opens a store again after a clean end, after losses of power and after a sort:
// each history has the version that it had. So it is for those who are ready to accept a loss at
// each start, and meet none.
func TestVersionsStay(t *testing.T) {
	for _, accept := range []bool{false, true} {
		disk := newDisk()
		s := mustOpen(t, "store", Options{FS: disk, AcceptLoss: accept})
		lives(t, s)
		want := versions(t, s)
		check.MustSame(t, 48, len(want), "users")
		wantMarks(t, want)
		crashed := powerCut(disk, 0)
		mustClose(t, s)
		for name, fs := range map[string]*memDisk{"closed": disk, "power cut": crashed} {
			for start := range 4 {
				s := mustOpen(t, "store", Options{FS: fs, AcceptLoss: accept})
				what := fmt.Sprintf("%s, start %d, accept %v", name, start, accept)
				check.Same(t, want, versions(t, s), "%s", what)
				if start > 0 {
					flush(t, s)
				}
				check.Same(t, want, versions(t, s), "%s, sorted", what)
				mustClose(t, s)
			}
		}
	}
}

// TestLossChangesVersions opens a store that has lost events, or may have, as one that was
// restored: there were events after the backup, perhaps, in whose place there will be others. No
// history has a version from before, and later openings keep the new ones.
func TestLossChangesVersions(t *testing.T) {
	for name, lose := range map[string]func(*testing.T, vfs.FS) (Options, error){
		"accepted": func(_ *testing.T, fs vfs.FS) (Options, error) {
			return Options{AcceptLoss: true},
				mark.Write(fs, "store", mark.Mark{ID: mark.NewID(), Commit: 1 << 30})
		},
		"another seal": func(_ *testing.T, fs vfs.FS) (Options, error) {
			return Options{AcceptLoss: true}, smallfile.Replace(fs, "store", engine.SealName,
				[]byte("00000000 7 000001.log\nffffffff\n"))
		},
		"without mark": func(_ *testing.T, fs vfs.FS) (Options, error) {
			return Options{}, fs.Remove("store/" + mark.Name)
		},
		"restored": func(t *testing.T, fs vfs.FS) (Options, error) {
			mustBackup(t, fs, "store")
			check.Must(t, fs.RemoveAll("store"))
			_, err := Restore(t.Context(), "backup", "store", Options{FS: fs}, noProgress)
			return Options{}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewMem()
			s := mustOpen(t, "store", Options{FS: disk})
			lives(t, s)
			before := versions(t, s)
			mustClose(t, s)
			opts := check.Get(lose(t, disk))(t)
			opts.FS = disk
			s = mustOpen(t, "store", opts)
			after := versions(t, s)
			check.Same(t, len(before), len(after), "users")
			for user, v := range after {
				if v == before[user] || v.Revision != before[user].Revision {
					t.Errorf("%s has %v, as before the loss %v", user, v, before[user])
				}
				_, same, err := s.Since(t.Context(), user, before[user], nil)
				if same || err != nil {
					t.Errorf("%s begins with %v, %v", user, before[user], err)
				}
			}
			for start := range 3 {
				s = reopen(t, s, "store", Options{FS: disk})
				check.Same(t, after, versions(t, s), "start %d", start)
				if start == 1 {
					flush(t, s)
				}
			}
			mustClose(t, s)
		})
	}
}
