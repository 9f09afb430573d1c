// Package client is a Go client of a gsimc server: [Dial] connects, [Client.Send] streams events
// and sends the unacknowledged ones again after a broken connection, [Client.Feed] does so without
// an end, for what comes one by one, [NewSession] reads its own writes at any of several servers
// over one store, and [Client.Explain] tells what an error means.
// [DialRing] connects to several servers: the calls about a user go to the one that has the user's
// state in memory, and calls that are late go to a second one, too.
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
// # Weight
//
// The package is part of the module of the server. A program that imports it is linked with gRPC,
// the protocol and what these need: nine modules besides this one, which are all that `go get`
// downloads and writes into its go.mod. Where the program also imports a library of the server,
// such as pgx, it gets at least the version of the server.
//
// # Conventions
//
// A client is one connection. It is made by the first call, and made again after it broke. Without
// [Access] it is plain text without a token, for a trusted network. All methods may be called from
// several goroutines.
package client
