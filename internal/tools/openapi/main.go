// Command openapi is a plugin of buf that describes the JSON side in OpenAPI 3.1. It has
// protoc-gen-openapiv2 write the document, which knows OpenAPI 2 only, and rewrites what differs.
// The order of what is in the document stays that of the protocol.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	cmd := exec.Command("go", "tool", "-modfile=internal/tools/go.mod", "protoc-gen-openapiv2")
	cmd.Dir = "../.." // buf runs this by go -C internal/tools run ./openapi
	cmd.Stdin, cmd.Stderr = in, os.Stderr
	answer, err := cmd.Output()
	if err != nil {
		return err
	}
	var made pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(answer, &made); err != nil {
		return err
	}
	if made.Error != nil || len(made.File) != 1 {
		return fmt.Errorf("%d files of protoc-gen-openapiv2: %s", len(made.File), made.GetError())
	}
	text, err := convert(made.File[0].GetContent())
	if err != nil {
		return err
	}
	made.File[0].Name, made.File[0].Content = proto.String("openapi.json"), &text
	answer, err = proto.Marshal(&made)
	if err == nil {
		_, err = out.Write(answer)
	}
	return err
}

// convert returns a document of OpenAPI 2 as one of 3.1.
func convert(text string) (string, error) {
	var two struct{ Info, Tags, Paths, Definitions yaml.Node }
	if err := yaml.Unmarshal([]byte(text), &two); err != nil { // JSON is YAML
		return "", err
	}
	for path := range values(&two.Paths) {
		for operation := range values(path) {
			body(operation)
			responses := get(operation, "responses")
			lines(responses)
			for response := range values(responses) {
				content(response, "application/json")
			}
		}
	}
	three := parse(`{openapi: 3.1.0, info: , servers: [{url: /}], security: [{Bearer: []}, {}],
		tags: , paths: , components: {schemas: , securitySchemes: {Bearer: {type: http,
		scheme: bearer, description: "For servers with tokens."}}}}`)
	*get(three, "info"), *get(three, "tags") = two.Info, two.Tags
	*get(three, "paths") = two.Paths
	*get(get(three, "components"), "schemas") = two.Definitions
	refer(three)
	var out bytes.Buffer
	if err := write(&out, three); err != nil {
		return "", err
	}
	var indented bytes.Buffer
	err := json.Indent(&indented, out.Bytes(), "", "  ")
	return indented.String() + "\n", err
}

// body moves what tells of the body of an operation from its parameters to a place of its own, and
// what tells of a value into the schema of its parameter.
func body(operation *yaml.Node) {
	parameters := get(operation, "parameters")
	if parameters == nil {
		return
	}
	var others []*yaml.Node
	for _, p := range parameters.Content {
		if get(p, "in").Value == "body" {
			take(p, "name")
			take(p, "in")
			content(p, "application/json")
			set(operation, "requestBody", p)
			continue
		}
		take(p, "collectionFormat") // always that of OpenAPI 3
		if strings.Contains(get(p, "name").Value, ".") {
			get(p, "required").Value = "false" // the message that the field is in need not be there
		}
		schema := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range []string{"type", "format", "items", "enum", "default"} {
			if value := take(p, key); value != nil {
				set(schema, key, value)
			}
		}
		set(p, "schema", schema)
		others = append(others, p)
	}
	if parameters.Content = others; len(others) == 0 {
		take(operation, "parameters")
	}
}

// lines describes the answer of several messages: one on each line, and not the {result, error} of
// the library, which the line of an error alone is.
func lines(responses *yaml.Node) {
	answer := get(responses, "200")
	title := get(get(answer, "schema"), "title")
	if title == nil || !strings.HasPrefix(title.Value, "Stream result") {
		return
	}
	parts := get(take(answer, "schema"), "properties")
	set(answer, "schema", get(parts, "result"))
	get(answer, "description").Value = "One message on each line. The line {\"error\": Status} " +
		"ends an answer that is not whole."
	content(answer, "application/x-ndjson")
}

// content says of what type a body or an answer is, if nothing has said so.
func content(of *yaml.Node, name string) {
	schema := take(of, "schema")
	if schema == nil {
		return
	}
	media := parse(`{` + name + `: {schema: }}`)
	*get(get(media, name), "schema") = *schema
	set(of, "content", media)
}

// refer gives references their new place. The type beside one is that of what it names.
func refer(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		if ref := get(n, "$ref"); ref != nil {
			take(n, "type")
			ref.Value = strings.Replace(ref.Value, "#/definitions/", "#/components/schemas/", 1)
		}
	}
	for _, part := range n.Content {
		refer(part)
	}
}

// write writes a node as JSON.
func write(out *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag != "!!str" {
			out.WriteString(n.Value)
			return nil
		}
		text := json.NewEncoder(out)
		text.SetEscapeHTML(false)
		return text.Encode(n.Value)
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, element := range n.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := write(out, element); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	case yaml.MappingNode:
		out.WriteByte('{')
		for i, part := range n.Content {
			switch {
			case i%2 == 1:
				out.WriteByte(':')
			case i > 0:
				out.WriteByte(',')
			}
			if err := write(out, part); err != nil {
				return err
			}
		}
		out.WriteByte('}')
		return nil
	}
	return fmt.Errorf("a node of kind %d at line %d", n.Kind, n.Line)
}

// parse returns the node of a text of this file.
func parse(text string) *yaml.Node {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		panic(err)
	}
	return document.Content[0]
}

// values are those of a mapping.
func values(mapping *yaml.Node) func(yield func(*yaml.Node) bool) {
	return func(yield func(*yaml.Node) bool) {
		for i := 1; i < len(mapping.Content); i += 2 {
			if !yield(mapping.Content[i]) {
				return
			}
		}
	}
}

// get returns the value of a key, or nil.
func get(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// take removes a key and returns its value, or nil.
func take(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			value := mapping.Content[i+1]
			mapping.Content = append(mapping.Content[:i], mapping.Content[i+2:]...)
			return value
		}
	}
	return nil
}

// set adds a key that is not there.
func set(mapping *yaml.Node, key string, value *yaml.Node) {
	mapping.Content = append(mapping.Content,
		&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}
