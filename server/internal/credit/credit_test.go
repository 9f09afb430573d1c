package credit

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestPositionLabels(t *testing.T) {
	for position, want := range map[int]string{0: "none", 1: "1", 2: "2-3", 3: "2-3", 4: "4-10",
		10: "4-10", 11: "11-50", 50: "11-50", 51: "51+", 5000: "51+"} {
		check.Same(t, want, positionLabel(position), "position %d is counted as", position)
	}
}
