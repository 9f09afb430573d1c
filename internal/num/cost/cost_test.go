package cost

import "testing"

func TestPeak(t *testing.T) {
	stages := []Stage{{Peak: 10, Kept: 4}, {Peak: 7, Kept: -2}, {Peak: 8}}
	if bytes, at := Peak(100, stages); bytes != 111 || at != 1 {
		t.Errorf("peak of %v in stage %d, want 111 in 1", bytes, at)
	}
	stages[2].Peak = 12
	if bytes, at := Peak(100, stages); bytes != 114 || at != 2 {
		t.Errorf("peak of %v in stage %d, want 114 in 2", bytes, at)
	}
}
