package arms

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// Shares are those that were asked for, within four standard deviations of a binomial.
func TestShares(t *testing.T) {
	const users = 100_000
	s := newSplit([]Arm{{Name: "a", Share: 10}, {Name: "b", Share: 0.5}, {Name: "c"}}, "salt")
	count := make([]int, len(s.arms))
	for u := range users {
		count[s.Of(fmt.Sprint("user-", u))]++
	}
	for i := range count {
		p := s.Share(i) / 100
		if d := math.Abs(float64(count[i]) - users*p); d > 4*math.Sqrt(users*p*(1-p)) {
			t.Errorf("%s has %d of %d users, want %v percent", s.Arm(i).Name, count[i], users,
				s.Share(i))
		}
	}
}

// The arm of a user follows from the settings alone; these were computed by another program.
func TestSplitIsFixed(t *testing.T) {
	// python3: int.from_bytes(hashlib.sha256(b"s\0ann").digest()[:8]) / 2**64
	for user, want := range map[string]float64{"ann": 0.7582502789481852, "bob": 0.7321092480231919} {
		if got := newSplit(nil, "s").point(user); math.Abs(got-want) > 1e-12 {
			t.Errorf("the point of %s is %v, want %v", user, got, want)
		}
	}
}

// A larger share of the last arm, and a dropped arm, move no users but those of main.
func TestFewUsersMove(t *testing.T) {
	before := newSplit([]Arm{{Name: "a", Share: 10}, {Name: "b", Share: 20}}, "")
	larger := newSplit([]Arm{{Name: "a", Share: 10}, {Name: "b", Share: 40}}, "")
	dropped := newSplit([]Arm{{Name: "a", Share: 10}, {Name: "b", Share: 20}}, "")
	if !dropped.Drop(1, true) || dropped.Drop(1, true) || dropped.Share(0) != 80 ||
		dropped.Share(1) != 0 {
		t.Error("the share of a dropped arm is not that of main")
	}
	salted, same := newSplit([]Arm{{Name: "a", Share: 50}}, "other"), 0
	half := newSplit([]Arm{{Name: "a", Share: 50}}, "")
	const users = 10_000
	for u := range users {
		user := fmt.Sprint(u)
		was := before.Of(user)
		if now := larger.Of(user); now != was && (was != 0 || now != 2) {
			t.Errorf("%s moves from %d to %d as the share of 2 grows", user, was, now)
		}
		if now := dropped.Of(user); now != was && (was != 1 || now != 0) {
			t.Errorf("%s moves from %d to %d as 1 is dropped", user, was, now)
		}
		if salted.Of(user) == half.Of(user) {
			same++
		}
	}
	if d := math.Abs(float64(same) - users/2); d > 4*math.Sqrt(users/4) {
		t.Errorf("with another salt %d of %d users have the same arm, want a half", same, users)
	}
}

func TestValidate(t *testing.T) {
	for want, arms := range map[string][]Arm{
		"":        {{Name: "a", Share: 60}, {Name: "b-2", Share: 40}, {Name: "zero"}},
		"match":   {{Name: "A"}},
		"taken":   {{Name: "a"}, {Name: "a"}},
		`"main"`:  {{Name: "main"}},
		"NaN":     {{Name: "a", Share: math.NaN()}},
		"percent": {{Name: "a", Share: 101}},
		"add up":  {{Name: "a", Share: 60}, {Name: "b", Share: 41}},
		"8 arms": {{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}, {Name: "f"},
			{Name: "g"}, {Name: "h"}},
		"negative": nil,
	} {
		err := Validate(arms)
		if want == "negative" {
			want, err = "-1", Validate([]Arm{{Name: "a", Share: -1}})
		}
		if want == "" && err != nil || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", arms, err, want)
		}
	}
}
