package main

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestFirstTwo(t *testing.T) {
	for _, c := range []struct {
		set  []int
		want [2]int
	}{
		{[]int{0, 1}, [2]int{0, 1}}, {[]int{2, 5, 7}, [2]int{2, 5}}, {[]int{1, 64, 1023}, [2]int{1, 64}},
	} {
		var set unix.CPUSet
		for _, processor := range c.set {
			set.Set(processor)
		}
		if got := firstTwo(&set); got != c.want {
			t.Errorf("of %v: %v, want %v", c.set, got, c.want)
		}
	}
}
