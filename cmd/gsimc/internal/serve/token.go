package serve

import (
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/server"
)

// Token is `gsimc token`.
type Token struct {
	Name  string `arg:"" help:"Whose token it is, for people: web, nightly-import."`
	Roles string `required:"" placeholder:"ROLE,..." help:"What it is good for: ${serve_roles}. No role includes another."`
}

// Help is the manual under the flags.
func (Token) Help() string {
	return `Draws a token and prints it, and below it the line for the file of serve --token-file.
The line has the hash of the token only, and the token is shown once: keep it where the client
reads it (--client-token-file).

  gsimc token web --roles recommend,observe
  gsimc token web --roles recommend | { read -r t; echo "$t" > web.token; cat >> tokens; }

A server reads the file again within two seconds of a change. To replace a token, add the new
line, give the client its token, and remove the old line.`
}

// Check has the server look at the flags.
func (c *Token) Check() error {
	_, _, err := server.NewToken(c.Name, c.Roles)
	return err
}

// Run prints two lines.
func (c *Token) Run(a *cli.App) error {
	token, line, err := server.NewToken(c.Name, c.Roles)
	if err == nil {
		a.Printf("%s\n%s\n", token, line)
	}
	return err
}
