package filters

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/internal/test/check"
)

// saving opens a file with a text.
func saving(t *testing.T, text string) (s *Set, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "filters.yaml")
	write(t, path, text)
	return check.Get(Open(path, log, NewMetrics()))(t), path
}

// save saves an entry in the file as it is now.
func save(t *testing.T, s *Set, name, entry string) error {
	t.Helper()
	version := check.Get(s.List(t.Context()))(t).GetVersion()
	_, err := s.Save(t.Context(), &pb.SaveNamedFilterRequest{Name: name, Entry: entry,
		Version: version})
	return err
}

func read(t *testing.T, path string) string {
	t.Helper()
	return string(check.Get(os.ReadFile(path))(t))
}

// A save changes the lines of its entry, and no other byte of the file.
func TestSaveKeepsTheRest(t *testing.T) {
	const a, b, c = "# The rules.\n\na:   {no_labels:   [x]} # why\n\n", "# of b\nb:\n  any_labels: [y]\n" +
		"  # in b\n\n", "# of c\n'c': {weight: 1}\n# the end\n"
	for _, tt := range []struct{ text, name, entry, want string }{
		{a + b + c, "d", "{weight: 2}", a + b + c + "d: {weight: 2}\n"},
		{a + b + c, "b", "{weight: 2}", a + "# of b\nb: {weight: 2}\n\n" + c},
		{a + b + c, "b", "weight: 2\nby:\n    number: p\n    scale: 1",
			a + "# of b\nb:\n  weight: 2\n  by:\n    number: p\n    scale: 1\n\n" + c},
		{a + b + c, "c", "any_labels: [z]", a + b + "# of c\nc:\n  any_labels: [z]\n# the end\n"},
		{a + b + c, "a", "", "# The rules.\n\n\n" + b + c},
		{a + b + c, "b", "", a + "\n" + c},
		{a + b + c, "c", "", a + b + "# the end\n"},
		{a + b + c, "nosuch", "", a + b + c},
		{"a: {weight: 1}", "b", "{weight: 2}", "a: {weight: 1}\nb: {weight: 2}\n"},
		{"# of a\na: {weight: 1}\n", "a", "", "# of a\n{}\n"},
		{"# of a\n{}\n", "b", "{weight: 2}", "# of a\nb: {weight: 2}\n"},
		{"  a: {weight: 1}\n", "b", "any_labels:\n- |\n  x\n", "  a: {weight: 1}\n" +
			"  b:\n    any_labels:\n      - |\n        x\n"},
		{"a: {weight: 1}\n", "12", "{weight: 2}", "a: {weight: 1}\n\"12\": {weight: 2}\n"},
		{"a: {weight: 1}\r\nb: {weight: 1}\r\n", "a", "{weight: 2}",
			"a: {weight: 2}\r\nb: {weight: 1}\r\n"},
		{"a: {weight: 1}\r\nb: {weight: 1}", "c", "any_labels:\r\n- x\r\n",
			"a: {weight: 1}\r\nb: {weight: 1}\r\nc:\r\n  any_labels:\r\n    - x\r\n"},
		{"a: &a {weight: 1}\nb: *a\n", "c", "{weight: 2}", "a: &a {weight: 1}\nb: *a\nc: {weight: 2}\n"},
	} {
		s, path := saving(t, tt.text)
		check.Pass(t, save(t, s, tt.name, tt.entry), "%s: %q in %q", tt.name, tt.entry, tt.text)
		check.Same(t, tt.want, read(t, path), "%s: %q in %q", tt.name, tt.entry, tt.text)
	}
}

