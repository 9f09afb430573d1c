package cli

import "testing"

func TestIDText(t *testing.T) {
	for user, want := range map[string]string{
		"alice": "alice", "zoë 7": "zoë 7", "a\nb": `"a\nb"`, `"a"`: `"\"a\""`, "\xff": `"\xff"`,
	} {
		if got := IDText(user); got != want {
			t.Errorf("%q is listed as %s, want %s", user, got, want)
		}
	}
}
