package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/model/internal/sealed"
)

// openBytes writes data to a file and opens it. It fails the test if that gives a model, or an
// error of the wrong kind.
func openBytes(t *testing.T, data []byte) *FileError {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bad.gsimc")
	check.Must(t, os.WriteFile(path, data, 0o644))
	m, err := Open(path)
	if err == nil {
		t.Fatalf("a bad file of %d bytes was opened: version %s", len(data), m.Version())
	}
	var fileError *FileError
	if !errors.As(err, &fileError) || fileError.Path != path ||
		strings.Contains(err.Error(), "\n") {
		t.Fatalf("want one line that names the file, got %T: %v", err, err)
	}
	return fileError
}

func TestTruncatedFiles(t *testing.T) {
	_, path := written(t, testSpec())
	data := mustRead(t, path)
	h := check.Get(safetensors.Parse(data))(t)
	body := len(data) - len(h.Body)
	sizes := []int{0, 1, 7, 8, 9, 100, pageSize - 1, body - 1, body, body + 1, len(data) - 1}
	for _, info := range h.Arrays {
		sizes = append(sizes, body+int(info.Offsets[0]), body+int(info.Offsets[1])-1)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range soak.Times(20) {
		sizes = append(sizes, rng.IntN(len(data)))
	}
	soak.Injected(t, len(sizes), "cut files")
	for _, size := range sizes {
		e := openBytes(t, data[:size])
		if !strings.Contains(e.Reason, "cut off or damaged") &&
			!strings.Contains(e.Reason, "not a gsimc model file") {
			t.Errorf("cut to %d bytes: %v", size, e)
		}
	}
	openBytes(t, append(bytes.Clone(data), 0)) // longer is as bad
}

// TestFlippedBits flips one bit in every byte of the header, in 40 places of each page of the
// tensors, and all eight in each digit of the checksum.
func TestFlippedBits(t *testing.T) {
	soak.Native(t)
	_, path := written(t, specs()["everything"])
	data := mustRead(t, path)
	h := check.Get(safetensors.Parse(data))(t)
	flips := 0
	refused := func(at, bit int) {
		t.Helper()
		flips++
		data[at] ^= 1 << bit
		if m, err := decode(data); err == nil {
			t.Errorf("bit %d of byte %d flipped: opened as version %s", bit, at, m.version)
		}
		data[at] ^= 1 << bit
	}
	rng := rand.New(rand.NewPCG(2, 2))
	headerEnd := len(data) - len(h.Body)
	for at := range headerEnd {
		refused(at, rng.IntN(8))
	}
	for page := headerEnd; page < len(data); page += pageSize {
		for range 40 {
			refused(page+rng.IntN(min(pageSize, len(data)-page)), rng.IntN(8))
		}
	}
	digits := bytes.Index(data, []byte(checksumMark)) + len(checksumMark)
	for i := range checksumDigits {
		for bit := range 8 {
			refused(digits+i, bit)
		}
	}
	soak.Injected(t, flips, "flipped bits")
	check.Pass(t, check.Err(decode(data)), "the file itself")
}

// rawFile builds a safetensors file of a header and a body.
func rawFile(header string, body []byte) []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(data, header...), body...)
}

