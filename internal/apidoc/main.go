// Command apidoc is a plugin of buf that writes docs/api.md: the services, messages and enums of
// the protocol with their comments. make generate runs it.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

// pathsFile has the HTTP paths of the methods.
const pathsFile = "api/http.yaml"

func main() {
	protogen.Options{}.Run(func(p *protogen.Plugin) error {
		p.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
		raw, err := os.ReadFile(pathsFile)
		if err != nil {
			return err
		}
		paths, err := readPaths(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", pathsFile, err)
		}
		g := p.NewGeneratedFile("api.md", "")
		page := &page{out: g, paths: paths}
		page.print(p.Files)
		return nil
	})
}

// readPaths returns the HTTP methods and paths of each method of the protocol.
func readPaths(raw []byte) (map[string][]string, error) {
	var file struct {
		HTTP struct {
			Rules []struct {
				Selector   string
				binding    `yaml:",inline"`
				Additional []binding `yaml:"additional_bindings"`
			}
		}
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		return nil, err
	}
	paths := map[string][]string{}
	for _, r := range file.HTTP.Rules {
		for _, b := range append([]binding{r.binding}, r.Additional...) {
			paths[r.Selector] = append(paths[r.Selector], b.String())
		}
	}
	return paths, nil
}

// binding is a path for one method of HTTP.
type binding struct{ Get, Post, Put, Patch, Delete string }

func (b binding) String() string {
	for method, path := range map[string]string{"GET": b.Get, "POST": b.Post, "PUT": b.Put,
		"PATCH": b.Patch, "DELETE": b.Delete} {
		if path != "" {
			return method + " " + path
		}
	}
	return ""
}

// page is the page that is being written.
type page struct {
	out   interface{ P(v ...any) }
	paths map[string][]string
}

const intro = `# API reference

Made by make generate of the [protocol files](../api/gsimc/v1), which are the manual; this is their
text in one page. [Clients](clients.md) shows calls, [the guide](guide.md#without-grpc) the JSON
side. Fields of JSON have their names in camel case.
`

func (p *page) print(files []*protogen.File) {
	p.out.P(intro)
	var made []*protogen.File
	for _, f := range files {
		if f.Generate {
			made = append(made, f)
		}
	}
	slices.SortStableFunc(made, func(a, b *protogen.File) int { return rank(a) - rank(b) })
	for _, f := range made {
		for _, s := range f.Services {
			p.service(s)
		}
		p.types(f.Messages, f.Enums)
	}
}

// rank puts the services of clients first, then that of operators, then what they share.
func rank(f *protogen.File) int {
	switch {
	case len(f.Services) == 0:
		return 2
	case f.Services[0].Desc.Name() == "AdminService":
		return 1
	}
	return 0
}

func (p *page) service(s *protogen.Service) {
	p.out.P("## ", s.Desc.Name(), "\n\n", text(s.Comments.Leading))
	for _, m := range s.Methods {
		p.out.P("### ", s.Desc.Name(), ".", m.Desc.Name(), "\n\n", text(m.Comments.Leading))
		p.out.P("* ", flow(m.Desc.IsStreamingClient()), reference(m.Input.Desc), " → ",
			flow(m.Desc.IsStreamingServer()), reference(m.Output.Desc))
		for _, path := range p.paths[string(m.Desc.FullName())] {
			p.out.P("* `", path, "`")
		}
		p.out.P("")
	}
}

func flow(stream bool) string {
	if stream {
		return "stream of "
	}
	return ""
}

// types prints messages, those within them, and enums.
func (p *page) types(messages []*protogen.Message, enums []*protogen.Enum) {
	for _, m := range messages {
		if m.Desc.IsMapEntry() {
			continue
		}
		p.out.P("### ", title(m.Desc), "\n\n", text(m.Comments.Leading))
		if len(m.Fields) > 0 {
			p.out.P("| field | type | |\n|---|---|---|")
		}
		for _, f := range m.Fields {
			p.out.P("| `", f.Desc.Name(), "` = ", f.Desc.Number(), " | ", kind(f), " | ",
				cell(f.Comments.Leading), " |")
		}
		p.out.P("")
		p.types(m.Messages, m.Enums)
	}
	for _, e := range enums {
		p.out.P("### ", title(e.Desc), "\n\n", text(e.Comments.Leading),
			"\n| value | |\n|---|---|")
		for _, v := range e.Values {
			p.out.P("| `", v.Desc.Name(), "` = ", v.Desc.Number(), " | ",
				cell(v.Comments.Leading), " |")
		}
		p.out.P("")
	}
}

// title is the name of a type within its package.
func title(d protoreflect.Descriptor) string {
	return strings.TrimPrefix(string(d.FullName()), string(d.ParentFile().Package())+".")
}

// reference is the name of a type, with a link if it is on the page.
func reference(d protoreflect.Descriptor) string {
	if !strings.HasPrefix(string(d.FullName()), "gsimc.") {
		return "`" + string(d.FullName()) + "`"
	}
	name := title(d)
	return "[" + name + "](#" + strings.ToLower(strings.ReplaceAll(name, ".", "")) + ")"
}

func kind(f *protogen.Field) string {
	var name string
	switch {
	case f.Desc.IsMap():
		return "map of `" + f.Desc.MapKey().Kind().String() + "` to `" +
			f.Desc.MapValue().Kind().String() + "`"
	case f.Message != nil:
		name = reference(f.Message.Desc)
	case f.Enum != nil:
		name = reference(f.Enum.Desc)
	default:
		name = "`" + f.Desc.Kind().String() + "`"
	}
	switch {
	case f.Desc.IsList():
		return "repeated " + name
	case f.Desc.HasOptionalKeyword():
		return "optional " + name
	case f.Oneof != nil:
		return name + ", one of `" + string(f.Oneof.Desc.Name()) + "`"
	}
	return name
}

// text is a comment as paragraphs.
func text(c protogen.Comments) string {
	var b strings.Builder
	for line := range strings.Lines(string(c)) {
		b.WriteString(strings.TrimPrefix(line, " "))
	}
	return b.String()
}

// cell is a comment in one line of a table.
func cell(c protogen.Comments) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(string(c)), " "), "|", "\\|")
}
