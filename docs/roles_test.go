package docs

import (
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server"
)

var (
	sentenceEnd = regexp.MustCompile(`\.\s|\n\n`)
	listener    = regexp.MustCompile("(?m)^\\|[^|]*\\| `--(?:json-)?listen`.*$")
)

// TestRolesAreNamed: a sentence on roles that names those of operators and of events names all.
func TestRolesAreNamed(t *testing.T) {
	found := 0
	for name, text := range texts(t) {
		for _, sentence := range sentenceEnd.Split(text, -1) {
			if !strings.Contains(sentence, "role") || !strings.Contains(sentence, "`admin`") ||
				!strings.Contains(sentence, "`observe`") {
				continue
			}
			found++
			for _, role := range server.Roles() {
				if !strings.Contains(sentence, "`"+role+"`") {
					t.Errorf("%s does not name the role %s: %s", name, role, sentence)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no text says which roles there are")
	}
}

// TestListenersHaveServices: a row of a table for a listener of clients names what each of their
// services is about.
func TestListenersHaveServices(t *testing.T) {
	services := []protoreflect.FileDescriptor{pb.File_gsimc_v1_recommender_service_proto,
		pb.File_gsimc_v1_event_service_proto, pb.File_gsimc_v1_user_service_proto,
		pb.File_gsimc_v1_item_service_proto}
	found := 0
	for name, text := range texts(t) {
		for _, line := range listener.FindAllString(text, -1) {
			found++
			for _, file := range services {
				about := strings.TrimSuffix(string(file.Services().Get(0).Name()), "Service")
				if !strings.Contains(strings.ToLower(line), strings.ToLower(about)) {
					t.Errorf("%s does not name the service of %s: %s", name, about, line)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no text has a table of listeners")
	}
}
