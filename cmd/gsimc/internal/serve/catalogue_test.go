package serve

import (
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
)

// The catalogue may take what the flag says, or else a quarter of the memory there is, but no more
// than usual.
func TestCatalogueHasAShareOfTheMemory(t *testing.T) {
	memory := cli.MemoryLimit(0)
	for _, test := range []struct {
		flag        cli.ByteSize
		usual, want int64
	}{
		{5 << 40, 2 << 30, 5 << 40},
		{0, 1 << 20, 1 << 20},
		{0, 1 << 50, memory / 4},
	} {
		c := Cmd{MaxCatalogueSize: test.flag}
		if got := c.maxCatalogue(test.usual); got != test.want {
			t.Errorf("--max-catalogue-size %v of a machine of %d bytes, usually %d: %d, want %d",
				test.flag, memory, test.usual, got, test.want)
		}
	}
}
