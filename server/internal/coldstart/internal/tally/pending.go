package tally

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gsimc/gsimc/store"
)

// maxPending is the largest number of users who wait to be read: some 12 MB.
const maxPending = 1 << 17

// MostHalved is the largest number of times that a sample is halved: nobody has 2^40 users.
const MostHalved = 40

// Pending are users whose histories have changed: all of them, or a sample by a hash of their ids.
// The sample is halved whenever too many users wait. A Pending is safe for concurrent use.
type Pending struct {
	mu     sync.Mutex
	users  map[string]struct{}
	halved int // so often: the users of shard 0 of 2^halved are the sample

	// turn is another number whenever users do not wait any more, and is that of no other Pending.
	turn atomic.Uint64
}

// NewPending returns a sample of all users, of whom nobody waits.
func NewPending() *Pending {
	p := &Pending{users: map[string]struct{}{}}
	p.turn.Store(rand.Uint64())
	return p
}

// AddTold is Add for a user with a word of memory, which keeps that this Pending has been told. So
// most events of a busy server cost no more than to look at the word: their users wait already. Of
// several arms in memory each overwrites the word of the others, which saves them little then.
func (p *Pending) AddTold(user string, told *atomic.Uint64) {
	turn := p.turn.Load() // before Add: who is taken meanwhile is to be told of again
	if told.Load() != turn {
		p.Add(user)
		told.Store(turn)
	}
}

// Add takes note of a user. It waits for nothing.
func (p *Pending) Add(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.users[user]; known || !sampled(user, p.halved) {
		return
	}
	p.users[strings.Clone(user)] = struct{}{} // it may be a piece of a large message
	for len(p.users) > maxPending && p.halved < MostHalved {
		p.halve(p.halved + 1)
	}
}

// Remove lets a user wait no more.
func (p *Pending) Remove(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.users, user)
	p.turn.Add(1)
}

// Len is the number of users who wait.
func (p *Pending) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.users)
}

// TakeAll returns the users who wait, and how often the sample was halved. It begins anew with a
// sample of all users.
func (p *Pending) TakeAll() (users map[string]struct{}, halved int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn.Add(1)
	users, halved = p.users, p.halved
	p.users, p.halved = map[string]struct{}{}, 0
	return users, halved
}

// Take returns up to most users of those who wait, and how often the sample was halved. They wait
// no more.
func (p *Pending) Take(most int) (users map[string]struct{}, halved int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn.Add(1)
	if len(p.users) <= most {
		users, p.users = p.users, map[string]struct{}{}
		return users, p.halved
	}
	users = make(map[string]struct{}, most)
	for user := range p.users {
		if len(users) == most {
			break
		}
		users[user] = struct{}{}
		delete(p.users, user)
	}
	return users, p.halved
}

// Halve makes the sample one that was halved so often, if it is larger.
func (p *Pending) Halve(halved int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if halved > p.halved {
		p.halve(halved)
	}
}

func (p *Pending) halve(halved int) {
	p.halved = halved
	for user := range p.users {
		if !sampled(user, halved) {
			delete(p.users, user)
		}
	}
}

// sampled reports whether a user is in the sample that was halved so often.
func sampled(user string, halved int) bool { return store.Shard(user, 1<<halved) == 0 }
