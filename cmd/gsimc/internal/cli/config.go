package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// ConfigCmd is `gsimc config`.
type ConfigCmd struct {
	Print configPrint `cmd:"" help:"Print the values that a command would take, and where each is from."`
}

// configPrint is `gsimc config print`.
type configPrint struct {
	Command []string `arg:"" help:"The command, for example: serve, or: model show."`
}

// Help is the manual under the flags.
func (configPrint) Help() string {
	return `Prints the values that the command takes from the environment, the file of --config
and the defaults. The command line may still change them. The output is itself a file for
--config, unless it says that it hides a password.

  gsimc config print serve
  gsimc config print serve --config gsimc.yaml`
}

// Run prints one line of YAML for each flag of the command, with its source as a comment.
func (c *configPrint) Run(a *App, k *kong.Kong, s *settings) error {
	node := findNode(k.Model.Node, c.Command)
	if node == nil || node == k.Model.Node {
		return Usagef("there is no command %q; run gsimc help", strings.Join(c.Command, " "))
	}
	if err := s.only(k.Model.Node, node); err != nil {
		return Usage(err)
	}
	for _, level := range node.AllFlags(true) {
		for _, flag := range level {
			if slices.Contains(commandLineOnly, flag.Name) {
				continue
			}
			line, err := settingLine(flag, s)
			if err != nil {
				return err
			}
			a.Printf("%s\n", line)
		}
	}
	return nil
}

// settingLine is "state-cache: 256MiB # default". A flag without a value is a comment.
func settingLine(flag *kong.Flag, s *settings) (string, error) {
	value, source := s.lookup(flag)
	if value == nil {
		if !flag.HasDefault || flag.Default == "" {
			return fmt.Sprintf("# %s: not set", flag.Name), nil
		}
		value, source = flag.Default, "default"
	}
	if err := takes(flag, value); err != nil {
		return "", Flag("--"+flag.Name, fmt.Errorf("%w (from %s)", err, s.place(flag, source)))
	}
	if shown := withoutSecrets(flag, value); fmt.Sprint(shown) != fmt.Sprint(value) {
		value, source = shown, source+", with a password that is not shown"
	}
	if list, ok := value.([]any); ok {
		value = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: scalars(list)}
	} else {
		value = scalar(fmt.Sprint(value))
	}
	text, err := yaml.Marshal(map[string]any{flag.Name: value})
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(text)) + " # " + source, nil
}

// withoutSecrets hides passwords in the addresses of a flag for texts.
func withoutSecrets(flag *kong.Flag, value any) any {
	if kind := flag.Target.Kind(); kind != reflect.String && kind != reflect.Slice {
		return value
	}
	list, ok := value.([]any)
	if !ok {
		return HideSecrets(fmt.Sprint(value))
	}
	shown := make([]any, len(list))
	for i, element := range list {
		shown[i] = HideSecrets(fmt.Sprint(element))
	}
	return shown
}

// scalar is a YAML value that is read as this text.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if strings.ContainsAny(text, "#:{}[],&*?|<>=!%@'\"\n") || text != strings.TrimSpace(text) ||
		text == "" {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func scalars(list []any) []*yaml.Node {
	var nodes []*yaml.Node
	for _, element := range list {
		nodes = append(nodes, scalar(fmt.Sprint(element)))
	}
	return nodes
}

// findNode returns the command or group of commands with this path; nil: there is none.
func findNode(root *kong.Node, path []string) *kong.Node {
	node := root
	for _, word := range path {
		at := slices.IndexFunc(node.Children,
			func(child *kong.Node) bool { return child.Name == word })
		if at < 0 {
			return nil
		}
		node = node.Children[at]
	}
	return node
}
