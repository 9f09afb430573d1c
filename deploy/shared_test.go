package deploy

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

var zero, one = intstr.FromInt32(0), intstr.FromInt32(1)

// TestSharedChart: what a shared store changes.
func TestSharedChart(t *testing.T) {
	valkey, postgres := render(t, sets["valkey"]), render(t, sets["postgres"])
	for m, want := range map[*manifests]string{
		valkey: "valkey://cache-0.cache:6379,cache-1.cache:6380/shop?replicas=2&user=gsimc" +
			"&password-file=/etc/gsimc/store/password&tls=on&tls-ca=/etc/gsimc/store-tls/ca.crt",
		postgres: "postgres://gsimc@db-rw:5432/gsimc?target_session_attrs=read-write" +
			"&password-file=/etc/gsimc/store/password&sslmode=verify-full&sslrootcert=/etc/gsimc/store-tls/ca.crt",
		render(t, sets["valkey without secrets"]): "valkey://cache:6379/gsimc?replicas=2",
	} {
		env := environment(m.template(t))
		if got := env["GSIMC_STORE"]; got != want {
			t.Errorf("GSIMC_STORE=%s, want %s", got, want)
		}
		if env["GSIMC_MODEL_DIR"] != "/models" || env["GSIMC_MODEL"] != "" {
			t.Errorf("the models are %s%s", env["GSIMC_MODEL_DIR"], env["GSIMC_MODEL"])
		}
		if env["GSIMC_DATA_DIR"] != "" || m.set != nil || *m.budget.Spec.MaxUnavailable != one {
			t.Error("servers over a shared store have a disk, or go at the same time")
		}
		rolling := m.shared.Spec.Strategy.RollingUpdate
		if *rolling.MaxUnavailable != zero || *rolling.MaxSurge != one {
			t.Errorf("an update takes %+v", rolling)
		}
		if m.claim != nil && m.claim.Spec.AccessModes[0] != core.ReadWriteMany {
			t.Errorf("several servers read a claim of %v", m.claim.Spec.AccessModes)
		}
		m.checkRing(t)
		for _, c := range m.template(t).Spec.TopologySpreadConstraints {
			if !within(c.LabelSelector.MatchLabels, m.shared.Spec.Template.Labels) {
				t.Errorf("%v are spread", c.LabelSelector)
			}
		}
	}
	if n := *valkey.shared.Spec.Replicas; n != 5 {
		t.Errorf("%d servers, want 5", n)
	}
	if postgres.shared.Spec.Replicas != nil || valkey.scaler != nil {
		t.Error("the number of servers is set twice, or not at all")
	}
	if !slices.ContainsFunc(postgres.shared.Spec.Template.Spec.Volumes, func(v core.Volume) bool {
		return v.Name == "store" && v.Secret.SecretName == "db-app"
	}) {
		t.Error("the password of PostgreSQL is not that of the secret")
	}
	egress := valkey.network.Spec.Egress
	if len(egress) != 2 || len(egress[1].To) != 1 || len(egress[1].Ports) != 2 ||
		egress[1].Ports[1].Port.IntValue() != 6380 {
		t.Errorf("servers may reach %+v", egress)
	}
}

// checkRing: clients find the addresses of the servers that are ready, and of no others.
func (m *manifests) checkRing(t *testing.T) {
	t.Helper()
	ring := m.services[m.shared.Name+"-ring"]
	if ring == nil || ring.Spec.ClusterIP != core.ClusterIPNone ||
		ring.Spec.PublishNotReadyAddresses {
		t.Errorf("the service of the ring: %+v", ring)
	}
}

// TestAutoscaling: the metric is one of the server and of the rule for the adapter, and the target
// is what the chart makes.
func TestAutoscaling(t *testing.T) {
	m := render(t, sets["postgres"])
	target, metric := m.scaler.Spec.ScaleTargetRef, m.scaler.Spec.Metrics[0].Pods.Metric.Name
	if target.Name != m.shared.Name || target.Kind != "Deployment" {
		t.Errorf("scales %+v", target)
	}
	if *m.scaler.Spec.MinReplicas > m.scaler.Spec.MaxReplicas {
		t.Errorf("from %d to %d servers", *m.scaler.Spec.MinReplicas, m.scaler.Spec.MaxReplicas)
	}
	if !strings.Contains(read(t, "../docs/metrics.md"), "| `"+metric+"` | gauge |") {
		t.Errorf("a server has no gauge %s", metric)
	}
	var adapter struct {
		Rules struct {
			Custom []struct {
				SeriesQuery, MetricsQuery string
				Name                      struct{ As string }
				Resources                 struct {
					Overrides map[string]struct{ Resource string }
				}
			}
		}
	}
	decode(t, []byte(read(t, "prometheus-adapter.yaml")), &adapter)
	rule := adapter.Rules.Custom[0]
	if rule.Name.As != metric || !strings.HasPrefix(rule.SeriesQuery, metric+"{") ||
		rule.Resources.Overrides["pod"].Resource != "pod" {
		t.Errorf("the adapter makes %+v", rule)
	}
}

// TestKubernetes decodes the manifests without Helm and holds them to the rules of the chart.
func TestKubernetes(t *testing.T) {
	for _, file := range []string{"kubernetes.yaml", "kubernetes-shared.yaml"} {
		t.Run(file, func(t *testing.T) {
			m := plainManifests(t, file)
			m.checkPod(t)
			m.checkReferences(t)
			if m.shared != nil {
				m.checkRing(t)
			}
		})
	}
}

