package main

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// lines is a page in memory.
type lines struct{ strings.Builder }

func (l *lines) P(v ...any) {
	for _, part := range v {
		fmt.Fprint(l, part)
	}
	l.WriteString("\n")
}

// TestPage: services, paths, streams, fields and comments are on the page.
func TestPage(t *testing.T) {
	comment := func(text string, path ...int32) *descriptorpb.SourceCodeInfo_Location {
		return &descriptorpb.SourceCodeInfo_Location{Path: path, Span: []int32{0, 0, 0},
			LeadingComments: &text}
	}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("gsimc/v1/a.proto"), Package: proto.String("gsimc.v1"),
		Syntax:  proto.String("proto3"),
		Options: &descriptorpb.FileOptions{GoPackage: proto.String("x/y;y")},
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Ask"), Field: []*descriptorpb.FieldDescriptorProto{{
				Name: proto.String("ids"), Number: proto.Int32(4), JsonName: proto.String("ids"),
				Type:  descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
				Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(),
			}},
		}},
		Service: []*descriptorpb.ServiceDescriptorProto{{
			Name: proto.String("AService"), Method: []*descriptorpb.MethodDescriptorProto{{
				Name: proto.String("Do"), InputType: proto.String(".gsimc.v1.Ask"),
				OutputType: proto.String(".gsimc.v1.Ask"), ServerStreaming: proto.Bool(true),
			}},
		}},
		SourceCodeInfo: &descriptorpb.SourceCodeInfo{Location: []*descriptorpb.SourceCodeInfo_Location{
			comment(" Do does it.\n", 6, 0, 2, 0), comment(" One | or\n two.\n", 4, 0, 2, 0),
		}},
	}
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{"gsimc/v1/a.proto"},
		ProtoFile:      []*descriptorpb.FileDescriptorProto{file},
	})
	if err != nil {
		t.Fatal(err)
	}
	paths, err := readPaths([]byte("http:\n  rules:\n    - selector: gsimc.v1.AService.Do\n" +
		"      post: /v1/do\n      additional_bindings:\n        - get: /v1/{x}\n"))
	if err != nil {
		t.Fatal(err)
	}
	out := &lines{}
	(&page{out: out, paths: paths}).print(plugin.Files)
	for _, want := range []string{
		"### AService.Do\n\nDo does it.\n", "* [Ask](#ask) → stream of [Ask](#ask)\n",
		"* `POST /v1/do`\n* `GET /v1/{x}`\n",
		"| repeated `string` | One \\| or two. |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
