package dataset

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

func TestSeededSplit(t *testing.T) {
	for _, tt := range []struct{ users, train, validation, test int }{
		{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 1, 0, 1}, {5, 4, 0, 1}, {9, 7, 0, 2}, {10, 8, 1, 1},
		{19, 15, 1, 3}, {20, 16, 2, 2},
		// The sizes of the three reference data sets.
		{671, 536, 67, 68}, {5973, 4778, 597, 598}, {50335, 40268, 5033, 5034},
	} {
		s := SeededSplit(tt.users, 7)
		got := []int{s.Count(Unassigned), s.Count(Train), s.Count(Validation), s.Count(Test)}
		want := []int{0, tt.train, tt.validation, tt.test}
		check.Same(t, want, got, "%d users: unassigned, train, validation, test", tt.users)
	}
	check.Same(t, SeededSplit(1000, 1), SeededSplit(1000, 1), "two splits of the same seed")
	if slices.Equal(SeededSplit(1000, 1), SeededSplit(1000, 2)) {
		t.Error("two seeds give the same split")
	}
}

func TestReadSplitOfQuotedIDs(t *testing.T) {
	d := &Interactions{Ptr: make([]int64, 101)}
	for u := range 100 {
		d.Users = append(d.Users, fmt.Sprintf("user \"%02d\",\r\n\té", u))
	}
	want := SeededSplit(100, 3)
	want[17] = Unassigned
	rows := [][]string{{"user_id", "role"}}
	for u, role := range want {
		if role != Unassigned {
			rows = append(rows, []string{d.Users[u], role.String()})
		}
	}
	var text bytes.Buffer
	check.Must(t, csv.NewWriter(&text).WriteAll(rows))
	for _, name := range []string{"none", "gzip", "zstd"} {
		got := check.Get(ReadSplit(writeFile(t, "split", pack(t, name, text.Bytes())), d))(t)
		check.Same(t, want, got, "%s", name)
	}
}