// What would make a bad file is refused with a text that helps, and nothing is written.
func TestSaveRefuses(t *testing.T) {
	var many strings.Builder
	for i := range maxFilters {
		fmt.Fprintf(&many, "f%d: {no_labels: [b]}\n", i)
	}
	const file = "a: &a {weight: 1}\nb: *a\n"
	for _, tt := range []struct{ text, name, entry, want string }{
		{file, "c", "{nolabels: [x]}", "entry line 1, c: there is no nolabels"},
		{file, "c", "any_labels: [x]\n\nany_labels: [y]", `entry line 3, c: "any_labels" stands twice`},
		{file, "c", "{weight: 0}", "entry line 1, c: weight must be from -100 to 100, and not 0"},
		{file, "c", "any_labels: [x]\r\n\r\nweight: much\r\n", "entry line 3, c.weight: want a number"},
		{file, "c", "{any_labels: [x],\n\n weight: much}", "entry line 3, c.weight: want a number"},
		{file, "c", "# why\n---\nranges:\n- name: p\n  gte: x", "entry line 5, c.ranges[0].gte: want"},
		{file, "c", "any_labels: [x]\nweight: 0", "entry line 2, c: weight must be"},
		{file, "c", "any_labels: [x]\n by: 1\n", "entry line 2: not YAML: did not find expected key"},
		{file, "c", "{any_labels: [", "entry line 1: not YAML: did not find expected"},
		{file, "c", "much", `entry line 1, c: want conditions such as {any_labels: [new]}, not "much"`},
		{file, "c", "~", "entry line 1, c: a value is missing"},
		{file, "c", "# nothing", "entry has no conditions"},
		{file, "c", "{weight: 1}\n---\nd: {weight: 1}", "entry has more than one document"},
		{file, "c", "*a", "entry line 1: not YAML: unknown anchor 'a' referenced"},
		{file, "a", "",
			"the server's file of filters uses a part of a in b, by an alias: change b first"},
		{file, "a", "{any_labels: [&a x]}", "uses a part of a in b, by an alias"},
		{file + "...\n", "c", "{weight: 2}", "only people can change: with the change, "},
		{file, "a", "{weight: 2}", "uses a part of a in b, by an alias: change b first"},
		{file, "c", "{any_labels: [&a x]}", ""},
		{many.String(), "c", "{weight: 1}",
			"entry makes the file bad: has 1001 filters and boosts, at most 1000 are allowed"},
		{"{a: {weight: 1}}\n", "c", "{weight: 1}",
			"the server's file of filters has all entries within one {…}"},
		{"a: {weight: 1}\rb: {weight: 1}\rc: {weight: 1}\n", "c", "",
			"the server's file of filters is written in a way that only people can change"},
		{"a: {weight: 1}\n...\n", "c", "{weight: 1}", "the server's file of filters is written in a " +
			"way that only people can change: with the change, "},
		{file, "c", "{any_labels: [&x x, *x]}", "entry has aliases, or more than 6000 names and values"},
		{file, "c", "{any_labels: [" + strings.Repeat("x,", maxParts) + "]}",
			"entry has aliases, or more than 6000 names and values"},
		{file, "c", "{any_labels: [" + strings.Repeat("{}, ", 7) + "]}", "; and 2 more"},
		{"#x\ra: {weight: 1}\rb: {weight: 1}\n", "b", "",
			"in a way that only people can change: with the change, "},
	} {
		s, path := saving(t, tt.text)
		err := save(t, s, tt.name, tt.entry)
		if tt.want == "" {
			check.Pass(t, err, "%s: %q", tt.name, tt.entry)
			continue
		}
		check.Says(t, err, tt.want, "%s: %q", tt.name, tt.entry)
		check.Same(t, tt.text, read(t, path), "the file after %s: %q", tt.name, tt.entry)
	}
}

// A file that only people can change is served, and neither listed nor changed.
func TestMergedFileIsNotListed(t *testing.T) {
	s, _ := saving(t, "a: &a {weight: 1}\n<<: {b: {weight: 2}}\n")
	_, err := s.List(t.Context())
	check.Says(t, err, "in a way that only people can change", "a list with a merge")
}

// The file has its mode and its link still, and ten former ones, the newest as .1.
func TestSaveKeepsTheFormerFiles(t *testing.T) {
	_, path := saving(t, "a: {weight: 1}\n")
	link := filepath.Join(t.TempDir(), "link.yaml")
	must(t, os.Symlink(path, link))
	must(t, os.Chmod(path, 0o640))
	s := check.Get(Open(link, log, NewMetrics()))(t)
	for i := 2; i <= 14; i++ {
		must(t, save(t, s, "a", fmt.Sprintf("{weight: %d}", i)))
		must(t, save(t, s, "a", fmt.Sprintf("{weight: %d}", i))) // changes nothing
	}
	check.Same(t, "a: {weight: 14}\n", read(t, path), "the file")
	for i := 1; i <= keptFiles; i++ {
		name := fmt.Sprintf("%s.%d", path, i)
		check.Same(t, fmt.Sprintf("a: {weight: %d}\n", 14-i), read(t, name), "former file %d", i)
		if info := check.Get(os.Stat(name))(t); info.Mode().Perm() != 0o640 {
			t.Errorf("former file %d has the mode %v", i, info.Mode())
		}
	}
	check.Same(t, keptFiles+1, len(check.Get(os.ReadDir(filepath.Dir(path)))(t)), "files")
	if info := check.Get(os.Lstat(link))(t); info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if info := check.Get(os.Stat(path))(t); info.Mode().Perm() != 0o640 {
		t.Errorf("the file has the mode %v", info.Mode())
	}
	boosts := check.Get(s.FindBoosts([]string{"a"}))(t)
	check.Same(t, 14.0, boosts[0].Weight, "the weight that holds")
}

// Of many savers at a time each has the change of the others, or begins again.
func TestSavesAtATime(t *testing.T) {
	s, path := saving(t, "a: {weight: 1}\n")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			err := ErrChanged
			for errors.Is(err, ErrChanged) {
				err = save(t, s, fmt.Sprint("n", i), "{weight: 2}")
			}
			check.Pass(t, err, "save %d", i)
		})
	}
	all.Wait()
	check.Same(t, 21, strings.Count(read(t, path), "weight"), "entries")
	old := check.Get(s.List(t.Context()))(t).GetVersion()
	write(t, path, read(t, path)+"# by hand\n")
	_, err := s.Save(t.Context(), &pb.SaveNamedFilterRequest{Name: "n0", Version: old})
	check.Fails(t, err, ErrChanged, "a save of an older file")
}

