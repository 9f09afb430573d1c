package cluster

import "sync"

// Most calls, and most bytes of them, that a lane sends in one pipeline. A call that is larger goes
// alone.
const (
	groupCalls = 2048
	groupBytes = 1 << 20
)

// queue holds the calls that wait for the lanes of a node.
type queue struct {
	mu     sync.Mutex
	filled sync.Cond
	calls  []*Call
	closed bool
}

// put adds calls; false if the queue is closed.
func (q *queue) put(calls []*Call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.calls = append(q.calls, calls...)
	q.filled.Signal()
	return true
}

// take waits for calls and appends the next group to a slice; none if the queue is closed. Calls
// that nobody waits for are dropped.
func (q *queue) take(group []*Call) []*Call {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		bytes, n := 0, 0
		for _, c := range q.calls {
			if len(group) == groupCalls || len(group) > 0 && bytes+c.bytes > groupBytes {
				break
			}
			n++
			if c.batch.gone() {
				c.drop()
				continue
			}
			bytes += c.bytes
			group = append(group, c)
		}
		left := copy(q.calls, q.calls[n:])
		clear(q.calls[left:]) // for the garbage collector
		q.calls = q.calls[:left]
		if left > 0 {
			q.filled.Signal() // another lane may begin with the rest
		}
		if len(group) > 0 || q.closed {
			return group
		}
		q.filled.Wait()
	}
}

// sweep drops the calls that nobody waits for.
func (q *queue) sweep() {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := q.calls[:0]
	for _, c := range q.calls {
		if c.batch.gone() {
			c.drop()
		} else {
			kept = append(kept, c)
		}
	}
	clear(q.calls[len(kept):])
	q.calls = kept
}

// close ends the lanes and returns the calls that are left.
func (q *queue) close() []*Call {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := q.calls
	q.calls, q.closed = nil, true
	q.filled.Broadcast()
	return left
}
