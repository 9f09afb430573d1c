package content

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// drawn returns documents of some of n items, of words, categories and labels with the same names.
func drawn(n int, seed uint64) map[int32]Document {
	rng := rand.New(rand.NewPCG(seed, 1))
	name := func() string { return fmt.Sprint("x", int(20*math.Pow(rng.Float64(), 2))) }
	all := map[int32]Document{}
	for i := range int32(n) {
		var words []string
		for range rng.IntN(5) {
			words = append(words, name())
		}
		if rng.IntN(3) == 0 {
			words = append(words, fmt.Sprint(1985+rng.IntN(30)))
		}
		if d := (Document{Title: strings.Join(words, " ")}); rng.IntN(8) > 0 {
			for range rng.IntN(3) {
				d.Categories, d.Labels = append(d.Categories, name()), append(d.Labels, name())
			}
			all[i] = d
		}
	}
	return all
}

// vectors are the documents as the package comment defines them, by strings.
func tokensOf(d Document) map[string]bool {
	all := map[string]bool{}
	words := strings.Fields(d.Title)
	for i, w := range words {
		all["word "+w] = true
		if len(w) == 4 && (w[:2] == "19" || w[:2] == "20") {
			all["year "+w], all["decade "+w[:3]] = true, true
		}
		if i > 0 {
			all["pair "+words[i-1]+" "+w] = true
		}
	}
	for _, c := range d.Categories {
		all["category "+c] = true
	}
	for _, l := range d.Labels {
		all["label "+l] = true
	}
	return all
}

// similarities are the cosines of d with the documents.
func similarities(all map[int32]Document, d Document) map[int32]float64 {
	have := map[string]int{}
	for _, other := range all {
		for token := range tokensOf(other) {
			have[token]++
		}
	}
	square := func(token string) float64 {
		idf := math.Log(float64(len(all)+1) / float64(have[token]+1))
		return idf * idf
	}
	dot := func(a, b map[string]bool) (sum float64) {
		for token := range a {
			if b[token] {
				sum += square(token)
			}
		}
		return sum
	}
	own, found := tokensOf(d), map[int32]float64{}
	for i, other := range all {
		its := tokensOf(other)
		if x := dot(own, its); x > 0 {
			found[i] = x / math.Sqrt(dot(own, own)*dot(its, its))
		}
	}
	return found
}

func TestNearest(t *testing.T) {
	const n, k = 300, 10
	for seed := range uint64(5) {
		all := drawn(n, seed)
		x := NewIndex(n, maps.All(all), nil)
		for _, d := range append(slices.Collect(maps.Values(drawn(20, seed+100))),
			Document{Title: "x1 unheard of"}, Document{}, Document{Title: "unheard"}) {
			want := similarities(all, d)
			got := x.Nearest(d, k)
			check.MustSame(t, min(k, len(want)), len(got), "neighbours of %+v", d)
			if !slices.IsSortedFunc(got, func(a, b Neighbour) int {
				return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.Item, b.Item))
			}) {
				t.Errorf("%+v are not in order", got)
			}
			for _, near := range got {
				if near.Similarity > 1 || math.Abs(near.Similarity-want[near.Item]) > 1e-5 {
					t.Errorf("item %d is %v similar, want %v", near.Item, near.Similarity,
						want[near.Item])
				}
				delete(want, near.Item)
			}
			for i, similarity := range want { // the others are no nearer
				if similarity > got[len(got)-1].Similarity+1e-5 {
					t.Errorf("item %d with %v is left out, %+v is not", i, similarity, got)
				}
			}
		}
	}
}

// A category that all items have tells nothing, whoever asks by it alone or is known by it alone,
// and leaves nothing behind for later searches.
func TestTokensOfAllItems(t *testing.T) {
	all := drawn(200, 3)
	for i, d := range all {
		d.Categories = append([]string{"film"}, d.Categories...)
		all[i] = d
	}
	film := Document{Categories: []string{"film"}}
	all[7] = film
	x := NewIndex(200, maps.All(all), nil)
	for i, d := range all {
		if near := x.Nearest(film, 10); len(near) > 0 {
			t.Fatalf("items with a category of all are near each other: %v", near)
		}
		want := NewIndex(200, maps.All(all), nil).Nearest(d, 10)
		check.MustSame(t, want, x.Nearest(d, 10), "neighbours of item %d, as by a new index", i)
		sums := make([]float32, 200)
		if x.AddTo(sums, film); slices.Max(sums) != 0 {
			t.Fatalf("a category of all adds %v", sums)
		}
	}
}