func TestReadSplit(t *testing.T) {
	d := &Interactions{Users: []string{"a", "b", "c"}, Ptr: make([]int64, 4)}
	s, err := ReadSplit(writeFile(t, "s",
		[]byte("x,role,user_id\n1,test,c\n2,train,a\n3,train,z\n")), d)
	if want := (Split{Train, Unassigned, Test}); err != nil || !slices.Equal(s, want) {
		t.Errorf("split %v, %v, want %v", s, err, want)
	}
	for text, want := range map[string]string{
		"user_id,role\n":                       "no users",
		"user_id,rolle\na,train\n":             `no column "role"; the file has "user_id", "rolle"`,
		"user_id,role\na,tarin\n":              `:2: column role: "tarin", want train, validation or test`,
		"user_id,role\n,train\n":               ":2: column user_id: empty id",
		"user_id,role\na,train\na,test\n":      `:3: column user_id: user "a" was there before`,
		"user_id,role\nother,train\n":          "is it the split of other data?",
		`{"user_id":"a","role":"train"}`:       "must be CSV or TSV, not jsonl",
		"PAR1 whatever":                        "must be CSV or TSV, not parquet",
		"user_id,role\n\"a,train\nb,train\n":   "not closed",
		"user_id,role\n\xff,train\nb,train\n":  "not valid UTF-8",
		"user_id,role,role\na,train,test\n":    `column "role" twice`,
		"user_id,role\na,train,and more too\n": "the row has 3 fields",
	} {
		if _, err := ReadSplit(writeFile(t, "s", []byte(text)), d); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestPartition(t *testing.T) {
	d, _, err := readBytes("f", []byte("user_id,item_id,timestamp,weight\n"+
		"t1,b,1,1\nt1,d,2,2\nt2,d,1,3\n"+ // training: the items are b and d
		"v1,a,1,4\nv1,d,2,5\nv1,b,3,6\n"+ // loses a, stays
		"v2,a,1,7\nv2,d,2,8\n"+ // loses a, too short
		"x1,c,1,9\n"+ // loses everything
		"x2,d,1,10\nx2,b,1,11\nx2,c,1,12\n"+
		"z,b,1,1\nz,d,2,1\n"), Options{WeightColumn: "weight"})
	check.Must(t, err)
	got, err := d.Partition(Split{Train, Train, Validation, Validation, Test, Test, Unassigned})
	check.Must(t, err)
	want := &Partition{
		Items: []string{"b", "d"},
		Train: Histories{[]int32{0, 1}, []int64{0, 2, 3}, []int32{0, 1, 1}, []int64{1, 2, 1},
			[]float32{1, 2, 3}, nil, nil},
		Validation: Histories{[]int32{2}, []int64{0, 2}, []int32{1, 0}, []int64{2, 3},
			[]float32{5, 6}, nil, nil},
		Test: Histories{[]int32{5}, []int64{0, 2}, []int32{1, 0}, []int64{1, 1},
			[]float32{10, 11}, nil, nil},
	}
	check.Same(t, want, got, "partition")
	v := &got.Validation
	if v.Len() != 1 || !slices.Equal(v.Of(0), []int32{1, 0}) ||
		!slices.Equal(v.Times(0), []int64{2, 3}) || !slices.Equal(v.Weights(0), []float32{5, 6}) {
		t.Errorf("validation user: %v %v %v", v.Of(0), v.Times(0), v.Weights(0))
	}
	if _, err := d.Partition(make(Split, 7)); err == nil ||
		!strings.Contains(err.Error(), "no training users, so nothing can be learned: give at "+
			"least one user the role train") {
		t.Errorf("no training users: error %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a split of another length must panic")
		}
	}()
	d.Partition(make(Split, 6))
}

// Histories of users who are held out end with an item that is not hidden, or have too few.
func TestHide(t *testing.T) {
	d, _, err := readBytes("f", []byte("user_id,item_id,timestamp,weight\n"+
		"t,=de,1,1\nt,a,2,2\nt,b,3,3\nt,=pro,4,4\n"+
		"v,=de,1,1\nv,=pro,2,2\n"+ // has nothing else
		"x,a,1,1\nx,=de,2,2\nx,b,3,3\nx,=pro,4,4\n"+
		"y,=de,1,5\ny,a,2,6\n"), Options{WeightColumn: "weight"})
	check.Must(t, err)
	p := check.Get(d.Partition(Split{Train, Validation, Test, Test}))(t)
	trained := p.Train
	p.Hide(func(id string) bool { return id[0] == '=' })
	check.Same(t, trained, p.Train, "training")
	hidden := []int32{0, 1} // before a and b
	check.Same(t, Histories{Ptr: []int64{0}, Hidden: hidden}, p.Validation, "validation")
	check.Same(t, Histories{[]int32{2, 3}, []int64{0, 3, 5}, []int32{2, 0, 3, 0, 2},
		[]int64{1, 2, 3, 1, 2}, []float32{1, 2, 3, 5, 6}, hidden, nil}, p.Test, "test")
}

// TestPartitionInvariants partitions random data.
func TestPartitionInvariants(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	rounds := 100
	if soak.Brief() {
		rounds = 10
	}
	for round := range rounds {
		var b bytes.Buffer
		b.WriteString("user_id,item_id\n")
		for range 1 + rng.IntN(300) {
			fmt.Fprintf(&b, "%d,%d\n", rng.IntN(40), rng.IntN(60))
		}
		d, _, err := readBytes("f", b.Bytes(), Options{})
		check.Must(t, err)
		s := SeededSplit(d.NumUsers(), uint64(round))
		p := check.Get(d.Partition(s))(t)
		dealt := *d
		dealt.Item = slices.Clone(d.Item)
		inPlace := check.Get(dealt.PartitionInPlace(s))(t)
		check.MustSame(t, p, inPlace, "dealt in place (-copy +in place)")
		if dealt.Len() != 0 || len(dealt.Of(0)) != 0 || dealt.NumUsers() != d.NumUsers() {
			t.Fatalf("%d events of %d users are left after the deal", dealt.Len(), dealt.NumUsers())
		}
		check.MustSame(t, s.Count(Train), p.Train.Len(), "training users")
		trained := map[string]bool{}
		for _, i := range p.Train.Item {
			trained[p.Items[i]] = true
		}
		if len(trained) != len(p.Items) || !slices.IsSorted(p.Items) {
			t.Fatalf("%d items, %d of them with training users", len(p.Items), len(trained))
		}
		for _, h := range []*Histories{&p.Train, &p.Validation, &p.Test} {
			for k, u := range h.User {
				var want, got []string
				for _, i := range d.Of(int(u)) {
					if trained[d.Items[i]] {
						want = append(want, d.Items[i])
					}
				}
				for _, i := range h.Of(k) {
					got = append(got, p.Items[i])
				}
				if !slices.Equal(got, want) || h != &p.Train && len(got) < 2 || h.Times(k) != nil ||
					h.Weights(k) != nil {
					t.Fatalf("user %s has %v, want %v", d.Users[u], got, want)
				}
			}
		}
	}
}
