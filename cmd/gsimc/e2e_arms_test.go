package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// Two models serve users who keep them over a restart, and the operator sees both.
func TestArmsServe(t *testing.T) {
	t.Parallel()
	events, model := smallModel(t)
	other, dir := filepath.Join(t.TempDir(), "other.gsimc"), t.TempDir()
	trainSmall(t, events, other, "2")
	arm := map[string]string{}
	const users = 6
	for range 2 {
		server := startServe(t, model, dir, "--arm", "next="+other+":40%", "--canary", "next")
		for n := range users {
			user := fmt.Sprint("user-", n)
			got := recommendJSON(t, server, "--user", user, "--items", "1", "--attribute").Arm
			if arm[user] != "" && arm[user] != got {
				t.Errorf("%s has the arm %s, and had %s", user, got, arm[user])
			}
			arm[user] = got
		}
		var list struct {
			Models []struct {
				Arm    string
				Share  float64 `json:"share_percent"`
				Canary *struct{ Returned bool }

				Answers string `json:"model_version"`

				Outcome *struct {
					Users int64 `json:"user_count"`
				}
			}
		}
		out := execute(t, "models", "--server", server.Admin, "--json")
		decode(t, out, &list)
		if m := list.Models; len(m) != 2 || m[0].Share != 60 || m[1].Arm != "next" ||
			m[1].Share != 40 || m[0].Canary != nil || m[1].Canary == nil || m[1].Canary.Returned {
			t.Errorf("the models are %s", out)
		}
		if m := list.Models; m[0].Outcome.Users+m[1].Outcome.Users != int64(users) {
			t.Errorf("%d users were shown lists: %s", users, out)
		}
		table := execute(t, "models", "--server", server.Admin)
		for _, column := range []string{list.Models[1].Answers, "failed", "time", "hits per user",
			"against main", "users needed"} {
			check.Has(t, table, column, "the table")
		}
		// Another server has seen the same users: the counts add up.
		second := startServe(t, model, t.TempDir(), "--arm", "next="+other+":40%")
		for n := range users {
			recommendJSON(t, second, "--user", fmt.Sprint("user-", n), "--items", "1", "--attribute")
		}
		out = execute(t, "models", "--server", server.Admin, "--with", second.Admin, "--json")
		decode(t, out, &list)
		if m := list.Models; m[0].Outcome.Users+m[1].Outcome.Users != int64(2*users) {
			t.Errorf("two servers showed %d users lists: %s", 2*users, out)
		}
		second.mustStop(t)
		refused(t, cli.ExitFailure, "would count double: leave it out", "models", "--server",
			server.Admin, "--with", strings.Replace(server.Admin, "127.0.0.1", "localhost", 1))
		third := startServe(t, model, t.TempDir(), "--arm", "next="+other+":30%")
		refused(t, cli.ExitFailure, "--with: "+third.Admin+" has other shares of the arms than "+server.Admin,
			"models", "--server", server.Admin, "--with", third.Admin)
		third.mustStop(t)
		server.mustStop(t)
	}
	seen := map[string]bool{}
	for _, a := range arm {
		seen[a] = true
	}
	if !seen["main"] || !seen["next"] {
		t.Errorf("six users have the arms %v", arm)
	}
}

// Arms get other shares at all servers, or at none that is asked in vain.
func TestSharesOfArms(t *testing.T) {
	t.Parallel()
	events, model := smallModel(t)
	other := filepath.Join(t.TempDir(), "other.gsimc")
	trainSmall(t, events, other, "2")
	start := func(more ...string) *serverProcess {
		return startServe(t, model, t.TempDir(), append([]string{"--arm", "next=" + other + ":40"}, more...)...)
	}
	a, b := start(), start()
	models := []string{"models", "--server", a.Admin, "--with", b.Admin}
	shares := func(args ...string) []float64 {
		t.Helper()
		var got struct {
			Models []struct {
				Share float64 `json:"share_percent"`
			}
		}
		decode(t, execute(t, append(args, "--json")...), &got)
		return []float64{got.Models[0].Share, got.Models[1].Share}
	}
	refused(t, cli.ExitFailure, `--share: "old" is no arm beside main; there are: next=40`, append(models, "--share", "old=1")...)
	third, fourth := start("--arm", "more="+other+":1"), start("--arm", "more="+other+":50")
	refused(t, cli.ExitFailure, "--share: "+third.Admin+" would have next=60, more=1, and "+
		fourth.Admin+" next=60, more=50: name all of these arms", "models", "--server", third.Admin,
		"--with", fourth.Admin, "--share", "next=60")
	both := []string{"models", "--server", third.Admin, "--with", fourth.Admin, "--share", "next=60",
		"--share", "more=1"}
	check.Same(t, []float64{39, 60}, shares(both...), "shares of servers that had others")
	refused(t, cli.ExitFailure, "--with: "+third.Admin+" has other arms than "+a.Admin,
		append(models, "--with", third.Admin, "--share", "next=0")...)
	refused(t, cli.ExitFailure, "--share: next=60, more=41 would be 101 percent in all", "models",
		"--server", third.Admin, "--share", "next=60", "--share", "more=41")
	fourth.mustStop(t)
	third.mustStop(t)
	refused(t, cli.ExitFailure, "is the server running there? see --with",
		append(models, "--with", third.Admin, "--share", "next=0")...)
	check.Same(t, []float64{60, 40}, shares(models...), "shares after what was refused")

	const anew = "note: the comparison of the arms began anew, and these shares hold until"
	says(t, "another share", execute(t, append(models, "--share", "next=50")...), anew)
	says(t, "the same share", execute(t, append(models, "--share", "next=50")...),
		"note: these shares hold until")
	check.Same(t, []float64{0, 100}, shares(append(models, "--share", "next=100%")...), "shares")
	for _, server := range []*serverProcess{a, b} {
		for n := range 6 {
			got := recommendJSON(t, server, "--user", fmt.Sprint("user-", n), "--items", "1")
			check.Same(t, "next", got.Arm, "the arm of user-%d", n)
		}
		server.awaitLog(t, "audit: arms have other shares", 2)
	}
	shares("models", "--server", b.Admin, "--share", "next=7.5")
	refused(t, cli.ExitFailure, "has other shares of the arms than", models...)
	check.Same(t, []float64{92.5, 7.5}, shares(append(models, "--share", "next=7.5")...), "the same shares again")
}
