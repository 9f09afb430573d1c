package cmdline

import (
	"cmp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/test/check"
)

type flags struct {
	Lanes   int
	Small   int8
	Users   *uint64
	Share   float64
	Every   time.Duration
	Name    string
	Verbose bool `short:"v"`

	Put struct {
		Part uint32
	} `cmd:""`
	Take struct {
		Group string
	} `cmd:"" default:"withargs"`
}

// parse returns the flags of a command line, and the parser.
func parse(t *testing.T, args ...string) (*flags, *kong.Kong, error) {
	t.Helper()
	f := &flags{}
	k := check.Get(kong.New(f, Values()...))(t)
	_, err := k.Parse(args)
	return f, k, err
}

func TestValues(t *testing.T) {
	f, _, err := parse(t, "put", "--lanes=-3", "--small=0x7f", "--users=18446744073709551615",
		"--share=1e-3", "--every=30d", "--part=7")
	check.Must(t, err)
	users := uint64(1<<64 - 1)
	want := &flags{Lanes: -3, Small: 127, Users: &users, Share: 1e-3, Every: 720 * time.Hour}
	want.Put.Part = 7
	check.Same(t, want, f, "the flags")
	for arg, want := range map[string]string{
		"--lanes=1e6":   `--lanes: "1e6", want a whole number, such as 1000`,
		"--lanes=":      `--lanes: "", want a whole number, such as 1000`,
		"--small=128":   `--small: "128", want a number nearer to 0`,
		"--users=-1":    `--users: "-1", want a whole number of 0 or more`,
		"--part=x":      `--part: "x", want a whole number of 0 or more`,
		"--share=0,5":   `--share: "0,5", want a number, such as 0.5`,
		"--share=1e999": `--share: "1e999", want a number nearer to 0`,
		"--every=3":     `--every: "3" is not a duration: want one such as 90s, 1h30m or 30d`,
		"--every=-3d":   `--every: "-3d" is not a duration: want one such as 90s, 1h30m or 30d`,
	} {
		_, _, err := parse(t, "put", arg)
		check.Says(t, err, want, "%s", arg)
	}
}

// A flag at the end that wants a value is found below its command too.
func TestWalk(t *testing.T) {
	_, k, _ := parse(t)
	for args, want := range map[string]string{"": "", "--name": "name", "--name x": "",
		"--name=": "", "-v": "", "put --part": "part", "put --name": "name", "--part": "",
		"put --name put -v": "", "--group": "group", "-v --group": "group", "take --group": "group",
		"put --group": "", "--group a --name": "name", "--name --part": "", "put -- --name": ""} {
		got := ""
		if _, wanting := Walk(k.Model.Node, strings.Fields(args)); wanting != nil {
			got = wanting.Name
		}
		check.Same(t, want, got, "the flag of %q that wants a value", args)
	}
}

// A binary that the linker gave no version has that of its build, as this one has.
func TestVersion(t *testing.T) {
	check.Same(t, "v1", Version("v1"), "the version that was linked")
	info, _ := debug.ReadBuildInfo()
	check.Same(t, cmp.Or(info.Main.Version, "unknown"), Version(""), "the version of the build")
}
