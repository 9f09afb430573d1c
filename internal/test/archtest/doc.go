// Package archtest holds no code, only tests: the import directions of docs/architecture.md, by two
// tables that name what is allowed, and the size of packages. `go test ./...` so notices a wrong
// import even where the linter is not installed.
package archtest