func TestTokens(t *testing.T) {
	same := [][2]Document{
		{{Title: "The MATRIX (1999)"}, {Title: "the matrix, 1999"}},
		{{Title: "a b"}, {Title: "A — b!"}},
		{{Labels: []string{"x", "y"}}, {Labels: []string{"y", "x", "y"}}},
	}
	for _, pair := range same {
		check.Same(t, pair[1].tokens(), pair[0].tokens(), "tokens of %+v", pair)
	}
	kinds := []Document{{Title: "x"}, {Categories: []string{"x"}}, {Labels: []string{"x"}}}
	for i := range kinds {
		for j := range i {
			if slices.Equal(kinds[i].tokens(), kinds[j].tokens()) {
				t.Errorf("%+v and %+v are alike", kinds[i], kinds[j])
			}
		}
	}
	ab, ba := Document{Title: "a b"}, Document{Title: "b a"}
	if len(ab.tokens()) != 3 || slices.Equal(ab.tokens(), ba.tokens()) {
		t.Error("the order of words is lost")
	}
}

// Two titles are not alike by numbers that are no years.
func TestNumerals(t *testing.T) {
	for _, c := range []struct {
		a, b   string
		shared int // tokens
	}{
		{"Toy Story 3", "Step Up 3", 0},
		{"Toy Story (2010)", "Step Up (2010)", 3}, // a word, the year and its decade
		{"Toy Story 3", "Toy Story 2", 3},
		{"Toy Story 3", "Toy Story 3D", 3},
		{"Story 3", "Toy Story 3", 2}, // the word, and the word with its number
		{"300", "300", 0},
		{"R2 D2", "R2", 1},
	} {
		a, b, shared := Document{Title: c.a}, Document{Title: c.b}, 0
		for _, token := range a.tokens() {
			if slices.Contains(b.tokens(), token) {
				shared++
			}
		}
		check.Same(t, c.shared, shared, "tokens of %q and %q", c.a, c.b)
	}
}

func TestNearestAtOnce(t *testing.T) {
	all := drawn(200, 1)
	x := NewIndex(200, maps.All(all), nil)
	want := x.Nearest(all[0], 10)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				check.Same(t, want, x.Nearest(all[0], 10), "neighbours after the change")
			}
		})
	}
	wait.Wait()
}

// An index of many documents is sorted in short steps.
func TestIndexInSteps(t *testing.T) {
	all, ended, steps := drawn(3000, 7), false, 0
	x := NewIndex(3000, func(yield func(int32, Document) bool) {
		maps.All(all)(yield)
		ended = true
	}, func() {
		if ended {
			steps++
		}
	})
	if steps < 100 || !slices.IsSorted(x.tokens) {
		t.Errorf("%d steps, sorted %t", steps, slices.IsSorted(x.tokens))
	}
}

// million are a million documents of five words and three categories.
func million() iter.Seq2[int32, Document] {
	return func(yield func(int32, Document) bool) {
		rng := rand.New(rand.NewPCG(1, 1))
		categories := rand.NewZipf(rng, 1.1, 4, 500)
		words := rand.NewZipf(rng, 1.1, 10, 200_000)
		for i := range int32(1_000_000) {
			var d Document
			for range 5 {
				d.Title += fmt.Sprintf(" w%d", words.Uint64())
			}
			for range 3 {
				d.Categories = append(d.Categories, fmt.Sprint("c", categories.Uint64()))
			}
			if !yield(i, d) {
				return
			}
		}
	}
}

func BenchmarkNearest(b *testing.B) {
	x := NewIndex(1_000_000, million(), nil)
	var queries []Document
	for i, d := range million() {
		if queries = append(queries, d); i == 100 {
			break
		}
	}
	for i := 0; b.Loop(); i++ {
		x.Nearest(queries[i%len(queries)], 10)
	}
}
