package cli

import (
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gsimc/gsimc/internal/cmdline"
)

// CompletionCmd is `gsimc completion`.
type CompletionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help is the manual under the flags.
func (CompletionCmd) Help() string {
	return `Prints a script that makes a shell complete the commands, flags and choices of gsimc.

  source <(gsimc completion bash)                                    # in ~/.bashrc
  source <(gsimc completion zsh)                                     # in ~/.zshrc, after compinit
  gsimc completion fish > ~/.config/fish/completions/gsimc.fish`
}

// The scripts ask the program itself, which knows every flag; the library for kong is of an old
// version and brings four modules: `gsimc complete -- WORD...` prints what may follow these
// words. Where it prints nothing the shell completes names of files.
var completionScripts = map[string]string{
	"bash": `_gsimc() {
  local IFS=$'\n'
  local next=$(gsimc complete -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
  COMPREPLY=($(compgen -W "$next" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _gsimc gsimc
`,
	"zsh": `#compdef gsimc
_gsimc() {
  local -a found
  found=(${(f)"$(gsimc complete -- "${(@)words[2,CURRENT-1]}" 2>/dev/null)"})
  if (( $#found )); then compadd -a found; else _files; fi
}
if [[ $funcstack[1] = _gsimc ]]; then _gsimc "$@"; else compdef _gsimc gsimc; fi
`,
	"fish": `complete -c gsimc -a '(gsimc complete -- (commandline -opc)[2..] 2>/dev/null)'
`,
}

// Run prints the script of the shell.
func (c *CompletionCmd) Run(a *App) error {
	a.Printf("%s", completionScripts[c.Shell])
	return nil
}

// CompleteCmd is what the scripts of [CompletionCmd] call.
type CompleteCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run prints what may follow the words, one a line.
func (c *CompleteCmd) Run(a *App, k *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, next := range complete(k.Model.Node, words) {
		a.Printf("%s\n", next)
	}
	return nil
}

// complete returns the words that may follow: the choices of a flag that wants a value, or the
// commands and flags of the command that the words name.
func complete(root *kong.Node, words []string) []string {
	node, wanting := cmdline.Walk(root, words)
	if wanting != nil {
		if words := wanting.Tag.Get("words"); words != "" { // some of what the flag takes
			return strings.Split(words, ",")
		}
		if wanting.Enum == "" {
			return nil
		}
		return wanting.EnumSlice()
	}
	var found []string
	for _, child := range node.Children {
		if !child.Hidden {
			found = append(found, child.Name)
		}
	}
	for _, level := range node.AllFlags(true) {
		for _, flag := range level {
			found = append(found, "--"+flag.Name)
		}
	}
	return found
}
