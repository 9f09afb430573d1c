// Package wire encodes and decodes, by hand, the messages on which the server spends most of its
// time. Field numbers are taken from the descriptors of the generated code.
//
//   - [Codec] is gRPC's codec for protobuf that also sends messages encoded by hand and marks
//     malformed ones.
//   - [List] is the answer of Recommend, encoded straight from the items of a model.
//   - [StreamMessage] is a message of StreamObserve, decoded into memory that is used again.
//
// Every function agrees byte for byte, or field for field, with the protobuf library; the tests
// compare them.
package wire
