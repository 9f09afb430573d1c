// Package valid has the rules of the fields of requests, which stand in words in the .proto files.
//
// A function is named after the request that it checks, and returns nil or an [*Error] that names
// each bad field by its path in the request. Its texts never repeat the value of an id. A check
// allocates nothing unless it finds a fault, and costs well under 5 µs: a rule engine
// (protovalidate) would bring an expression language with its parser into the server, and cost more
// than a recommendation. A test compares these rules with the annotations in the .proto files.
package valid
