package dataset

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// writeFile puts data into a new file of the test's folder.
func writeFile(tb testing.TB, name string, data []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	check.Must(tb, os.WriteFile(path, data, 0o600))
	return path
}

// pack compresses data with "none", "gzip" or "zstd".
func pack(tb testing.TB, how string, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch how {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zstd":
		z := check.Get(zstd.NewWriter(&b))(tb)
		w = z
	default:
		return data
	}
	check.Get(w.Write(data))(tb)
	check.Must(tb, w.Close())
	return b.Bytes()
}

// readBytes reads data as if it were the file called name. Times are seconds unless opt says more.
func readBytes(name string, data []byte, opt Options) (*Interactions, *Report, error) {
	if opt.TimeUnit == "" {
		opt.TimeUnit = "s"
	}
	l, err := newLoader([]string{name}, opt)
	if err != nil {
		return nil, nil, err
	}
	l.total = int64(len(data))
	r := bytes.NewReader(data)
	s, err := rows.NewSource(name, r, r, int64(len(data)))
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	if err := l.readSource(s); err != nil {
		return nil, nil, err
	}
	return l.finish()
}

// checkInvariants fails the test unless d keeps the promises of its type.
func checkInvariants(tb testing.TB, d *Interactions) {
	tb.Helper()
	if len(d.Ptr) != len(d.Users)+1 || d.Ptr[0] != 0 || d.Ptr[len(d.Users)] != int64(len(d.Item)) {
		tb.Fatalf("Ptr = %v for %d users and %d events", d.Ptr, len(d.Users), len(d.Item))
	}
	if d.Time != nil && len(d.Time) != len(d.Item) || d.Weight != nil &&
		len(d.Weight) != len(d.Item) {
		tb.Fatalf("%d items, %d times, %d weights", len(d.Item), len(d.Time), len(d.Weight))
	}
	for _, ids := range [][]string{d.Users, d.Items} {
		for i := 1; i < len(ids); i++ {
			if ids[i-1] >= ids[i] {
				tb.Fatalf("ids out of order: %q, %q", ids[i-1], ids[i])
			}
		}
	}
	for u := range d.Users {
		seen := map[int32]bool{}
		for j := d.Ptr[u]; j < d.Ptr[u+1]; j++ {
			i := d.Item[j]
			if i < 0 || int(i) >= len(d.Items) || seen[i] {
				tb.Fatalf("user %d: item %d is out of range or there twice", u, i)
			}
			seen[i] = true
			if d.Time != nil && j > d.Ptr[u] && d.Time[j-1] > d.Time[j] {
				tb.Fatalf("user %d: times fall", u)
			}
			if d.Weight != nil && !(d.Weight[j] > 0) {
				tb.Fatalf("user %d: weight %v", u, d.Weight[j])
			}
		}
		if len(seen) == 0 {
			tb.Fatalf("user %d has no events", u)
		}
	}
}
