package prefetch_test

import (
	"bytes"
	"testing"

	"github.com/gsimc/gsimc/internal/num/prefetch"
	"github.com/gsimc/gsimc/internal/test/check"
)

// TestPrefetch checks that a prefetch does no harm. Nothing else of it can be seen.
func TestPrefetch(t *testing.T) {
	memory := bytes.Repeat([]byte{7}, 1000)
	for from := range 130 {
		for _, size := range []int{0, 1, 63, 64, 65, 128, 700} {
			prefetch.Slice(memory[from : from+size])
			prefetch.String(string(memory[from : from+size]))
		}
	}
	prefetch.Slice[float32](nil)
	prefetch.String("")
	prefetch.Slice([]struct{}{{}})
	prefetch.Value(&memory[999])
	prefetch.Value[[300]byte](nil)
	check.Same(t, bytes.Repeat([]byte{7}, 1000), memory, "the memory after it was fetched")
}
