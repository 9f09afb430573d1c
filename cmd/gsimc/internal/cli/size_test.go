package cli

import "testing"

func TestByteSize(t *testing.T) {
	for text, want := range map[string]ByteSize{
		"0": 0, "65536": 65536, "4096B": 4096, "64MiB": 64 << 20, "1.5 GiB": 3 << 29,
		"2kB": 2000, "1GB": 1e9, "7B": 7, "3KiB": 3 << 10,
	} {
		var got ByteSize
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
		if err := got.UnmarshalText([]byte(want.String())); err != nil || got != want {
			t.Errorf("%d is written %s, which is %d (%v)", want, want, got, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1e30", "NaN", "64 megs", "0x", "256", "1.5"} {
		if err := new(ByteSize).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestCounted(t *testing.T) {
	for n, want := range []string{"0 items", "1 item", "2 items"} {
		if got := Counted(n, "item"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
