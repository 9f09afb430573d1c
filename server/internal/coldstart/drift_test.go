package coldstart

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecentUsers(t *testing.T) {
	r := newRecentUsers()
	for u := range driftUsers + 3 {
		r.addUser(fmt.Sprint(u))
		r.addUser(fmt.Sprint(u))
	}
	r.forget("5")
	r.forget("0") // gone already
	r.addUser("new")
	r.addUser("newer")
	got, news := r.take()
	want := []string{"newer"} // in the place of the oldest
	for u := 4; u < driftUsers+3; u++ {
		if u != 5 {
			want = append(want, fmt.Sprint(u))
		}
	}
	want = append(want, "new")
	if diff := cmp.Diff(want, got); diff != "" || !news {
		t.Errorf("news %v (-want +got):\n%s", news, diff)
	}
	if _, news := r.take(); news {
		t.Error("news without an event")
	}
}
