package deploy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose reads a file of Docker Compose with Compose's own package, which refuses unknown fields,
// and follows the names in it.
func compose(t *testing.T, file string) *types.Project {
	t.Helper()
	options := get(cli.NewProjectOptions([]string{file}))(t)
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return project
}

// server is the service gsimc of a file.
func server(t *testing.T, file string) types.ServiceConfig {
	t.Helper()
	s := get(compose(t, file).GetService("gsimc"))(t)
	return s
}

// composed are the variables of the server.
func composed(t *testing.T, file string) map[string]string {
	t.Helper()
	env := map[string]string{}
	for name, value := range server(t, file).Environment {
		env[name] = *value
	}
	return env
}

// composedGrace is the time that the server has to end.
func composedGrace(t *testing.T, file string) time.Duration {
	t.Helper()
	return time.Duration(*server(t, file).StopGracePeriod)
}

// TestComposeScale: three servers over a cluster of three primaries with two replicas each,
// with the settings that the store demands.
func TestComposeScale(t *testing.T) {
	project := compose(t, "compose.scale.yaml")
	gsimc := server(t, "compose.scale.yaml")
	if n := gsimc.GetScale(); n != 3 {
		t.Errorf("%d servers, want 3", n)
	}
	var addresses []string
	for name, s := range project.Services {
		if !strings.HasPrefix(name, "valkey-") {
			continue
		}
		addresses = append(addresses, s.Networks["store"].Ipv4Address)
		command := strings.Join(s.Command, " ")
		for _, want := range []string{"--cluster-enabled yes", "--appendonly yes",
			"--maxmemory-policy noeviction", "--cluster-allow-replica-migration no"} {
			if !strings.Contains(command, want) {
				t.Errorf("%s runs without %s: %s", name, want, command)
			}
		}
	}
	slices.Sort(addresses)
	if len(slices.Compact(addresses)) != 9 {
		t.Errorf("processes of Valkey: %v, want 9", addresses)
	}
	form := strings.Join(project.Services["cluster"].Command, " ")
	for _, address := range addresses {
		if !strings.Contains(form, address+":6379") {
			t.Errorf("%s is not made part of the cluster", address)
		}
	}
	if !strings.Contains(*gsimc.Environment["GSIMC_STORE"], addresses[0]) {
		t.Errorf("the servers do not know %s", addresses[0])
	}
	if image := project.Services["envoy"].Volumes[0]; image.Target != "/etc/envoy/envoy.yaml" {
		t.Errorf("Envoy has %+v", image)
	}
}
