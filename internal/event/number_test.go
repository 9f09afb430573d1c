package event

import (
	"regexp"
	"strings"
	"testing"
)

// The pattern and the function are one rule.
func TestNumberNames(t *testing.T) {
	pattern := regexp.MustCompile(strings.Fields(NumberSpelling)[0])
	for name, want := range map[string]bool{
		"price": true, "max_price": true, "p2": true, "a_b_c": true, strings.Repeat("a", 64): true,
		"": false, "_": false, "a_": false, "_a": false, "a__b": false, "a_2": false, "2a": false,
		"Price": false, "a.b": false, "a-b": false, "ä": false, "a b": false,
	} {
		if got := ValidNumberName(name); got != want || pattern.MatchString(name) != want {
			t.Errorf("%q: valid %t, by the pattern %t, want %t", name, got,
				pattern.MatchString(name), want)
		}
	}
	if ValidNumberName(strings.Repeat("a", MaxNumberBytes+1)) {
		t.Error("a name that is too long is valid")
	}
}
