package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/gsimc/gsimc/bench/internal/loadtest"
)

// echoCommand is the first argument of the process that a server is compared with: this program,
// which answers like a server that does nothing. Its arguments are files with the encoded answers
// to Recommend and to Observe.
const echoCommand = "echo"

// echo answers on a free port of the loopback interface until ctx ends.
func echo(ctx context.Context, stderr io.Writer, files []string) error {
	if len(files) != 2 {
		return fmt.Errorf("%s: %d files, want 2", echoCommand, len(files))
	}
	var answers [2][]byte
	for i, path := range files {
		var err error
		if answers[i], err = os.ReadFile(path); err != nil {
			return err
		}
	}
	e, err := loadtest.NewEcho(answers[0], answers[1])
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// The same line as of gsimc serve, which package served waits for.
	slog.New(slog.NewJSONHandler(stderr, nil)).Info("serving", "grpc", listener.Addr().String())
	return e.Serve(ctx, listener)
}
