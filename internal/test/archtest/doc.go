// Package archtest holds no code, only a test: the import directions of docs/architecture.md,
// checked on the whole dependency closure of every package, so that `go test ./...` notices a wrong
// import even where the linter is not installed.
package archtest
