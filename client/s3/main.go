// Command gsimc-s3 keeps models and backups of gsimc in an object store that speaks S3.
//
// An object or a file gets its name only when it is whole. What comes back is what was sent: put
// keeps the SHA-256 with each object, and get compares it. A backup is one object, a tar.
//
// This file has the command line; put.go and get.go have the two commands, bucket.go and moving.go
// what both need.
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/client/internal/program"
	"github.com/gsimc/gsimc/internal/fault"
)

// version is set by the linker: -X main.version=$(git describe).
var version = ""

// flags are the command line. The variables have the names by which all programs for S3 know them.
type flags struct {
	Put putCommand `cmd:"" help:"Send a file, such as a model, or a backup that gsimc backup made."`
	Get getCommand `cmd:"" help:"Bring a file or a backup. A model can be brought again whenever it is another."`

	Endpoint string `env:"AWS_ENDPOINT_URL_S3,AWS_ENDPOINT_URL" placeholder:"URL" help:"Where the object store is, https://HOST[:PORT], or http:// without encryption. Default: that of AWS."`
	Region   string `env:"AWS_REGION" placeholder:"NAME" help:"Region of the bucket. Default: what the store says."`
	CAFile   string `name:"ca-file" env:"AWS_CA_BUNDLE" placeholder:"FILE" help:"Certificates of the authorities that the store's is signed by (PEM). Default: the system's."`

	Version kong.VersionFlag `help:"Print the version."`
}

const description = `Keep models and backups of gsimc in an object store that speaks S3.

The keys of the store are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,
of the file ~/.aws/credentials (AWS_PROFILE), or of the role of the machine.`

type putCommand struct {
	From string `arg:"" help:"File, or folder of a backup."`
	To   string `arg:"" placeholder:"s3://BUCKET/KEY" help:"Where to: s3://BUCKET/KEY."`
}

type getCommand struct {
	From  string        `arg:"" placeholder:"s3://BUCKET/KEY" help:"What put has sent: s3://BUCKET/KEY."`
	To    string        `arg:"" help:"File, which is replaced, or folder for a backup, which must not be there yet."`
	Every time.Duration `placeholder:"DURATION" help:"Go on: look this often for another object, and bring it. For a model. At least 1s. Default: once."`
}

func main() {
	program.Main(run)
}

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f flags
	p := program.Program{Name: "gsimc-s3", Description: description, Version: version,
		FlagOf: nameOf}
	return p.Run(args, &f, stdout, stderr, func(command string) error {
		err := f.do(ctx, command, slog.New(slog.NewTextHandler(stderr, nil)))
		if err != nil && ctx.Err() != nil && !errors.As(err, new(*fault.Fault)) {
			return program.ErrInterrupted
		}
		return err
	})
}

// nameOf is the flag or the argument of a field.
func nameOf(field string) string {
	switch field {
	case "From":
		return "FROM"
	case "To":
		return "TO"
	}
	return client.FlagOf(field)
}

// do runs a command, after all arguments were looked at.
func (f *flags) do(ctx context.Context, command string, log *slog.Logger) error {
	prepare := f.Get.prepare
	if command == "put" {
		prepare = f.Put.prepare
	}
	run, err := prepare()
	if err != nil {
		return err
	}
	s, err := f.store(log)
	if err != nil {
		return err
	}
	return run(ctx, s)
}

// transfer is a command whose arguments are right.
type transfer func(context.Context, *store) error
