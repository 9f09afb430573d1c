package mend

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store/pebble/internal/smallfile"
	"github.com/gsimc/gsimc/store/pebble/internal/table"
)

func block(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return binary.LittleEndian.AppendUint32(b, masked(crc32.Checksum(b, castagnoli)))
}

// TestEachBit flips each bit of blocks, checksums included: it alone is flipped back.
func TestEachBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 5, 64, 300} {
		want := block(rng, n)
		got := bytes.Clone(want)
		if _, found := mendBlock(got); found {
			t.Errorf("%d bytes: a whole block is mended", n)
		}
		for at := range want {
			for bit := range 8 {
				got[at] ^= 1 << bit
				where, found := mendBlock(got)
				if !found || where != at || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes, bit %d of byte %d: mended at %d, %v", n, bit, at, where,
						found)
				}
			}
		}
	}
}

// TestEachBitOfLists flips each bit of a list of tables that goes over the end of a block, and
// pairs of bits of two chunks: they are flipped back.
func TestEachBitOfLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var list bytes.Buffer
	w := record.NewWriter(&list)
	for _, n := range []int{100, chunkBlock - 150, 200, 1} {
		check.Get(w.WriteRecord(block(rng, n)))(t)
	}
	check.Must(t, w.Close())
	want := list.Bytes()
	if flipped := mendChunks(bytes.Clone(want)); flipped != nil {
		t.Errorf("a whole list is mended at %d", flipped)
	}
	first, end := 111+chunkHeader, len(want)
	for at := range want {
		if first < at && at < chunkBlock-60 { // others like it
			continue
		}
		got := bytes.Clone(want)
		got[at] ^= 1 << rng.IntN(8)
		flipped := mendChunks(got)
		if !bytes.Equal(got, want) || !slices.Equal(flipped, []int{at}) {
			t.Fatalf("byte %d of %d: mended at %d", at, end, flipped)
		}
		if at >= chunkBlock {
			continue
		}
		got[at] ^= 1
		got[end-1] ^= 1 // in another chunk
		if flipped := mendChunks(got); !bytes.Equal(got, want) || len(flipped) != 2 {
			t.Fatalf("bytes %d and %d: mended at %d", at, end-1, flipped)
		}
	}
}

// TestMoreBits flips two and three bits: a block that cannot be mended stays as it is.
func TestMoreBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	b := block(rng, 4096)
	for range 200 {
		damaged := bytes.Clone(b)
		for range 2 + rng.IntN(2) {
			damaged[rng.IntN(len(b)/2)] ^= 1 << rng.IntN(8)
			damaged[len(b)/2+rng.IntN(len(b)/2)] ^= 1 << rng.IntN(8)
		}
		before := bytes.Clone(damaged)
		if at, found := mendBlock(damaged); found || !bytes.Equal(before, damaged) {
			t.Fatalf("byte %d is mended", at)
		}
	}
}

const rows = 3000

// tableOf returns a closed engine with one table, and its name, size and content.
func tableOf(t *testing.T) (files *vfs.MemFS, name string, content []byte) {
	t.Helper()
	files = vfs.NewMem()
	db := open(t, files)
	for i := range rows {
		check.Must(t, db.Set(fmt.Appendf(nil, "%08d", i), make([]byte, 20), nil))
	}
	check.Must(t, db.Flush())
	tables, err := db.SSTables()
	check.Must(t, err)
	for _, level := range tables {
		for _, of := range level {
			name = of.BackingSSTNum.String() + ".sst"
		}
	}
	check.Must(t, db.Close())
	content, err = smallfile.Read(files, files.PathJoin("db", name))
	check.Must(t, err)
	return files, name, bytes.Clone(content)
}

func open(t *testing.T, files vfs.FS) *pebble.DB {
	t.Helper()
	db, err := pebble.Open("db", &pebble.Options{FS: files, FormatMajorVersion: pebble.FormatNewest,
		Logger: quiet{}})
	check.Must(t, err)
	return db
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}

// TestFooter flips each bit of the footer of a table.
func TestFooter(t *testing.T) {
	files, name, whole := tableOf(t)
	path := files.PathJoin("db", name)
	for at := len(whole) - newestFooter; at < len(whole); at++ {
		for bit := range 8 {
			whole[at] ^= 1 << bit
			check.Must(t, smallfile.Replace(files, "db", name, bytes.Clone(whole)))
			whole[at] ^= 1 << bit
			if table.Whole(files, path) == nil {
				t.Fatalf("bit %d of byte %d from the end harms nothing", bit, len(whole)-at)
			}
			m := New(files, "db")
			if err := table.Whole(m, path); err != nil || m.Bits() != 1 {
				t.Fatalf("bit %d, byte %d from the end: %v, %d bits", bit, len(whole)-at, err,
					m.Bits())
			}
		}
	}
}

// TestLeftOut opens an engine whose table is cut off or gone.
func TestLeftOut(t *testing.T) {
	files, name, whole := tableOf(t)
	path := files.PathJoin("db", name)
	for _, left := range []int{len(whole) - 1, len(whole) / 2, 1, 0, -1} {
		err := files.Remove(path)
		if left >= 0 {
			err = smallfile.Replace(files, "db", name, bytes.Clone(whole[:left]))
		}
		check.Must(t, err)
		m := New(files, "db")
		opts := &pebble.Options{FS: m, FormatMajorVersion: pebble.FormatNewest, ReadOnly: true,
			Logger: quiet{}}
		var db *pebble.DB
		for found := true; found; {
			found = false
			if db, err = pebble.Open("db", opts); err != nil {
				var leaving error
				if found, leaving = m.LeaveOutMissing(err); leaving != nil {
					t.Fatal(leaving)
				}
			}
		}
		if err != nil || !m.LeftOut(name) {
			t.Fatalf("%d of %d bytes: %v", left, len(whole), err)
		}
		it := check.Get(db.NewIter(nil))(t)
		if it.First() || it.Error() != nil {
			t.Errorf("%d of %d bytes: a row is there, or %v", left, len(whole), it.Error())
		}
		check.Pass(t, errors.Join(it.Close(), db.Close()), "Close")
	}
}
