// Package gsimcv1 is the gRPC interface of gsimc, generated from the .proto files beside it. Their
// comments are the manual of the interface; `make generate` makes the code anew.
//
// Within v1 no field, number, name or meaning is ever changed or removed; `make proto-check`
// refuses it.
package gsimcv1
