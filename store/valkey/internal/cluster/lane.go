package cluster

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/gsimc/gsimc/store/internal/clock"
)

// lanes is the number of pipelines that may be in flight to a node.
const lanes = 4

// waitTimeout bounds the time for which WAIT waits for the replicas.
const waitTimeout = time.Second

// slowest is the rate, in bytes a second, above which a large call is given up.
const slowest = 8 << 20

// lane is a connection to a node that nobody else uses.
type lane struct {
	node     *node
	conn     rueidis.DedicatedClient // nil: not connected
	clock    clock.Clock             // of the node
	commands []rueidis.Completed
	places   []int // index of the answer of each call
}

// run sends what gathers until the queue is closed.
func (l *lane) run() {
	var group []*Call
	for {
		group = l.node.queue.take(group[:0])
		if len(group) == 0 {
			l.hangUp()
			return
		}
		l.write(group)
		clear(group) // for the garbage collector
	}
}

// write sends calls as one pipeline and settles those that have an outcome.
func (l *lane) write(group []*Call) {
	c := l.node.cluster
	if why := l.node.alone(); why != nil && !c.options.NoWait {
		c.refreshSoon() // its slots may have moved
		for _, call := range group {
			call.settle(rueidis.RedisMessage{}, why)
		}
		return
	}
	replicas, known := l.node.replicas()
	if !known && !c.options.NoWait {
		c.refreshSoon()
		c.again(group, unavailable("it is not known which replicas %s has", l.node.addr))
		return
	}
	answers, err := l.exchange(group, replicas)
	if err != nil {
		l.hangUp()
		c.refreshSoon()
		c.again(group, err)
		return
	}
	var open error
	if !c.options.NoWait {
		open = l.unmet(answers[len(answers)-1], replicas)
	}
	var later []*Call
	for i, call := range group {
		reply, err := answers[l.places[i]].ToMessage()
		switch {
		case err != nil && !rueidis.IsRedisNil(err):
			if l.goesOn(call, err) {
				later = append(later, call)
			}
		case open != nil:
			call.open = true
			call.batch.note(open)
			later = append(later, call)
		default:
			call.settle(reply, nil)
		}
	}
	if open != nil {
		c.refreshSoon()
	}
	c.again(later, nil)
}

// exchange makes one round trip.
func (l *lane) exchange(group []*Call, replicas int) ([]rueidis.RedisResult, error) {
	if err := l.connect(); err != nil {
		return nil, err
	}
	bytes := 0
	for _, call := range group {
		bytes += call.bytes
	}
	limit := waitTimeout + answerTimeout/2 + time.Duration(bytes)*time.Second/slowest
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	l.fill(ctx, group, replicas)
	answers := l.conn.DoMulti(ctx, l.commands...)
	clear(l.commands)
	for _, a := range answers {
		if err := a.NonRedisError(); err != nil {
			for _, call := range group {
				call.open = true
			}
			return nil, l.node.unreachable("write to", err)
		}
	}
	return answers, nil
}

// connect sees to it that there is a connection, and that the clock of the node is known.
func (l *lane) connect() error {
	if l.conn == nil {
		client, err := l.node.connection(context.Background())
		if err != nil {
			return err
		}
		l.conn, _ = client.Dedicate()
		l.clock = clock.Clock{}
	}
	if !l.clock.IsOld() {
		return nil
	}
	now, err := readClock(context.Background(), l.conn)
	if err != nil {
		return l.node.unreachable("ask for the time of", err)
	}
	l.clock = now
	return nil
}

// fill makes the commands of a pipeline that is given up when ctx ends. The last argument of each
// call is the time, by the clock of the node, from which on nobody waits for it: a node that hung
// must not do then what it was asked for before.
func (l *lane) fill(ctx context.Context, group []*Call, replicas int) {
	l.commands, l.places = l.commands[:0], l.places[:0]
	given, _ := ctx.Deadline()
	for _, call := range group {
		if call.askAt != "" {
			l.commands = append(l.commands, command("ASKING"))
		}
		until := given
		if d, _ := call.batch.ctx.Deadline(); d.Before(until) {
			until = d
		}
		l.places = append(l.places, len(l.commands))
		l.commands = append(l.commands, functionCall("FCALL", call.Function, call.Keys, call.Args,
			strconv.FormatInt(l.clock.At(until).UnixMilli(), 10)))
	}
	if !l.node.cluster.options.NoWait {
		wait := strconv.FormatInt(waitTimeout.Milliseconds(), 10)
		l.commands = append(l.commands, rueidis.Builder{}.Arbitrary("WAIT",
			strconv.Itoa(replicas), wait).Blocking())
	}
}

// functionCall builds FCALL or FCALL_RO.
func functionCall(word, function string, keys, args []string, more ...string) rueidis.Completed {
	return rueidis.Builder{}.Arbitrary(word, function, strconv.Itoa(len(keys))).Args(keys...).
		Args(args...).Args(more...).Build()
}

// unmet returns why the writes of a pipeline are not on all replicas, or nil.
func (l *lane) unmet(answer rueidis.RedisResult, want int) error {
	got, err := answer.AsInt64()
	switch {
	case err != nil:
		return unavailable("%s does not wait for its replicas: %v", l.node.addr, err)
	case got < int64(want):
		return unavailable("%d of %d replicas of %s have acknowledged", got, want, l.node.addr)
	default:
		return nil
	}
}

func (l *lane) hangUp() {
	if l.conn != nil {
		l.conn.Close()
		l.conn = nil
	}
}

// goesOn does what an error reply asks for, and reports whether the call is to be sent again.
// Otherwise it has an outcome.
func (l *lane) goesOn(call *Call, err error) bool {
	c := l.node.cluster
	call.askAt = ""
	do, addr, problem := judge(err)
	switch do {
	case giveUp:
		if call.open {
			problem = unavailable("a write may have been applied before an error: %v", problem)
		}
		call.settle(rueidis.RedisMessage{}, problem)
		return false
	case ask:
		call.askAt = addr
	case follow:
		c.moved(call.slot, addr)
	case load:
		c.loadSoon(l.node)
	case tryAgain:
		c.refreshSoon()
	case late:
		l.clock = clock.Clock{} // it may have been set
	}
	call.batch.note(problem)
	return true
}
