package serve

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/server"
)

// Token is `gsimc token`.
type Token struct {
	Name  string `arg:"" help:"Whose token it is, for people: web, nightly-import."`
	Roles string `required:"" placeholder:"ROLE,..." help:"What it is good for: ${serve_roles}. No role includes another."`
	AddTo string `writes:"dir" placeholder:"FILE" help:"Append the line to this file of tokens, which is made if it is not there, and print the token alone."`
}

// Help is the manual under the flags.
func (Token) Help() string {
	return `Draws a token and prints it, and below it the line for the file of serve --token-file.
The line has the hash of the token only, and the token is shown once: keep it where the client
reads it (--client-token-file).

  gsimc token web --roles recommend,observe
  (umask 077; set -C; gsimc token web --roles recommend,observe --add-to tokens > web.token)

The shell empties the file behind > before the command runs, and the token in it is lost; with
"set -C" it refuses a file that is there.

Behind its hash a line may have limits of the token: calls=N a second, and new-users=N who begin a
history in a minute.

A server reads the file again within two seconds of a change. To replace a token, add another one
under another name, give the client its token, and remove the old line.`
}

// Check has the server look at the flags.
func (c *Token) Check() error {
	_, _, err := server.NewToken(c.Name, c.Roles)
	return err
}

// Run prints the token, and its line unless that goes to the file.
func (c *Token) Run(a *cli.App) error {
	token, line, err := server.NewToken(c.Name, c.Roles)
	if err != nil {
		return err
	}
	if c.AddTo == "" {
		a.Printf("%s\n%s\n", token, line)
		return nil
	}
	var printed error
	err = addToken(c.AddTo, c.Name, line, func() error {
		_, printed = fmt.Fprintln(a.Stdout, token)
		return printed
	})
	if printed != nil {
		return fmt.Errorf("the token was not printed, and its line not added: %w",
			cli.PathError(printed))
	}
	return cli.Flag("--add-to", cli.PathError(err))
}

// addToken appends a line to a file of tokens, unless the name is there. It calls show just before,
// and writes nothing if that fails. It is one write to the file itself, so that a server sees the
// whole line or nothing of it, and that the file keeps its owner.
func addToken(path, name, line string, show func() error) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		number++
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case len(words) < 3 || len(words[2]) != 2*sha256.Size && words[2] != "jwt":
			return fmt.Errorf("%s: line %d is no line of a file of tokens", path, number)
		case words[0] == name:
			return fmt.Errorf("%s: line %d has the name %s: choose another name, or remove the "+
				"line if its token is lost", path, number, name)
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		line = "\n" + line
	}
	if err := show(); err != nil {
		return err
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		return err
	}
	return f.Sync()
}