// plainManifests decodes a file of objects.
func plainManifests(t *testing.T, file string) *manifests {
	t.Helper()
	m := &manifests{}
	m.services = map[string]*core.Service{}
	for _, document := range strings.Split(read(t, file), "\n---\n") {
		m.add(t, file, []byte(document))
	}
	return m
}

// environment are the variables of the server that are not from secrets.
func environment(template *core.PodTemplateSpec) map[string]string {
	env := map[string]string{}
	for _, e := range template.Spec.Containers[0].Env {
		if e.ValueFrom == nil {
			env[e.Name] = e.Value
		}
	}
	return env
}

// environments are those of all manifests.
func environments(t *testing.T) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{
		"compose.yaml":           composed(t, "compose.yaml"),
		"compose.scale.yaml":     composed(t, "compose.scale.yaml"),
		"kubernetes.yaml":        environment(plainManifests(t, "kubernetes.yaml").template(t)),
		"kubernetes-shared.yaml": environment(plainManifests(t, "kubernetes-shared.yaml").template(t)),
	}
	for name, values := range sets {
		all["chart, "+name] = environment(render(t, values).template(t))
	}
	image := map[string]string{}
	for _, match := range regexp.MustCompile(`(GSIMC_\w+)=(\S+)`).FindAllStringSubmatch(
		read(t, "../Dockerfile"), -1) {
		image[match[1]] = match[2]
	}
	all["Dockerfile"] = image
	return all
}

// here puts addresses and files of this machine in the place of those of a cluster, where no store
// answers.
func here(t *testing.T, address string) string {
	t.Helper()
	dir := t.TempDir()
	certificate(t, dir+"/ca.crt", time.Hour)
	write(t, dir+"/password", "secret\n")
	address = regexp.MustCompile(`[A-Za-z0-9.-]+:\d+`).ReplaceAllString(address, "127.0.0.1:1")
	return regexp.MustCompile(`/etc/gsimc/store(-tls)?`).ReplaceAllString(address, dir)
}

// TestSettingsExist: each variable of a manifest sets a flag of `gsimc serve`, which takes the
// value. The server then ends, since there is no store, or no file of tokens.
func TestSettingsExist(t *testing.T) {
	gsimc := build(t)
	model := train(t, gsimc)
	image := environments(t)["Dockerfile"]
	for name, env := range environments(t) {
		t.Run(name, func(t *testing.T) {
			all := maps.Clone(image) // the image runs with the variables of the manifest
			maps.Copy(all, env)
			delete(all, "GSIMC_CONFIG")      // a file of the cluster
			if all["GSIMC_DATA_DIR"] != "" { // a volume of the cluster
				all["GSIMC_DATA_DIR"] = t.TempDir()
			}
			if all["GSIMC_MODEL"] != "" { // in a volume, too
				all["GSIMC_MODEL"] = model
			}
			if all["GSIMC_MODEL_DIR"] != "" {
				all["GSIMC_MODEL_DIR"] = t.TempDir()
			}
			ends, door := "absent", []string{"--token-file", t.TempDir() + "/absent"}
			if address := all["GSIMC_STORE"]; address != "" {
				all["GSIMC_STORE"], ends, door = here(t, address), "connect", []string{"--insecure"}
			}
			printed := exec.Command(gsimc, "config", "print", "serve")
			printed.Env = variables(all)
			out, err := printed.CombinedOutput()
			if err != nil {
				t.Fatalf("gsimc config print: %v\n%s", err, out)
			}
			for variable := range all {
				if strings.HasPrefix(variable, "GSIMC_") &&
					!strings.Contains(string(out), "# "+variable) {
					t.Errorf("%s sets no flag", variable)
				}
			}
			if ends == "connect" { // files of the cluster, which are read before a store is opened
				for _, file := range []string{"TOKEN_FILE", "TLS_CERT", "TLS_KEY", "TLS_CLIENT_CA"} {
					delete(all, "GSIMC_"+file)
				}
			}
			ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
			defer stop()
			serve := exec.CommandContext(ctx, gsimc, append([]string{"serve",
				"--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"}, door...)...)
			serve.Env, serve.Dir = variables(all), t.TempDir() // where ./state is
			out, err = serve.CombinedOutput()
			if code := serve.ProcessState.ExitCode(); code == 2 || ctx.Err() != nil ||
				!strings.Contains(string(out), ends) {
				t.Errorf("gsimc serve: %v\n%s", err, out)
			}
		})
	}
}

func variables(env map[string]string) []string {
	list := []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// TestGraceIsLongerThanTheDrain compares the time that a server has to end with its own defaults.
func TestGraceIsLongerThanTheDrain(t *testing.T) {
	out := get(exec.Command(build(t), "config", "print", "serve").Output())(t)
	var settings map[string]any
	must(t, yaml.Unmarshal(out, &settings))
	drain := time.Duration(0)
	for _, flag := range []string{"drain-delay", "drain-timeout"} {
		d := get(time.ParseDuration(settings[flag].(string)))(t)
		drain += d
	}
	graces := map[string]time.Duration{}
	for _, file := range []string{"compose.yaml", "compose.scale.yaml"} {
		graces[file] = composedGrace(t, file)
	}
	for _, file := range []string{"kubernetes.yaml", "kubernetes-shared.yaml"} {
		graces[file] = grace(plainManifests(t, file).template(t))
	}
	for name, values := range sets {
		graces["chart, "+name] = grace(render(t, values).template(t))
	}
	for name, grace := range graces {
		if grace < drain+5*time.Second {
			t.Errorf("%s: %v to end, a drain takes up to %v", name, grace, drain)
		}
	}
}

func grace(template *core.PodTemplateSpec) time.Duration {
	return time.Duration(*template.Spec.TerminationGracePeriodSeconds) * time.Second
}
