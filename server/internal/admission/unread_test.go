package admission

import (
	"context"
	"net"
	"testing"
)

// Connections whose answers wait are closed when they take too much memory, those with most first;
// those that are read, and those whose answers have only just come, are not.
func TestUnreadAnswersMakeRoom(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	l := Limit(inner, 10, NewMetrics())
	answer := func(c *conn, bytes int) {
		(&Ticket{Context: context.Background(), conn: c}).Answers(bytes)
	}
	_, few := accepted(t, l)
	most, mostServer := accepted(t, l)
	reader, read := accepted(t, l)
	gone, goneServer := accepted(t, l)
	sweep := func() { l.swept.Store(0); l.sweepUnread(1 << 62) }

	l.swept.Store(1 << 62) // none until it is called
	answer(few, maxUnread/4)
	answer(mostServer, maxUnread)
	answer(read, maxUnread)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	(&Ticket{Context: over, conn: goneServer}).Answers(10 * maxUnread)
	sweep() // nothing has waited yet
	if n := len(l.open); n != 4 {
		t.Fatalf("%d connections are open, want 4", n)
	}
	read.pay(maxUnread + leastFrames)
	sweep()
	if !closed(t, most) || closed(t, reader) || closed(t, gone) || len(l.open) != 3 {
		t.Errorf("%d connections are open, or the wrong one is closed", len(l.open))
	}
}

// An answer without a message holds memory too, and what is read pays for it at least.
func TestDebtOfSmallAnswers(t *testing.T) {
	c := &conn{of: &Listener{open: map[*conn]struct{}{}}}
	for range 100 {
		(&Ticket{Context: context.Background(), conn: c}).Answers(0)
	}
	c.pay(100 * 11) // their first headers
	c.low.Store(c.debt.Load())
	if held := c.held(); held < 100*heldByAnswer {
		t.Errorf("100 answers are taken to hold %d bytes", held)
	}
	c.pay(100 * leastWaiting)
	if held := c.held(); held != 0 {
		t.Errorf("answers that were read are taken to hold %d bytes", held)
	}
}