func TestForeignFiles(t *testing.T) {
	const someone = `{"__metadata__":{"format":"pt"},` +
		`"weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	tensorOf := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"__metadata__":{"gsimc.format":"3"},`+
			`"basis":{"dtype":%q,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
	}
	eight := make([]byte, 8)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "0 bytes long"},
		{"text", []byte("user_id,item_id,timestamp\n1,2,3\n"), "there is no header"},
		{"gzip", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03abcdefgh"), "there is no header"},
		{"zeros", make([]byte, 8192), "there is no header"},
		{"header of 2^62", append(binary.LittleEndian.AppendUint64(nil, 1<<62), "{}"...),
			"claims 4611686018427387904 bytes"},
		{"header of 2^64-1", append(binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "{}"...),
			"claims 18446744073709551615"},
		{"header of 17 MiB", rawFile("{"+strings.Repeat(" ", 17<<20)+"}", nil), "more than"},
		{"no JSON", rawFile("{]", nil), "not that of a safetensors"},
		{"open JSON", rawFile(`{"a":`, nil), "not that of a safetensors"},
		{"two objects", rawFile(`{}{}`, nil), "something follows"},
		{"nested", rawFile("{"+strings.Repeat(`"a":{`, 20000), nil), "not that of a safetensors"},
		{"metadata twice", rawFile(`{"__metadata__":{},"__metadata__":{}}`, nil), "comes twice"},
		{"metadata not strings", rawFile(`{"__metadata__":{"a":1}}`, nil),
			"not that of a safetensors"},
		{"tensor twice",
			rawFile(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},`+
				`"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, nil),
			`"a" comes twice`},
		{"unknown field that cannot be printed", rawFile("{\"a\":{\"d\xf4pe\":\"U8\"}}", nil),
			`unknown field "d?pe"`},
		{"unknown field", rawFile(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}}`,
			nil), "unknown field"},
		{"another model", rawFile(someone, eight), `no "gsimc.format"`},
		{"later format", rawFile(`{"__metadata__":{"gsimc.format":"5"}}`, nil),
			`format version "5"`},
		{"no checksum", rawFile(tensorOf("F32", "[2,1]", "[0,8]"), eight), "no checksum"},
		{"type", rawFile(tensorOf("BF16", "[4]", "[0,8]"), eight), `type "BF16"`},
		{"shape overflow", rawFile(tensorOf("F32", "[4611686018427387904,4]", "[0,8]"), eight),
			"no size"},
		{"shape negative", rawFile(tensorOf("F32", "[-2]", "[0,8]"), eight), "no size"},
		{"shape 2^64", rawFile(tensorOf("F32", "[18446744073709551616]", "[0,8]"), eight),
			"not that of a safetensors"},
		{"shape fraction", rawFile(tensorOf("F32", "[1.5]", "[0,8]"), eight),
			"not that of a safetensors"},
		{"shape too small", rawFile(tensorOf("F32", "[1]", "[0,8]"), eight),
			"has 8 bytes for the shape [1]"},
		{"offset beyond the end", rawFile(tensorOf("F32", "[4]", "[0,16]"), eight),
			"the file has 111 bytes, but its header describes 119"},
		{"offset beyond all files", rawFile(tensorOf("F32", "[4]", "[0,9223372036854775807]"),
			eight), "describes 92233720368547759"},
		{"offset negative", rawFile(tensorOf("F32", "[2]", "[-8,0]"), nil), "offsets [-8 0]"},
		{"offsets reversed", rawFile(tensorOf("F32", "[2]", "[8,0]"), eight), "offsets [8 0]"},
		{"offsets of three", rawFile(tensorOf("F32", "[2]", "[0,7,8]"), eight), "offsets [0 7 8]"},
		{"offsets null", rawFile(tensorOf("F32", "[2]", "null"), nil), "offsets []"},
		{"hole at the end", rawFile(tensorOf("F32", "[1]", "[0,4]"), eight),
			"bytes, but its header describes"},
		{"hole at the start", rawFile(tensorOf("F32", "[1]", "[4,8]"), eight), "begins at byte 4"},
		{"overlap",
			rawFile(`{"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]},`+
				`"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, eight),
			`"b" begins at byte 4`},
	} {
		t.Run(c.name, func(t *testing.T) {
			check.Has(t, openBytes(t, c.data).Reason, c.want, "reason")
		})
	}
}

func TestOpenWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	var fileError *FileError
	if _, err := Open(dir); !errors.As(err, &fileError) ||
		!strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("directory: %v", err)
	}
	if _, err := Open(os.DevNull); !errors.As(err, &fileError) {
		t.Errorf("device: %v", err)
	}
	check.Fails(t, check.Err(Open(filepath.Join(dir, "none"))), os.ErrNotExist, "no file")
}

// The place of the checksum in a file.
const (
	checksumMark   = `"checksum":"`
	checksumDigits = 64
)

// seal writes the checksum that belongs to data into it, if there is a place for it.
func seal(data []byte) {
	at := bytes.Index(data, []byte(checksumMark)) + len(checksumMark)
	if at < len(checksumMark) || at+checksumDigits > len(data) {
		return
	}
	copy(data[at:], strings.Repeat("0", checksumDigits))
	sum := sha256.Sum256(data)
	hex.Encode(data[at:], sum[:])
}

type tensors = map[string]*sealed.Tensor // by name

// forged lays out a file of the tensors and metadata of m after a change, with the right checksum:
// what only another program can have written.
func forged(m *Model, change func(map[string]string, tensors)) []byte {
	ts, meta := m.tensors(), m.metadata()
	byName := tensors{}
	for i := range ts {
		ts[i].Data = bytes.Clone(ts[i].Data)
		byName[ts[i].Name] = &ts[i]
	}
	change(meta, byName)
	return laidOut(meta, ts, pageSize)
}

func laidOut(meta map[string]string, ts []sealed.Tensor, alignment int) []byte {
	var b bytes.Buffer
	if _, err := sealed.LayOut(meta, ts, alignment).WriteTo(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func TestBadContent(t *testing.T) {
	spec := testSpec()
	spec.Covariance = CovarianceFull
	m, _ := written(t, spec) // 30 items, rank 4
	nan32, nan64 := math.Float32bits(float32(math.NaN())), math.Float64bits(math.NaN())
	type meta = map[string]string
	put32, put64 := binary.LittleEndian.PutUint32, binary.LittleEndian.PutUint64
	for _, c := range []struct {
		name   string
		change func(m meta, ts tensors)
		want   string // empty: valid
	}{
		{"nothing", func(meta, tensors) {}, ""},
		{"more metadata", func(m meta, _ tensors) { m["made.by"] = `"checksum":"` }, ""},
		{"window a fraction", func(m meta, _ tensors) { m["window"] = "2.5" }, `"window" = "2.5"`},
		{"no filter", func(m meta, _ tensors) { delete(m, "filter") }, `have no "filter"`},
		{"alpha a word", func(m meta, _ tensors) { m["alpha"] = "much" }, `"alpha" = "much"`},
		{"alpha NaN", func(m meta, _ tensors) { m["alpha"] = "NaN" }, "Alpha: NaN"},
		{"users", func(m meta, _ tensors) { m["train_users"] = "1" }, "want 0 to TrainUsers = 1"},
		{"covariance", func(m meta, _ tensors) { m["covariance"] = "none" }, `Covariance: "none"`},
		{"no basis", func(_ meta, ts tensors) { ts["basis"].Name = "Basis" }, `no matrix "basis"`},
		{"basis a vector", func(_ meta, ts tensors) { ts["basis"].Shape = []int64{120} },
			`no matrix "basis"`},
		{"rank above items", func(_ meta, ts tensors) { ts["basis"].Shape = []int64{4, 30} },
			"4 items and rank 30"},
		{"rank 0", func(_ meta, ts tensors) {
			ts["basis"].Shape, ts["basis"].Data = []int64{30, 0}, nil
		}, "30 items and rank 0"},
		{"no rotation", func(_ meta, ts tensors) { ts["rotation"].Name = "r" },
			`no tensor "rotation"`},
		{"predictor of another shape", func(_ meta, ts tensors) {
			ts["predictor"].Shape = []int64{4, 30}
		}, `"predictor" has shape [4 30]`},
		{"degrees as floats", func(_ meta, ts tensors) { ts["degrees"].DType = safetensors.F64 },
			`"degrees" has type F64`},
		{"p0 a matrix", func(_ meta, ts tensors) { ts["p0"].Shape = []int64{2, 2} },
			`"p0" has shape [2 2]`},
		{"basis NaN", func(_ meta, ts tensors) { put32(ts["basis"].Data[8:], nan32) },
			"basis[2] is NaN"},
		{"predictor infinite", func(_ meta, ts tensors) { put32(ts["predictor"].Data, 0x7f800000) },
			"predictor[0] is +Inf"},
		{"scale NaN", func(_ meta, ts tensors) { put32(ts["encoder_scale"].Data, nan32) },
			"encoder_scale[0] is NaN"},
		{"p0 negative", func(_ meta, ts tensors) { put32(ts["p0"].Data, math.Float32bits(-1)) },
			"P0[0]: -1"},
		{"eigenvalue NaN", func(_ meta, ts tensors) { put64(ts["eigenvalues"].Data, nan64) },
			"eigenvalue 0 is NaN"},
		{"eigenvalues rise", func(_ meta, ts tensors) {
			put64(ts["eigenvalues"].Data[8:], math.Float64bits(5))
		}, "eigenvalue 1 is above"},
		{"λ falls", func(_ meta, ts tensors) { put64(ts["lambda"].Data[8:], math.Float64bits(-5)) },
			"eigenvalue 1 is above"},
		{"degree negative", func(_ meta, ts tensors) { put64(ts["degrees"].Data, 1<<63) },
			"item 0 has degree -9223372036854775808"},
		{"ids begin late", func(_ meta, ts tensors) { put64(ts["item_offsets"].Data, 1) },
			"item_offsets run from 1"},
		{"ids end early", func(_ meta, ts tensors) { put64(ts["item_offsets"].Data[30*8:], 3) },
			"to 3, want"},
		{"ids fall", func(_ meta, ts tensors) { put64(ts["item_offsets"].Data[8:], 1<<62) },
			"item_offsets[2] is 24, below"},
		{"id negative", func(_ meta, ts tensors) { put64(ts["item_offsets"].Data[8:], 1<<63) },
			"item_offsets[1] is -9223372036854775808"},
		{"id empty", func(_ meta, ts tensors) { put64(ts["item_offsets"].Data[8:], 0) },
			"item 0 has an id of 0 bytes"},
		{"ids unsorted", func(_ meta, ts tensors) { ts["item_ids"].Data[0] = 'x' },
			"want distinct ids in bytewise order"},
		{"id not UTF-8", func(_ meta, ts tensors) { ts["item_ids"].Data[0] = 0xff },
			"not valid UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := forged(m, c.change)
			if c.want == "" {
				if _, err := decode(data); err != nil {
					t.Error(err)
				}
				return
			}
			if e := openBytes(t, data); !strings.Contains(e.Reason, c.want) ||
				!strings.Contains(e.Reason, "train a") {
				t.Errorf("%v, want %q and what to do", e, c.want)
			}
		})
	}
}

// compact is the smallest file of m: without padding of the header and between tensors. The format
// allows it.
func compact(m *Model) []byte { return laidOut(m.metadata(), m.tensors(), 1) }

func TestCompactFile(t *testing.T) {
	for name, spec := range specs() {
		m, _ := written(t, spec)
		got, err := decode(compact(m))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check.Same(t, answers(m), answers(got), "%s", name)
	}
}

// FuzzOpen decodes any bytes, as they are and with the right checksum. Nothing panics, nothing
// takes more memory than in proportion to the file, and what is accepted can be used.
func FuzzOpen(f *testing.F) {
	for _, covariance := range []string{CovarianceDiagonal, CovarianceFull} {
		spec := testSpec()
		spec.Covariance = covariance
		f.Add(compact(mustNew(f, spec, randomBasis(rand.New(rand.NewPCG(3, 4)), 3, 2), nil)))
	}
	f.Add(rawFile(`{"__metadata__":{"gsimc.format":"3"},`+
		`"basis":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}`, make([]byte, 8)))
	f.Add(append(binary.LittleEndian.AppendUint64(nil, 1<<62), "{}"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		for range 2 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, err := decode(data)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > uint64(100*len(data)+1<<20) {
				t.Fatalf("%d bytes allocated for a file of %d", took, len(data))
			}
			if err == nil {
				answers(m)
			}
			data = bytes.Clone(data)
			seal(data)
		}
	})
}
