// Command promises joins docs/promises.md with the tests that show each promise, see tests.txt.
//
//	go run ./internal/test/promises pattern        prints a regular expression for go test -run
//	make test TESTFLAGS=-json | go run ./internal/test/promises report
//	make test-all TESTFLAGS=-json | go run ./internal/test/promises report
//
// The report shows what failed, and then each promise: its number, whether its tests passed, which
// of them were executed, and the faults that they injected (see internal/test/soak).
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const document = "docs/promises.md"

//go:embed tests.txt
var tests string

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promises:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	raw, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	promises, err := parse(string(raw), tests)
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	switch strings.Join(args, " ") {
	case "pattern":
		fmt.Fprintln(out, pattern(promises))
		return nil
	case "report":
		results, err := read(in, out)
		if err != nil {
			return err
		}
		return report(out, promises, results)
	}
	return errors.New("want one argument: pattern or report")
}
