package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"github.com/gsimc/gsimc/internal/file/yamltext"
	"github.com/gsimc/gsimc/internal/near"
)

// settings gives flags that are not on the command line their value from the environment, or else
// from the YAML file of --config. The twin of --state-cache is GSIMC_STATE_CACHE and the key
// state-cache.
type settings struct {
	env    map[string]string
	path   string         // of the YAML file; empty: none
	shared bool           // the environment names the file, for all commands
	values map[string]any // of the YAML file
	lines  map[string]int // where the values stand

	sources map[string]string // of flags that are not on the command line, by name
}

// EnvPrefix begins the environment variables that are twins of flags.
const EnvPrefix = "GSIMC_"

func newSettings(env []string) *settings {
	s := &settings{env: map[string]string{}, values: map[string]any{}, lines: map[string]int{},
		sources: map[string]string{}}
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, EnvPrefix) {
			s.env[name] = value
		}
	}
	return s
}

// envName returns the environment variable of a flag.
func envName(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// mistyped tells of the variables that are twins of no flag, but nearly are. Of others nothing is
// said: they may be another program's, or those of a Kubernetes service named gsimc.
func (s *settings) mistyped(flags []string) (texts []string) {
	known := map[string]bool{}
	for _, flag := range flags {
		known[envName(flag)] = true
	}
	names := slices.Sorted(maps.Keys(known))
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		at := slices.IndexFunc(names, func(right string) bool { return nearly(name, right) })
		if !known[name] && at >= 0 {
			texts = append(texts, fmt.Sprintf("%s is not a variable of any flag: did you mean %s?",
				name, names[at]))
		}
	}
	return texts
}

// nearly reports whether two names differ in one place, by up to two letters. In short names that
// says nothing.
func nearly(a, b string) bool {
	long := len(EnvPrefix) + 5
	if min(len(a), len(b)) < long {
		return false
	}
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return max(len(a), len(b)) <= 2
}

// source returns where the value of a flag such as "--rank" is from; empty: not from the settings.
func (s *settings) source(flag string) string {
	name, ok := strings.CutPrefix(flag, "--")
	if !ok {
		return ""
	}
	return s.sources[name]
}

// fromFile reports whether the value of a flag is from the file.
func (s *settings) fromFile(name string) bool {
	return s.path != "" && strings.HasSuffix(s.sources[name], " of "+s.path)
}

// Validate implements [kong.Resolver]. The name of the file may stand on the command line, which
// has not been read yet, so that there is nothing to check.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve implements [kong.Resolver]. It returns the value of a flag, or nil if neither the
// environment nor the file has it. A value that the flag cannot take is refused here, where its
// source is known.
func (s *settings) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	value, source := s.lookup(flag)
	if value == nil {
		return nil, nil
	}
	if err := takes(flag, value); err != nil {
		return nil, fmt.Errorf("%w (from %s)", err, s.place(flag, source))
	}
	s.sources[flag.Name] = s.place(flag, source)
	return value, nil
}

// place is where in its source the value of a flag is.
func (s *settings) place(flag *kong.Flag, source string) string {
	if source != s.path {
		return source
	}
	return fmt.Sprintf("line %d of %s", s.lines[flag.Name], source)
}

// commandLineOnly are the flags that have neither a twin in the environment nor a key in the file:
// --share would make a change of every look. The file's name has a twin, see [Root.BeforeResolve].
var commandLineOnly = []string{"help", "version", "config", "share"}

// lookup returns the value of a flag and where it is from; nil: neither the environment nor the
// file has it.
func (s *settings) lookup(flag *kong.Flag) (value any, source string) {
	if slices.Contains(commandLineOnly, flag.Name) {
		return nil, ""
	}
	if text, ok := s.env[envName(flag.Name)]; ok {
		return text, envName(flag.Name)
	}
	value, ok := s.values[flag.Name]
	if !ok {
		return nil, ""
	}
	if pairs, ok := value.(mapping); ok {
		return strings.Join(pairs, string(flag.Tag.MapSep)), s.path
	}
	return value, s.path
}

// mapping is a YAML mapping as "key=value" pairs. Each flag has its own separator of pairs.
type mapping []string

// takes returns an error if a flag cannot take a value of the settings.
func takes(flag *kong.Flag, value any) error {
	target := reflect.New(flag.Target.Type()).Elem()
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
	}
	if _, list := value.([]any); list && target.Kind() != reflect.Slice {
		if target.Kind() == reflect.Map {
			return errors.New("is a list, want a mapping")
		}
		return errors.New("is a list, want one value")
	}
	scan := kong.Scan().PushTyped(value, kong.FlagValueToken)
	decode := &kong.DecodeContext{Value: flag.Value, Scan: scan}
	if err := flag.Mapper.Decode(decode, target); err != nil {
		return err
	}
	target = reflect.Indirect(target)
	if flag.Enum != "" && !slices.Contains(flag.EnumSlice(), fmt.Sprint(target.Interface())) {
		return fmt.Errorf("must be one of %s but got %q", quoted(flag.EnumSlice()),
			fmt.Sprint(target.Interface()))
	}
	return nil
}

// quoted lists names as kong does.
func quoted(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("%q", name))
	}
	return strings.Join(list, ",")
}

// Root holds the flags of gsimc itself. Every grammar embeds it.
type Root struct {
	Config string `placeholder:"FILE" help:"YAML file of flag values, one 'flag-name: value' a line."`
	Quiet  bool   `short:"q" help:"Show no progress."`

	PrintVersion versionFlag `name:"version" help:"Print the version."`
}

func (r *Root) globals() *Root { return r }

