// Command gsimc learns a recommender from one-bit feedback in closed form, measures it, and serves
// it over gRPC.
//
// This package is the grammar of the command line. A command is a struct in a package of its group
// below internal, which turns flags into options, opens files and stores, and prints. `gsimc help
// COMMAND` is its manual.
//
// Exit codes: 0 success, 1 failure, 2 wrong usage, 3 too few new events to compare models on (train
// --compare), 4 done without what is damaged (salvage), 130 interrupted by a signal. An error is
// one sentence on standard error.
package main

import (
	"io"
	"maps"
	"os"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/call"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/data"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/demo"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/evaluate"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/export"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/look"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/migrate"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/repair"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/serve"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/standalone"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/train"
	"github.com/gsimc/gsimc/internal/cmdline"
)

func main() {
	p := program()
	p.Process = true
	os.Exit(p.Run(os.Stdin, os.Stdout, os.Stderr, os.Environ(), os.Args[1:]...))
}

// version is set by the linker: -X main.version=$(git describe).
var version = ""

// grammar is the command line: kong makes flags, help and checks from its fields and tags.
type grammar struct {
	cli.Root

	Generate    look.Generate    `cmd:"" group:"Learn and measure:" help:"Write a synthetic catalogue of events."`
	Validate    look.Validate    `cmd:"" group:"Learn and measure:" help:"Say what is in files of events, and what a training would make of them."`
	Train       train.Cmd        `cmd:"" group:"Learn and measure:" help:"Learn a model from events and write it to a file."`
	Evaluate    evaluate.Cmd     `cmd:"" group:"Learn and measure:" help:"Measure HR and NDCG of the methods on held-out users."`
	Model       look.Model       `cmd:"" group:"Learn and measure:" help:"Look into model files."`
	Serve       serve.Cmd        `cmd:"" group:"Serve:" help:"Serve recommendations over gRPC."`
	Token       serve.Token      `cmd:"" group:"Serve:" help:"Draw a token for a client of a server."`
	Backup      repair.Backup    `cmd:"" group:"Serve:" help:"Copy the store of a server, also while it runs, and check the copy."`
	Restore     repair.Restore   `cmd:"" group:"Serve:" help:"Make the data folder of a server from a backup."`
	Migrate     migrate.Cmd      `cmd:"" group:"Serve:" help:"Copy the histories and items of one store to another: a folder, valkey:// or postgres://."`
	Export      export.Cmd       `cmd:"" group:"Serve:" help:"Write all histories and items of a store to Parquet files."`
	Verify      repair.Verify    `cmd:"" group:"Serve:" help:"Check the store of a stopped server for damage."`
	Salvage     repair.Salvage   `cmd:"" group:"Serve:" help:"Write what is whole of a damaged store to a new folder."`
	Observe     call.Observe     `cmd:"" group:"Serve:" help:"Send events to a running server."`
	Recommend   call.Recommend   `cmd:"" group:"Serve:" help:"Ask a running server for recommendations."`
	Score       call.Score       `cmd:"" group:"Serve:" help:"Ask a running server for the scores of items."`
	Healthcheck call.Healthcheck `cmd:"" group:"Serve:" help:"Ask whether a server serves; for containers."`
	Models      call.Models      `cmd:"" group:"Serve:" help:"List the models of a running server, and their shares of the users."`
	User        call.User        `cmd:"" group:"Serve:" help:"Look at what a running server holds of a user, take it back, merge or erase it."`
	Tail        call.Tail        `cmd:"" group:"Serve:" help:"Write all events of a running server, and what becomes of them."`
	Items       call.Items       `cmd:"" group:"Serve:" help:"Keep the catalogue of a running server: import, list and remove items."`
	LogLevel    call.LogLevel    `cmd:"" group:"Serve:" help:"Change how much a running server writes to its log."`
	Standalone  standalone.Cmd   `cmd:"" group:"Try:" help:"From files of events to a server in one command: validate, train, serve."`
	Demo        demo.Cmd         `cmd:"" group:"Try:" help:"Run the whole path once: generate, train, serve, observe, recommend."`
	Version     cli.VersionCmd   `cmd:"" group:"Try:" help:"Print the version."`
	Help        cli.HelpCmd      `cmd:"" group:"Try:" help:"Explain gsimc or one of its commands."`

	Config     cli.ConfigCmd     `cmd:"" group:"Set up:" help:"Look into settings."`
	Completion cli.CompletionCmd `cmd:"" group:"Set up:" help:"Print a script for the completion of a shell."`
	Complete   cli.CompleteCmd   `cmd:"" hidden:"" help:"Print the words that may follow; called by the scripts of completion."`
}

// vars are the defaults and names that the tags of the commands refer to.
func vars() kong.Vars {
	all := kong.Vars{}
	for _, some := range []kong.Vars{data.Vars(), serve.Vars()} {
		maps.Copy(all, some)
	}
	return all
}

// program is gsimc.
func program() *cli.Program {
	return &cli.Program{
		Version: cmdline.Version(version), New: func() any { return new(grammar) }, Vars: vars(),
	}
}

// run is main without the process around it. env holds NAME=VALUE strings.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	return program().Run(stdin, stdout, stderr, env, args...)
}
