package model

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model/content"
)

// alike are neighbours, the first one of the similarity 1, the second one of 1/2, and so on.
func alike(items ...int) (near []content.Neighbour) {
	for at, i := range items {
		near = append(near, content.Neighbour{Item: int32(i), Similarity: 1 / float64(at+1)})
	}
	return near
}

// borrow returns m extended by an item that borrows from others.
func borrow(tb testing.TB, m *Model, users float64, near []content.Neighbour) *Model {
	tb.Helper()
	item := check.Get(m.Borrow("new", users, near))(tb)
	x := check.Get(m.Extend([]NewItem{item}))(tb)
	return x
}

// A borrowed item has the mixture of decoder rows and of local terms that its definition says.
func TestBorrow(t *testing.T) {
	const n, k, users = 120, 5, 33.0
	m := newLocal(t, n, k)
	near := alike(10, 50, 12)
	x, degree := borrow(t, m, users, near), math.Exp(0)
	want, terms := make([]float64, k), [2][n]float64{}
	for at, part := range []float64{36. / 49, 9. / 49, 4. / 49} {
		j := near[at].Item
		degree *= math.Pow(float64(m.Degree(j)), part)
		u, g := m.decoder(j)
		scale := borrowedScale * part * math.Pow(users/float64(m.Degree(j)), borrowedDegree)
		for l := range want {
			want[l] += scale * float64(g*u[l])
		}
		most := [2]float64{}
		for i := range int32(n) {
			most[0] = max(most[0], float64(m.local.Weight(i, j)))
			most[1] = max(most[1], float64(m.local.Weight(j, i)))
			terms[0][i] += borrowedScale * part * float64(m.local.Weight(i, j))
			terms[1][i] += borrowedScale * part * float64(m.local.Weight(j, i))
		}
		terms[0][j] += borrowedScale * part * most[0]
		terms[1][j] += borrowedScale * part * most[1]
	}
	u, g := x.decoder(n)
	for l := range want {
		if got := float64(g * u[l]); math.Abs(got-want[l]) > 1e-5*math.Abs(want[l])+1e-7 {
			t.Errorf("coordinate %d is %v, want %v", l, got, want[l])
		}
	}
	count := 0
	for i := range int32(n) {
		for way, got := range []float32{x.local.Weight(i, n), x.local.Weight(n, i)} {
			if want := terms[way][i]; math.Abs(float64(got)-want) > 1e-5*want {
				t.Errorf("way %d: the local term with item %d is %v, want %v", way, i, got, want)
			}
			count += b2i(got > 0)
		}
	}
	if count < 8 {
		t.Errorf("%d local terms", count)
	}
	check.Same(t, int64(users), x.Degree(n), "users")
	if got := borrow(t, m, 0, near).Degree(n); float64(got) != math.Round(degree) {
		t.Errorf("%d users by the neighbours, want %v", got, degree)
	}
	if d := cmp.Diff([]int32{10, 50, 12}, x.Like(n)); d != "" || x.Like(3) != nil {
		t.Errorf("like (-want +got):\n%s, and item 3 like %v", d, x.Like(3))
	}
}

// joined returns the row of an item that borrowed one and has histories that are all the same,
// from its row without content.
func joined(m *Model, borrowed, plain NewItem, histories, users float64) []float64 {
	x, y := make([]float64, m.k), make([]float64, m.k)
	square := 0.0
	for l := range y {
		x[l], y[l] = float64(borrowed.row[l]), float64(plain.row[l])
		square += y[l] * y[l]
	}
	sample := max(users/histories, 1)
	lost := 1 - 1/sample // the part of a squared length, see nystrom
	shrunk := math.Sqrt(1 - lost/histories)
	x, y = m.rotation.back(x), m.rotation.back(y)
	length := 0.0
	for j := range y {
		within := m.kappa[0]/m.kappa[j] - 1
		c := 0.3 * within * within
		own := y[j] / math.Sqrt(1-square*lost) / shrunk
		y[j] = (c*x[j] + histories*own) / (c + histories)
		length += y[j] * y[j]
	}
	for j := range y {
		y[j] /= math.Sqrt(1 + length*lost)
	}
	return m.rotation.apply(y)
}

