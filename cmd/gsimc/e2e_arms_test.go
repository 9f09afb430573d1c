package main

import (
	"fmt"
	"path/filepath"
	"testing"
)

// Two models serve users who keep them over a restart, and the operator sees both.
func TestArmsServe(t *testing.T) {
	t.Parallel()
	events, model := smallModel(t)
	other, dir := filepath.Join(t.TempDir(), "other.gsimc"), t.TempDir()
	trainSmall(t, events, other, "2")
	arm := map[string]string{}
	for range 2 {
		server := startServe(t, model, dir, "--arm", "next="+other+":40%", "--canary", "next")
		for n := range 6 {
			user := fmt.Sprint("user-", n)
			got := recommendJSON(t, server, "--user", user, "--items", "1").Arm
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
			}
		}
		out := execute(t, "models", "--server", server.Admin, "--json")
		decode(t, out, &list)
		if m := list.Models; len(m) != 2 || m[0].Share != 60 || m[1].Arm != "next" ||
			m[1].Share != 40 || m[0].Canary != nil || m[1].Canary == nil || m[1].Canary.Returned {
			t.Errorf("the models are %s", out)
		}
		execute(t, "models", "--server", server.Admin)
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
