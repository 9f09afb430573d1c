// Package admission decides, before a goroutine or a buffer of a call exists, whether the call is
// taken, and bounds what clients can make a server hold: calls, messages that are not complete,
// streams, connections.
//
// # The life of a call
//
// [Gate.Admit] runs when the headers of a call have come. It gives the call its [Ticket], which is
// also the context of the call, or refuses it. A call is then receiving: its message is on its way.
// [Ticket.Run] is called when the message is decoded, and [Ticket.Leave] when the call is answered.
// Between them the call runs, after a wait if its class is at its limit. A stream of messages runs
// from its start.
//
// # Bounds
//
// Each [Class] has a limit of running calls, which follows the latency (see limiter), and a queue
// of the same length. A newcomer is taken while the calls of its class that are receiving, waiting
// and running are fewer than both together. When a limit falls, those that were taken stay.
//
// Of all classes together, [Config.MaxReceiving] calls may be receiving for longer than slowAfter.
// Slower ones are ended, the oldest first. So the memory of unfinished messages is bounded by that
// number times the largest message, except within the first moment of a burst, and neither
// half-sent messages nor senders that never finish lock out others.
//
// Questions about the health are always taken. Those whose message is on its way have a bound of
// their own: when it is reached, a newcomer ends the oldest of the connection with most of them.
//
// Streams of messages do not wait. In a full class a newcomer ends the one that has been idle for
// longest, for idleAfter at least, or one of a connection that has far more of them than its own. A
// stream is idle while the server waits for its client and not the other way round.
//
// Calls that are refused for their token when their message is there have a class of their own,
// [Stranger], and take no room of others.
//
// Requests of HTTP pass the gate twice: while their body comes, see [Gate.Receive], which also
// bounds the bytes of all bodies, and as the call that the body becomes.
//
// Answers that clients do not read have a bound in bytes: see [Bounds].
//
// All times are of the monotonic clock.
package admission