// Few histories add to what is borrowed, and many take its place.
func TestPlaceNear(t *testing.T) {
	m := newLocal(t, 120, 5)
	place := func(histories int, near []content.Neighbour, placeNear bool) NewItem {
		e := check.Get(m.NewEvidence([]string{"new"}, nil))(t)
		for range histories {
			e.Add([]int32{20, 120, 21, 23})
		}
		item, err := e.Place(0, 30)
		if placeNear {
			item, err = e.PlaceNear(0, 30, near)
		}
		check.Must(t, err)
		return item
	}
	document := func(item NewItem) []byte {
		b := check.Get(m.EncodeExtension([]NewItem{item}))(t)
		return b
	}
	check.Same(t, document(place(3, nil, false)), document(place(3, nil, true)),
		"without neighbours it is Place")
	borrowed := check.Get(m.Borrow("new", 30, alike(70)))(t)
	check.Same(t, document(borrowed), document(place(0, alike(70), true)),
		"without histories it is Borrow")
	for _, histories := range []int{1, 3, 10, 100} {
		near, plain := place(histories, alike(70), true), place(histories, nil, true)
		for l, want := range joined(m, borrowed, plain, float64(histories), 30) {
			if got := float64(near.row[l]); math.Abs(got-want) > 1e-5 {
				t.Errorf("%d histories: coordinate %d is %v, want %v", histories, l, got, want)
			}
		}
		check.Same(t, histories < 20, len(near.Near()) > 0, "%d histories: it is like 70", histories)
		x := check.Get(m.Extend([]NewItem{near}))(t)
		if x.local.Weight(20, 120) == 0 || histories < 100 && x.local.Weight(69, 120) == 0 {
			t.Errorf("%d histories: no local term of the item before it, or of that before 70",
				histories)
		}
	}
}

func TestBorrowNothing(t *testing.T) {
	m := newLocal(t, 60, 4)
	for _, users := range []float64{0, -1, 5} {
		if _, err := m.Borrow("new", users, nil); err == nil {
			t.Errorf("an item of %v users is like nothing, and no error", users)
		}
	}
	for _, users := range []float64{math.NaN(), math.Inf(1), 1e300} {
		if _, err := m.Borrow("new", users, alike(1)); err == nil {
			t.Errorf("%v users, and no error", users)
		}
	}
	check.Same(t, 10, len(borrow(t, m, 5, alike(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)).Like(60)),
		"items that the item is like")
	check.Same(t, 0.0, m.DegreeNear(nil), "users of an item without neighbours")
}

// A document without what is borrowed is what it was before, and one with neighbours that the base
// cannot have is refused.
func TestDocumentsWithNeighbours(t *testing.T) {
	m := newLocal(t, 60, 4)
	item := check.Get(m.Borrow("new", 3, alike(1, 2)))(t)
	encode := func(near []int32) []byte {
		changed := item
		changed.near = near
		document := check.Get(m.EncodeExtension([]NewItem{changed}))(t)
		return document
	}
	if bytes.Contains(encode(nil), []byte("near_")) {
		t.Error("arrays of neighbours, and there are none")
	}
	many := make([]int32, ContentNeighbours+1)
	for i := range many {
		many[i] = int32(i)
	}
	for _, near := range [][]int32{{60}, {-1}, {math.MaxInt32}, {3, 3}, many} {
		if _, _, err := m.DecodeExtension(encode(near)); err == nil {
			t.Errorf("an item like %v is accepted", near)
		}
	}
	x, items, err := m.DecodeExtension(encode([]int32{59, 0}))
	if err != nil || !slices.Equal(x.Like(60), []int32{59, 0}) {
		t.Fatalf("like %v: %v", x.Like(60), err)
	}
	if again, err := m.EncodeExtension(items); err != nil ||
		!bytes.Equal(again, encode([]int32{59, 0})) {
		t.Errorf("the items of a document give another one, %v", err)
	}
}
