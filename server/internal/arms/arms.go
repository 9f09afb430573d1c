// Package arms splits users among models that serve at the same time, and takes the users of a
// model on trial back when it is worse.
//
// # The split
//
// A user has a point x in [0, 1), a hash of the user id and the salt of the split:
//
//	x = SHA-256(salt, 0, user) / 2^64, by the first 8 bytes
//
// The first arm, main, has the users that no other arm has. The others have intervals one after the
// other, from 0 on, each as long as its share. So the arm of a user depends on nothing but the salt
// and the shares: it is the same after a restart and on every server, and the arms of two salts are
// independent. A larger share of the last arm takes users from main; one of another arm takes users
// from the arm behind it, that one from the next, and the last one from main. The interval of an
// arm that has been dropped goes to main, and the other intervals stay.
package arms

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"sync/atomic"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/model"
)

// Main is the name of the first arm.
const Main = "main"

// An Arm is one of the models, which answers a share of the users.
type Arm struct {
	// Name has at most 24 small letters, digits, _ and -, the first a letter. It stands in answers
	// and metrics. [Main] is the name of the first arm.
	Name string
	// Open opens the model, now and at each reload.
	Open func() (*model.Model, error)
	// Share is the percentage of the users, 0 to 100; those that no arm has are main's.
	Share float64
	// Canary gives the users back to main when the arm is found worse, see [Trial].
	Canary bool
}

// MaxArms is the number of arms beside main.
const MaxArms = 7

// shareError is more than what rounding makes of a sum of shares, in percent: 33.4, 33.3 and 33.3
// add up to a little more than 100.
const shareError = 1e-9

// namePattern is the form of names: they are labels of metrics, and stand in recommendation ids.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,23}$`)

// IsName tells whether an arm may have a name.
func IsName(name string) bool { return namePattern.MatchString(name) }

// reserved are names with another meaning among the labels of metrics.
var reserved = map[string]bool{
	Main: true, "other": true, "serving": true, "shadow": true, "without-trends": true,
}

// Validate returns a fault of the field Arms for each of the arms beside main that cannot be.
func Validate(others []Arm) error {
	var faults []error
	bad := func(problem string) {
		faults = append(faults, &fault.Fault{Field: "Arms", Problem: problem})
	}
	if len(others) > MaxArms {
		bad(fmt.Sprintf("%d arms, at most %d are allowed", len(others), MaxArms))
	}
	names := map[string]bool{}
	for _, a := range others {
		switch {
		case !IsName(a.Name):
			bad(fmt.Sprintf("the name %q must match %s", a.Name, namePattern))
		case reserved[a.Name] || names[a.Name]:
			bad(fmt.Sprintf("the name %q is taken", a.Name))
		case !(a.Share >= 0 && a.Share <= 100):
			bad(fmt.Sprintf("the share of %s is %v, want 0 to 100 percent", a.Name, a.Share))
		}
		names[a.Name] = true
	}
	if sum, fits := Sum(others); !fits {
		bad(fmt.Sprintf("the shares add up to %v percent", sum))
	}
	return errors.Join(faults...)
}

// Sum returns the sum of shares, and whether it is at most 100 percent, but for rounding.
func Sum(others []Arm) (percent float64, fits bool) {
	for _, a := range others {
		percent += a.Share
	}
	return percent, !(percent > 100+shareError)
}

// A Split maps users to arms. It is safe for concurrent use.
type Split struct {
	salt    string
	shares  atomic.Pointer[shares]
	dropped []atomic.Bool // by arm; never main
}

// shares are those of all arms, main's first. A value does not change: SetShares puts another in
// its place.
type shares struct {
	percent []float64
	to      []float64 // the points of the users of arm i lie before to[i], and not before to[i-1]
}

// newSplit returns the split among main and others, which are valid.
func newSplit(others []Arm, salt string) *Split {
	s := &Split{salt: salt, dropped: make([]atomic.Bool, 1+len(others))}
	s.SetShares(others)
	return s
}

// SetShares gives the arms beside main the shares of others, which are valid and the same arms in
// the same order, and main what they leave. An arm that is dropped stays so, and main has its
// share until it is not dropped any more.
func (s *Split) SetShares(others []Arm) {
	next := &shares{percent: make([]float64, len(s.dropped)), to: make([]float64, len(s.dropped))}
	main := 100.0
	for i, a := range others {
		next.percent[i+1], next.to[i+1] = a.Share, next.to[i]+a.Share/100
		main -= a.Share
		if main < shareError { // rounding leaves nobody to main
			main, next.to[i+1] = 0, 1
		}
	}
	next.percent[0] = math.Round(main*(1/shareError)) / (1 / shareError)
	s.shares.Store(next)
}

// Given returns the percentage of the users that arm i was given, dropped or not.
func (s *Split) Given(i int) float64 { return s.shares.Load().percent[i] }

// Share returns the percentage of the users that arm i has now.
func (s *Split) Share(i int) float64 {
	if s.Dropped(i) {
		return 0
	}
	share := s.Given(i)
	for j := range s.dropped {
		if i == 0 && s.Dropped(j) {
			share += s.Given(j)
		}
	}
	return share
}

// Of returns the arm of a user.
func (s *Split) Of(user string) int {
	if i := s.Drawn(user); !s.Dropped(i) {
		return i
	}
	return 0
}

// Drawn returns the arm of a user by the shares, dropped or not.
func (s *Split) Drawn(user string) int {
	if len(s.dropped) == 1 {
		return 0
	}
	x := s.point(user)
	for i, to := range s.shares.Load().to {
		if x < to { // never main's, which is 0
			return i
		}
	}
	return 0
}

// point returns the point of a user.
func (s *Split) point(user string) float64 {
	var memory [512]byte
	b := append(append(append(memory[:0], s.salt...), 0), user...)
	sum := sha256.Sum256(b)
	const bits = 53 // of a float64: the quotient stays below 1
	return float64(binary.BigEndian.Uint64(sum[:])>>(64-bits)) / (1 << bits)
}

// Drop gives the users of arm i to main, or back to the arm. It reports whether that is a change.
func (s *Split) Drop(i int, drop bool) bool { return s.dropped[i].Swap(drop) != drop }

// Dropped reports whether main has the users of arm i.
func (s *Split) Dropped(i int) bool { return s.dropped[i].Load() }
