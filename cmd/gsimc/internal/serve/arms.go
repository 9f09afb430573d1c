package serve

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server"
)

// armFlags have further models answer a share of the users.
type armFlags struct {
	Arm     []string `group:"Several models:" sep:"none" placeholder:"NAME=FILE:PERCENT" help:"A further model, which answers this share of the users; --model answers the others. Read again with --model. May be given several times."`
	ArmSalt string   `group:"Several models:" placeholder:"TEXT" help:"Draws which users belong to the arms; another text draws others. Default: empty."`
	Canary  []string `group:"Several models:" placeholder:"NAME" help:"An arm that gives its users back to --model when it is worse, by the ranks that users' next items have. Needs --quality-sample."`

	CanaryEvents int     `group:"Several models:" default:"${serve_canary_events}" help:"Least number of measured events, of the canary and of --model, before it is judged; then again when there are twice as many."`
	CanaryZ      float64 `group:"Several models:" name:"canary-z" default:"${serve_canary_z}" help:"Standard errors by which a canary has to be worse."`
}

// arms reads the flags. Shares and names are checked by the server.
func (f *armFlags) arms() (list []server.Arm, err error) {
	var errs []error
	canaries := slices.Clone(f.Canary)
	for _, text := range f.Arm {
		name, file, share, ok := cutArm(text)
		if !ok {
			errs = append(errs, cli.Flagf("--arm", "%q, want NAME=FILE:PERCENT, such as "+
				"next=next.gsimc:10", text))
			continue
		}
		list = append(list, server.Arm{Name: name, Share: share,
			Open:   func() (*model.Model, error) { return cli.LoadModel("--arm", file) },
			Canary: slices.Contains(canaries, name)})
		canaries = slices.DeleteFunc(canaries, func(c string) bool { return c == name })
	}
	for _, name := range canaries {
		errs = append(errs, cli.Flagf("--canary", "there is no --arm of the name %q", name))
	}
	return list, errors.Join(errs...)
}

// cutArm returns the parts of NAME=FILE:PERCENT.
func cutArm(text string) (name, file string, share float64, ok bool) {
	name, rest, _ := strings.Cut(text, "=")
	at := strings.LastIndexByte(rest, ':')
	share, err := strconv.ParseFloat(strings.TrimSuffix(rest[at+1:], "%"), 64)
	if at <= 0 || err != nil {
		return "", "", 0, false
	}
	return name, rest[:at], share, true
}

func (f *armFlags) check() error {
	_, err := f.arms()
	return err
}
