package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
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
		for _, column := range []string{"hits per user", "against main", "users needed"} {
			if !strings.Contains(table, column) {
				t.Errorf("there is no %q in\n%s", column, table)
			}
		}
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
