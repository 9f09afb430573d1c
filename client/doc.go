// Package client is a Go client of a gsimc server: [Dial] connects, [Client.Send] streams events
// and sends the unacknowledged ones again after a broken connection, [Client.Session] reads its own
// writes at any of several servers over one store, and [Client.Explain] tells what an error means.
//
// The calls themselves are those of the generated package api/gsimc/v1:
//
//	c, err := client.Dial(client.Options{Address: "127.0.0.1:50051", Timeout: 5 * time.Second})
//	...
//	list, err := pb.NewRecommenderServiceClient(c.Conn()).Recommend(ctx, request)
//	if err != nil {
//		return c.Explain(err)
//	}
//
// # Conventions
//
// A client is one connection. It is made by the first call, and made again after it broke. There is
// no transport security: use it on a trusted network. All methods may be called from several
// goroutines.
package client
