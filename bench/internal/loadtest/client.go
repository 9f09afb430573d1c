package loadtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// Kind is a kind of request.
type Kind int

// The kinds of requests.
const (
	Recommend Kind = iota // one list
	Observe               // one event by a call of its own
	Stream                // one event of a long-lived stream; sent when it is acknowledged
	numKinds
)

// String names the method.
func (k Kind) String() string {
	return [numKinds]string{"Recommend", "Observe", "StreamObserve"}[k]
}

var methods = [numKinds]string{pb.RecommenderService_Recommend_FullMethodName,
	pb.EventService_Observe_FullMethodName}

// Request is a request in its encoded form: a RecommendRequest, an ObserveRequest, or for [Stream]
// an Event.
type Request struct {
	Kind Kind
	Body []byte
}

// Caller answers requests: a server behind a network, or something in this process to compare it
// with. Call returns when the answer is there; it may be called concurrently.
type Caller interface {
	Call(ctx context.Context, r Request) error
}

// Client is a number of connections to one server, used in turn. It does not decode answers.
type Client struct {
	conns   []*grpc.ClientConn
	streams []*eventStream // one for each connection, opened by the first event
	next    atomic.Uint64
}

// Dial returns a client with this many connections, at least one, in plain text unless the options
// say otherwise. The connections are made by the first calls.
//
// They are bare ones, not those of package client: that package repeats a call that found no
// server, and a load test counts such a call as failed.
func Dial(address string, connections int, options ...grpc.DialOption) (*Client, error) {
	c := &Client{}
	options = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)
	for range connections {
		conn, err := grpc.NewClient(address, options...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("address %s: %w", address, err), c.Close())
		}
		c.conns = append(c.conns, conn)
		c.streams = append(c.streams, &eventStream{conn: conn})
	}
	return c, nil
}

// Conn returns one of the connections, for calls with messages of the protocol.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conns[c.turn()] }

func (c *Client) turn() int { return int(c.next.Add(1) % uint64(len(c.conns))) }

// Call implements [Caller].
func (c *Client) Call(ctx context.Context, r Request) error {
	at := c.turn()
	if r.Kind == Stream {
		return c.streams[at].call(ctx, r.Body)
	}
	var answer frame
	if err := c.conns[at].Invoke(ctx, methods[r.Kind], frame(r.Body), &answer,
		grpc.ForceCodecV2(rawCodec{})); err != nil {
		return err
	}
	if len(answer) == 0 {
		return fmt.Errorf("the answer to %s is empty", r.Kind)
	}
	return nil
}

// Exchange is Call, and returns the encoded answer. It is not for [Stream].
func (c *Client) Exchange(ctx context.Context, r Request) ([]byte, error) {
	var answer frame
	err := c.conns[c.turn()].Invoke(ctx, methods[r.Kind], frame(r.Body), &answer,
		grpc.ForceCodecV2(rawCodec{}))
	return answer, err
}

// Close ends the streams and closes the connections.
func (c *Client) Close() error {
	var errs []error
	for i, conn := range c.conns {
		c.streams[i].close()
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

// frame is a message in its encoded form.
type frame []byte

// rawCodec passes frames through.
type rawCodec struct{}

// Name implements encoding.CodecV2: the frames hold protobuf.
func (rawCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(frame)
	if !ok {
		return nil, fmt.Errorf("loadtest: %T is not a frame", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(f)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("loadtest: %T is not a frame", v)
	}
	*f = data.Materialize()
	return nil
}
