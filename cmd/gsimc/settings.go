package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// settings gives flags that are not on the command line their value from the environment, or else from the YAML file
// of --config. The twin of --state-cache is GSIMC_STATE_CACHE and the key state-cache.
type settings struct {
	env    map[string]string
	path   string         // of the YAML file; empty: none
	values map[string]any // of the YAML file

	sources map[string]string // where the values of flags came from that are not on the command line, for error messages
}

const envPrefix = "GSIMC_"

func newSettings(env []string) *settings {
	s := &settings{env: map[string]string{}, values: map[string]any{}, sources: map[string]string{}}
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, envPrefix) {
			s.env[name] = value
		}
	}
	return s
}

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Validate has nothing to check before the command line has been read: the file's name may stand there.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve returns the value of a flag, or nil if neither the environment nor the file has it.
func (s *settings) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == "help" {
		return nil, nil
	}
	if value, ok := s.env[envName(flag.Name)]; ok {
		s.sources[flag.Name] = envName(flag.Name)
		return value, nil
	}
	value, ok := s.values[flag.Name]
	if ok {
		s.sources[flag.Name] = s.path
	}
	return value, nil
}

var flagInText = regexp.MustCompile(`--[a-z][a-z-]*`)

// explain adds to each line of an error where the values of the flags in it came from, unless from the command line.
func (s *settings) explain(err error) error {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		var from []string
		flags := flagInText.FindAllString(line, -1)
		slices.Sort(flags)
		for _, flag := range slices.Compact(flags) {
			if source, ok := s.sources[flag[len("--"):]]; ok {
				from = append(from, flag+" from "+source)
			}
		}
		switch len(from) {
		case 0:
		case 1:
			_, source, _ := strings.Cut(from[0], " ")
			lines[i] += " (" + source + ")"
		default:
			lines[i] += " (" + strings.Join(from, ", ") + ")"
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

// BeforeResolve is called by kong between reading the command line and asking the settings for what is not on it.
func (c *cli) BeforeResolve(ctx *kong.Context, s *settings) error {
	for _, flag := range ctx.Model.Flags {
		if flag.Name == "config" {
			s.path, _ = ctx.FlagValue(flag).(string)
		}
	}
	if path := s.env[envName("config")]; s.path == "" && path != "" {
		s.path, s.sources["config"] = path, envName("config")
	}
	if s.path == "" {
		return nil
	}
	if err := s.load(flagNames(ctx.Model.Node)); err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	return nil
}

// load reads the YAML file; known are the keys that it may have.
func (s *settings) load(known []string) error {
	text, err := os.ReadFile(s.path)
	if err != nil {
		return fmt.Errorf("%w: name a YAML file that can be read", pathError(err))
	}
	if err := s.parse(text, known); err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return nil
}

// parse fills values from a YAML mapping of flag names. Keys that are a flag of another command are accepted, so that one
// file can serve several commands.
func (s *settings) parse(text []byte, known []string) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return err
	}
	if len(doc.Content) == 0 {
		return nil // an empty file
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return errors.New("want a mapping of flag names to values")
	}
	for i := 0; i < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		if !slices.Contains(known, key.Value) {
			return fmt.Errorf("line %d: unknown key %q: no command has a flag --%s", key.Line, key.Value, key.Value)
		}
		if _, twice := s.values[key.Value]; twice {
			return fmt.Errorf("line %d: the key %q stands twice", key.Line, key.Value)
		}
		value, err := flagValue(node)
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", node.Line, key.Value, err)
		}
		s.values[key.Value] = value
	}
	return nil
}

// flagValue turns a YAML value into what kong reads: text, or a list of texts. A mapping becomes "key=value;…".
func flagValue(node *yaml.Node) (any, error) {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag != "!!null":
		return node.Value, nil
	case node.Kind == yaml.SequenceNode:
		var list []any
		for _, element := range node.Content {
			if element.Kind != yaml.ScalarNode {
				return nil, errors.New("want a list of single values")
			}
			list = append(list, element.Value)
		}
		return list, nil
	case node.Kind == yaml.MappingNode:
		var pairs []string
		for i := 0; i < len(node.Content); i += 2 {
			pairs = append(pairs, node.Content[i].Value+"="+node.Content[i+1].Value)
		}
		return strings.Join(pairs, ";"), nil
	}
	return nil, errors.New("want a value, a list or a mapping")
}

// flagNames lists the flags of a command and of all below it that a file may set.
func flagNames(node *kong.Node) []string {
	var names []string
	for _, flag := range node.Flags {
		if flag.Name != "help" && flag.Name != "config" {
			names = append(names, flag.Name)
		}
	}
	for _, child := range node.Children {
		names = append(names, flagNames(child)...)
	}
	return names
}