// What somebody writes by hand while a save is under way stays.
func TestSaveKeepsAnEditByHand(t *testing.T) {
	s, path := saving(t, "a: {weight: 1}\n")
	c := check.Get(s.read())(t)
	write(t, path, "a: {weight: 3}\n")
	check.Fails(t, c.replace([]byte("a: {weight: 2}\n")), ErrChanged, "a save of an older file")
	check.Same(t, "a: {weight: 3}\n", read(t, path), "the file")
	check.Same(t, 2, len(check.Get(os.ReadDir(filepath.Dir(path)))(t)), "files, with the former one")
}

// A save removes what killed ones have left, and nothing that another server has under way.
func TestSaveSweeps(t *testing.T) {
	s, path := saving(t, "a: {weight: 1}\n")
	dir, past := filepath.Dir(path), time.Now().Add(-2*time.Minute)
	for _, left := range []string{".filters.yaml.17.tmp", ".filters.yaml.0.17.tmp"} {
		must(t, os.WriteFile(filepath.Join(dir, left), nil, 0o600))
		must(t, os.Chtimes(filepath.Join(dir, left), past, past))
	}
	other := check.Get(atomicfile.Create(path))(t)
	must(t, save(t, s, "a", "{weight: 2}"))
	check.Same(t, 3, len(check.Get(os.ReadDir(dir))(t)), "files, with the former one and the other")
	check.Pass(t, other.Close(), "the save of the other server")
}

// A call does not wait longer than its context for a disk that hangs, nor does one behind it. Work
// that goes on keeps others from the file.
func TestCallsLeaveADiskThatHangs(t *testing.T) {
	s, _ := saving(t, "a: {weight: 1}\n")
	hangs, began := make(chan struct{}), make(chan struct{})
	short, end := context.WithCancel(t.Context())
	go func() { <-began; end() }()
	_, err := alone(short, s, func() (int, error) { close(began); <-hangs; return 0, nil })
	check.Fails(t, err, context.Canceled, "a call that hangs")
	past, end := context.WithDeadline(t.Context(), time.Now())
	defer end()
	_, err = s.List(past)
	check.Fails(t, err, ErrSlow, "a list behind it")
	_, err = s.Save(past, &pb.SaveNamedFilterRequest{Name: "a"})
	check.Fails(t, err, ErrSlow, "a save behind it")
	close(hangs)
	must(t, save(t, s, "a", "{weight: 2}"))
}

// A panic in work on the file is logged with the stack of the fault, and fails the call unless that
// has left.
func TestPanics(t *testing.T) {
	s, _ := saving(t, "a: {weight: 1}\n")
	var logged strings.Builder
	s.files.Log = slog.New(slog.NewTextHandler(&logged, nil))
	for name, left := range map[string]bool{"a caller that waits": false, "one that has left": true} {
		logged.Reset()
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan struct{})
		func() {
			defer func() { check.Same(t, !left, recover() != nil, "panic of %s", name) }()
			_, _ = alone(ctx, s, func() (int, error) {
				if left {
					leave()
					<-gone
				}
				return faulty()
			})
		}()
		leave()
		close(gone)
		must(t, save(t, s, "a", "{weight: 2}")) // waits for the work
		if text := logged.String(); !strings.Contains(text, "level=ERROR") ||
			!strings.Contains(text, "filters.faulty") || strings.Contains(text, "secret") {
			t.Errorf("%s: logged %q", name, text)
		}
	}
}

func faulty() (int, error) { panic("secret") }

// A file that cannot be read or written, and none at all, are told by their reasons.
func TestSaveWithoutAFile(t *testing.T) {
	none := check.Get(Open("", log, NewMetrics()))(t)
	check.Fails(t, save(t, none, "a", "{weight: 1}"), ErrNoFile, "a save without a file")

	s, path := saving(t, "a: {weight: 1}\n")
	if runtime.GOOS != "windows" && os.Getuid() != 0 {
		must(t, os.Chmod(filepath.Dir(path), 0o500))
		check.Says(t, save(t, s, "a", "{weight: 2}"),
			"the server's file of filters cannot be written: permission denied", "a folder")
		must(t, os.Chmod(filepath.Dir(path), 0o700))
	}
	write(t, path+".9", "")
	must(t, os.MkdirAll(filepath.Join(path+".10", "full"), 0o700))
	check.Says(t, save(t, s, "a", "{weight: 2}"), "cannot be written: ", "a folder as a former file")
	check.Same(t, "a: {weight: 1}\n", read(t, path), "the file")
}