// BeforeResolve is called by kong after it has read the command line and before it asks the
// settings for the other flags.
func (*Root) BeforeResolve(ctx *kong.Context, s *settings) error {
	for _, flag := range ctx.Model.Flags {
		if flag.Name == "config" {
			s.path, _ = ctx.FlagValue(flag).(string)
		}
	}
	from := ""
	if path := s.env[envName("config")]; s.path == "" && path != "" {
		s.path, from = path, " (from "+envName("config")+")"
	}
	if s.path == "" {
		return nil
	}
	if err := s.load(flagNames(ctx.Model.Node)); err != nil {
		return fmt.Errorf("--config: %w%s", err, from)
	}
	s.shared = from != ""
	node := ctx.Selected()
	if node == nil || node.Target.Type() == reflect.TypeFor[configPrint]() {
		return nil
	}
	return s.only(ctx.Model.Node, node)
}

// only refuses keys of the file that are no flags of a command. A file that the environment names
// may have them: a container runs several commands in one environment.
func (s *settings) only(root, command *kong.Node) error {
	if s.shared {
		return nil
	}
	key, own := "", ownFlags(command)
	for name, line := range s.lines {
		if !slices.Contains(own, name) && (key == "" || line < s.lines[key]) {
			key = name
		}
	}
	if key == "" {
		return nil
	}
	var takers []string
	for _, node := range root.Leaves(true) {
		if slices.Contains(ownFlags(node), key) {
			takers = append(takers, node.Path())
		}
	}
	if len(takers) > 3 {
		takers = append(takers[:3], "...")
	}
	return fmt.Errorf("--config: %s: line %d: --%s is a flag of %s, and not of %s: take "+
		"the line out, or name the file by GSIMC_CONFIG instead",
		s.path, s.lines[key], key, strings.Join(takers, ", "), command.Path())
}

// load reads the YAML file, whose keys must be known.
func (s *settings) load(known []string) error {
	text, err := os.ReadFile(s.path)
	if err != nil {
		return fmt.Errorf("%w: name a YAML file that can be read", PathError(err))
	}
	if err := s.parse(text, known); err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return nil
}

// parse fills values from a YAML mapping of flag names. A key may be a flag of another command: see
// [settings.only].
func (s *settings) parse(text []byte, known []string) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		at := "this"
		line, problem := yamltext.Fault(text, err)
		if line > 0 { // of a long file it may not be known
			at = fmt.Sprintf("line %d", line)
		}
		return fmt.Errorf("%s is not YAML: want flag-name: value: %s", at, problem)
	}
	if line := yamltext.Second(text); line > 0 {
		return fmt.Errorf("line %d: begins a second document: want one, without ---", line)
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		return nil // an empty file
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want flag-name: value, such as quiet: true", root.Line)
	}
	for i := 0; i < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		if slices.Contains(commandLineOnly, key.Value) {
			return fmt.Errorf("line %d: --%s stands on the command line alone", key.Line, key.Value)
		}
		if !slices.Contains(known, key.Value) && node.Kind == yaml.MappingNode {
			return fmt.Errorf("line %d: unknown key %q: want flags alone, without a name "+
				"above them", key.Line, key.Value)
		}
		if !slices.Contains(known, key.Value) {
			return fmt.Errorf("line %d: %w", key.Line, unknownKey(key.Value, known))
		}
		if _, twice := s.values[key.Value]; twice {
			return fmt.Errorf("line %d: the key %q stands twice", key.Line, key.Value)
		}
		value, err := flagValue(node)
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", node.Line, key.Value, err)
		}
		s.values[key.Value], s.lines[key.Value] = value, node.Line
	}
	return nil
}

// unknownKey is the error of a key that is the name of no flag.
func unknownKey(key string, known []string) error {
	known = slices.DeleteFunc(slices.Clone(known), func(name string) bool {
		return slices.Contains(commandLineOnly, name)
	})
	if at := near.Index(key, known); at >= 0 {
		return fmt.Errorf("unknown key %q: did you mean %s?", key, known[at])
	}
	return fmt.Errorf("unknown key %q: no command has a flag --%s", key, key)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// isSingle reports whether a node is a value and no list or mapping.
func isSingle(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag != "!!null" }

// flagValue turns a YAML value into what kong reads: text, or a list of texts; or into a [mapping].
func flagValue(node *yaml.Node) (any, error) {
	switch {
	case isNull(node):
		return nil, errors.New("a value is missing")
	case isSingle(node):
		return node.Value, nil
	case node.Kind == yaml.AliasNode && isSingle(node.Alias):
		return node.Alias.Value, nil
	case node.Kind == yaml.SequenceNode:
		var list []any
		for _, element := range node.Content {
			if !isSingle(element) {
				return nil, errors.New("want a list of single values")
			}
			list = append(list, element.Value)
		}
		return list, nil
	case node.Kind == yaml.MappingNode:
		return pairsOf(node)
	}
	return nil, errors.New("want a value, a list or a mapping")
}

// pairsOf returns a YAML mapping to single values.
func pairsOf(node *yaml.Node) (pairs mapping, err error) {
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]
		if seen[key] {
			return nil, fmt.Errorf("the key %q stands twice", key)
		}
		if !isSingle(value) {
			return nil, fmt.Errorf("want a single value of %s", key)
		}
		seen[key], pairs = true, append(pairs, key+"="+value.Value)
	}
	return pairs, nil
}

// ownFlags lists the flags that a command takes.
func ownFlags(command *kong.Node) (names []string) {
	for _, level := range command.AllFlags(false) {
		for _, flag := range level {
			names = append(names, flag.Name)
		}
	}
	return names
}

// flagNames lists the flags of a command and of all below it.
func flagNames(node *kong.Node) []string {
	var names []string
	for _, flag := range node.Flags {
		names = append(names, flag.Name)
	}
	for _, child := range node.Children {
		names = append(names, flagNames(child)...)
	}
	return names
}
