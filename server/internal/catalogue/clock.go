package catalogue

import (
	"container/heap"
	"math"
)

// A turn is a moment at which the item of a slot may become or cease to be available. By then the
// slot may have another item, which is then judged once in vain.
type turn struct {
	at   int64
	slot int32
}

// turns is a heap, the first turn first.
type turns []turn

func (t turns) Len() int           { return len(t) }
func (t turns) Less(i, j int) bool { return t[i].at < t[j].at }
func (t turns) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }

// Push implements heap.Interface.
func (t *turns) Push(x any) { *t = append(*t, x.(turn)) }

// Pop implements heap.Interface.
func (t *turns) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}

// setBack is how far the clock must run back until that is noticed, in microseconds. Requests that
// read the clock one after the other may come here in the other order.
const setBack = 1_000_000

// advance brings all views to a time. It costs next to nothing until a turn is due.
func (c *Catalogue) advance(now int64) {
	if now < c.due.Load() && now > c.judged.Load()-setBack {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now <= c.now-setBack {
		c.now = now
		c.judgeAll()
		return
	}
	c.now = max(c.now, now)
	for len(c.turns) > 0 && c.turns[0].at <= c.now {
		slot := heap.Pop(&c.turns).(turn).slot
		c.judge(slot)
		c.schedule(slot)
	}
	c.noteClock()
}

// schedule notes the next turn of the item of a slot, if there is one. Requires mu.
func (c *Catalogue) schedule(slot int32) {
	e := &c.items.entries[slot]
	if e.id == "" || e.hidden {
		return
	}
	at := int64(math.MaxInt64)
	for _, moment := range []int64{e.until, e.from} {
		if moment > c.now && moment < at {
			at = moment
		}
	}
	if at == math.MaxInt64 {
		return
	}
	heap.Push(&c.turns, turn{at, slot})
	if len(c.turns) > fewTurns+2*len(c.items.slots) { // most are of items as they were before
		c.judgeAll()
	}
}

// fewTurns is a number of turns that is not worth a look at all items.
const fewTurns = 1024

// judge lets the views show the item of a slot or not, as of now. Requires mu.
func (c *Catalogue) judge(slot int32) {
	e := &c.items.entries[slot]
	for _, v := range c.views {
		v.show(slot, e.shownAt(c.now))
	}
}

// judgeAll judges every item and makes the turns anew. Requires mu.
func (c *Catalogue) judgeAll() {
	c.turns = c.turns[:0]
	for slot := range c.items.entries {
		if c.items.entries[slot].id != "" {
			c.judge(int32(slot))
			c.schedule(int32(slot))
		}
	}
	c.noteClock()
}

// noteClock tells requests when to advance. Requires mu.
func (c *Catalogue) noteClock() {
	c.judged.Store(c.now)
	due := int64(math.MaxInt64)
	if len(c.turns) > 0 {
		due = c.turns[0].at
	}
	c.due.Store(due)
}
