package model

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/model/content"
)

// extensions are extended models of every shape, with their items.
func extensions(tb testing.TB) map[string]*Model {
	all := map[string]*Model{"local": extendedLocal(tb, 60, 4, 6)}
	for name, spec := range kinds() {
		_, all[name] = extended(tb, spec, 5)
	}
	return all
}

// documentOf is the document of an extended model, with its items.
func documentOf(tb testing.TB, x *Model) (document []byte, items []NewItem) {
	tb.Helper()
	at := x.extension
	for i, id := range at.ids {
		item := NewItem{ID: id, Users: at.degrees[i], row: row(at.basis, i, x.k),
			predictions:  at.prediction(i),
			encoderScale: at.encoderScale[i], decoderScale: at.decoderScale[i],
			graphScale: at.graphScale[i], near: at.near[i]}
		if x.local != nil {
			tb.Fatal("an extended model does not hold the local terms of its items")
		}
		items = append(items, item)
	}
	document, err := x.EncodeExtension(items)
	check.Must(tb, err)
	return document, items
}

// localDocument is a document with local terms.
func localDocument(tb testing.TB) (base *Model, document []byte) {
	tb.Helper()
	x := extendedLocal(tb, 60, 4, 6)
	e, err := x.NewEvidence([]string{"a", "b"}, []string{"c"})
	check.Must(tb, err)
	e.Add([]int32{1, 60, 61, 2, 62})
	e.Add([]int32{3, 61, 60, 62, 1})
	var items []NewItem
	for i := range 2 {
		item, err := e.Place(i, 7)
		check.Must(tb, err)
		items = append(items, item)
	}
	borrowed, err := x.Borrow("d", 9, []content.Neighbour{{Item: 5, Similarity: 1}})
	check.Must(tb, err)
	document, err = x.EncodeExtension(append(items, borrowed))
	check.Must(tb, err)
	return x.Base(), document
}

// TestExtensionsLetGoOfTheirDocuments: an extended model keeps nothing of the document.
func TestExtensionsLetGoOfTheirDocuments(t *testing.T) {
	base, document := localDocument(t)
	read := weak.Make(&document[0])
	x, _, err := base.DecodeExtension(document)
	check.Must(t, err)
	runtime.GC()
	if read.Value() != nil {
		t.Error("the document stays in memory")
	}
	runtime.KeepAlive(x)
}

// TestExtensionsAreTheirDocuments: the document of an extension depends on its items alone, makes
// the same model of the base, and can be made again of the items that it gives.
func TestExtensionsAreTheirDocuments(t *testing.T) {
	for name, x := range extensions(t) {
		t.Run(name, func(t *testing.T) {
			base := x.Base()
			var document []byte
			var items []NewItem
			if x.local != nil {
				base, document = localDocument(t)
			} else {
				document, items = documentOf(t, x)
				slices.Reverse(items)
				if again, err := base.EncodeExtension(items); err != nil ||
					!bytes.Equal(document, again) {
					t.Errorf("another order of the items gives another document, %v", err)
				}
			}
			y, items, err := base.DecodeExtension(bytes.Clone(document))
			check.Must(t, err)
			check.Same(t, document, check.Get(y.EncodeExtension(items))(t), "document of its items")
			z := check.Get(base.Extend(items))(t)
			if diff := cmp.Diff(answers(y), answers(z)); diff != "" ||
				y.Version() != z.Version() {
				t.Errorf("versions %s and %s of equal extensions (-document +items):\n%s",
					y.Version(), z.Version(), diff)
			}
			if x.local == nil {
				if diff := cmp.Diff(answers(x), answers(y)); diff != "" ||
					x.Version() != y.Version() {
					t.Errorf("version %s, want %s (-want +got):\n%s", y.Version(), x.Version(),
						diff)
				}
			}
		})
	}
}

// TestDamagedExtensions: a document with any byte changed, cut off, or of another model is refused.
func TestDamagedExtensions(t *testing.T) {
	base, x := extended(t, kinds()["learned"], 2)
	document, _ := documentOf(t, x)
	refused := func(what string, document []byte, want string) {
		t.Helper()
		_, _, err := base.DecodeExtension(document)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", what, err, want)
		}
	}
	for at := range document {
		bad := bytes.Clone(document)
		bad[at] ^= 1 << (at % 8)
		refused("a changed byte", bad, "")
	}
	for cut := 0; cut < len(document); cut += 7 {
		refused("a cut", document[:cut], "it is damaged")
	}
	refused("more", append(bytes.Clone(document), 0), "it is damaged")
	other, y := extended(t, kinds()["paper"], 2)
	of, _ := documentOf(t, y)
	refused("of another base", of, other.Version())
	file := compact(base)
	refused("a model file", file, "the format is")
	ranked := bytes.Replace(document, []byte(`"rank":"6"`), []byte(`"rank":"7"`), 1)
	seal(ranked)
	refused("of another rank", ranked, "of rank")
	check.Says(t, check.Err(decode(document)), "format", "an extension was opened as a model")
}

// TestForgedExtensions: a document with changes and the right checksum is refused, or can be used.
func TestForgedExtensions(t *testing.T) {
	soak.Native(t)
	base, document := localDocument(t)
	rng := rand.New(rand.NewPCG(7, 7))
	accepted := 0
	for range 3000 {
		forged := bytes.Clone(document)
		for range 1 + rng.IntN(3) {
			forged[rng.IntN(len(forged))] = byte(rng.Uint32())
		}
		seal(forged)
		if x, items, err := base.DecodeExtension(forged); err == nil {
			accepted++
			answers(x)
			if _, err := base.EncodeExtension(items); err != nil {
				t.Fatalf("the items of an accepted document: %v", err)
			}
		}
	}
	t.Logf("%d of 3000 are accepted", accepted)
}

// FuzzDecodeExtension decodes any bytes, as they are and with the right checksum. Nothing panics,
// nothing takes more memory than in proportion to the document, and what is accepted can be used.
func FuzzDecodeExtension(f *testing.F) {
	var bases []*Model
	for _, name := range []string{"learned", "full"} {
		base, x := extended(f, kinds()[name], 2)
		document, _ := documentOf(f, x)
		f.Add(document)
		bases = append(bases, base)
	}
	base, document := localDocument(f)
	f.Add(document)
	bases = append(bases, base)
	f.Fuzz(func(t *testing.T, data []byte) {
		for range 2 {
			for _, base := range bases {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				x, items, err := base.DecodeExtension(data)
				runtime.ReadMemStats(&after)
				if took := after.TotalAlloc - before.TotalAlloc; took > uint64(100*len(data)+1<<20) {
					t.Fatalf("%d bytes allocated for a document of %d", took, len(data))
				}
				if err != nil {
					continue
				}
				answers(x)
				check.Pass(t, check.Err(base.EncodeExtension(items)),
					"the items of an accepted document")
			}
			data = bytes.Clone(data)
			seal(data)
		}
	})
}

// BenchmarkExtension is what the document costs an extension of 100 items: its making, and its
// reading, which makes the model.
func BenchmarkExtension(b *testing.B) {
	base, x := extended(b, kinds()["learned"], 100)
	document, items := documentOf(b, x)
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(document)))
		for b.Loop() {
			if _, err := base.EncodeExtension(items); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(document)))
		for b.Loop() {
			if _, _, err := base.DecodeExtension(document); err != nil {
				b.Fatal(err)
			}
		}
	})
}
