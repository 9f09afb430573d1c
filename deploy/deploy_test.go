// Package deploy checks the manifests of this folder. It is a module of its own, so that nothing
// else depends on the packages of Prometheus: in bench they would change the versions of the peers.
package deploy

import (
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/config"
)

// memoryLimit is the memory of a server in the manifests, in GiB. docs/operations.md has the
// figures: a server of 1,000,000 users and 20,000 items takes 1.1 GiB.
const memoryLimit = "2"

// TestPrometheusAcceptsItsConfiguration loads the scrape configuration with the package of the
// Prometheus that compose.yaml starts.
func TestPrometheusAcceptsItsConfiguration(t *testing.T) {
	got := get(config.LoadFile("prometheus.yaml", false, slog.New(slog.DiscardHandler)))(t)
	if len(got.ScrapeConfigs) != 1 {
		t.Fatalf("got %d scrape configurations, want 1", len(got.ScrapeConfigs))
	}
	if c := got.ScrapeConfigs[0]; c.ScrapeNativeHistograms == nil || !*c.ScrapeNativeHistograms {
		t.Errorf("job %s does not scrape native histograms", c.JobName)
	}
}

// TestPrometheusIsTheOneOfCompose ties the version of the module to that of the image: the module
// v0.313.5 is Prometheus 3.13.5.
func TestPrometheusIsTheOneOfCompose(t *testing.T) {
	module := find(t, "go.mod", `github\.com/prometheus/prometheus v0\.3(\d\d\.\d+)`)
	image := find(t, "compose.yaml", `image: prom/prometheus:v3\.(\d+\.\d+)`)
	if module = strings.TrimPrefix(module, "0"); module != image {
		t.Errorf("compose.yaml starts Prometheus 3.%s, go.mod checks with 3.%s", image, module)
	}
}

// TestMemoryLimits holds the limits of both manifests at one figure.
func TestMemoryLimits(t *testing.T) {
	for file, pattern := range map[string]string{
		"compose.yaml":    `mem_limit: (\d+)g`,
		"kubernetes.yaml": `limits: \{memory: (\d+)Gi\}`,
	} {
		if got := find(t, file, pattern); got != memoryLimit {
			t.Errorf("%s limits the memory to %s GiB, want %s", file, got, memoryLimit)
		}
	}
}

// TestNoManifestIsOpen: only compose.yaml, whose ports are of this machine alone, says that it is
// open. The image does not, so that nobody is open by default.
func TestNoManifestIsOpen(t *testing.T) {
	find(t, "compose.yaml", `environment: \{GSIMC_INSECURE: "(true)"\}`)
	for _, match := range regexp.MustCompile(`(?m)^ +- "(.*:)?\d+:\d+"`).FindAllStringSubmatch(
		read(t, "compose.yaml"), -1) {
		if match[1] != "127.0.0.1:" {
			t.Errorf("compose.yaml publishes %s", match[0])
		}
	}
	if image := read(t, "../Dockerfile"); strings.Contains(image, "GSIMC_INSECURE=true \\") ||
		regexp.MustCompile(`(?m)^ENV.*GSIMC_INSECURE`).MatchString(image) {
		t.Error("the image is open by default")
	}
	for _, file := range []string{"kubernetes.yaml", "kubernetes-shared.yaml"} {
		m := plainManifests(t, file)
		if env := environment(m.template(t)); env["GSIMC_INSECURE"] != "" ||
			env["GSIMC_TOKEN_FILE"] == "" {
			t.Errorf("%s: any pod may call: %v", file, env)
		}
		if m.network == nil || len(m.network.Spec.PolicyTypes) != 2 {
			t.Errorf("%s: any pod of any namespace reaches the servers", file)
			continue
		}
		for _, rule := range m.network.Spec.Ingress {
			if len(rule.From) == 0 || len(rule.Ports) == 0 {
				t.Errorf("%s: reached by anybody or at any port: %v", file, rule)
			}
		}
	}
}

// find returns what the group of the pattern matches in the file.
func find(t *testing.T, file, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file))
	if match == nil {
		t.Fatalf("%s has nothing like %s", file, pattern)
	}
	return match[1]
}

// must ends a test that cannot go on. Package check of the repository is of another module.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// get returns a value that comes without an error, or ends the test: get(os.Getwd())(t).
func get[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return value
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text := get(os.ReadFile(file))(t)
	return string(text)
}
