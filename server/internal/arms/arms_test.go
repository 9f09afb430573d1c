package arms

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// Shares are those that were asked for, within four standard deviations of a binomial.
func TestShares(t *testing.T) {
	const users = 100_000
	s := newSplit([]Arm{{Name: "a", Share: 10}, {Name: "b", Share: 0.5}, {Name: "c"}}, "salt")
	count := make([]int, 4)
	for u := range users {
		count[s.Of(fmt.Sprint("user-", u))]++
	}
	for i := range count {
		p := s.Share(i) / 100
		if d := math.Abs(float64(count[i]) - users*p); d > 4*math.Sqrt(users*p*(1-p)) {
			t.Errorf("arm %d has %d of %d users, want %v percent", i, count[i], users, s.Share(i))
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

// Shares that are set later give the split that begins with them; those of an arm in the midst move
// the arms behind it too. A dropped arm stays so.
func TestSetShares(t *testing.T) {
	first := []Arm{{Name: "a", Share: 10}, {Name: "b", Share: 20}, {Name: "c", Share: 30}}
	later := []Arm{{Name: "a", Share: 10}, {Name: "b", Share: 35}, {Name: "c", Share: 30}}
	s, want, before := newSplit(first, ""), newSplit(later, ""), newSplit(first, "")
	s.SetShares(later)
	moved := map[[2]int]int{}
	for u := range 10_000 {
		user := fmt.Sprint(u)
		check.Same(t, want.Of(user), s.Of(user), "the arm of %s", user)
		if was, is := before.Of(user), s.Of(user); was != is {
			moved[[2]int{was, is}]++
		}
	}
	for _, pair := range [][2]int{{0, 3}, {3, 2}} {
		if n := moved[pair]; math.Abs(float64(n)-1500) > 4*math.Sqrt(1500) {
			t.Errorf("%d of 10000 users move from arm %d to %d, want some 1500", n, pair[0], pair[1])
		}
	}
	check.Same(t, 2, len(moved), "ways on which users move")

	s.Drop(2, true)
	s.SetShares(first)
	var got [4]int
	for u := range 10_000 {
		user := fmt.Sprint(u)
		check.Same(t, before.Drawn(user), s.Drawn(user), "the drawn arm of %s", user)
		got[s.Of(user)]++
	}
	check.Same(t, 0, got[2], "users of a dropped arm")
	check.Same(t, []float64{60, 10, 0, 30}, []float64{s.Share(0), s.Share(1), s.Share(2), s.Share(3)},
		"shares with one dropped arm")
	check.Same(t, []float64{40, 20}, []float64{s.Given(0), s.Given(2)}, "given shares")
	s.Drop(2, false)
	check.Same(t, 20.0, s.Share(2), "share of the arm with another model")
}

// Of shares that add up to 100 but for rounding nobody is left to main.
func TestRoundedShares(t *testing.T) {
	others := make([]Arm, MaxArms)
	for i := range others {
		others[i] = Arm{Name: string(rune('a' + i)), Share: 100.0 / MaxArms}
	}
	thirds := []Arm{{Name: "a", Share: 33.4}, {Name: "b", Share: 33.3}, {Name: "c", Share: 33.3},
		{Name: "d"}}
	for _, all := range [][]Arm{others, thirds} {
		check.Pass(t, Validate(all), "shares of 100 percent in all")
		s := newSplit(all, "")
		check.Same(t, 0.0, s.Share(0), "share of main")
		to := s.shares.Load().to
		check.Same(t, 1.0, to[len(all)], "end of the last interval")
	}
	check.Same(t, 1.0, newSplit(thirds, "").shares.Load().to[3], "end of c, before an empty one")
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
		"100.001": {{Name: "a", Share: 60}, {Name: "b", Share: 40.001}},
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
