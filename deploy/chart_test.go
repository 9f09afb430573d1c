package deploy

import (
	"bytes"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

const chartDir = "helm/gsimc"

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	c := get(readChart())(t)
	return c
}

// readChart reads the chart as a release has it, once, since the loader tells each time that it
// follows the link to the alerts.
var readChart = sync.OnceValues(func() (*chart.Chart, error) {
	c, err := loader.LoadDir(chartDir)
	if err == nil {
		c.Metadata.AppVersion = "1.2.3"
	}
	return c, err
})

// rendered are the files of the chart by name, with some values changed, in YAML.
func rendered(c *chart.Chart, release, changed string) (map[string]string, error) {
	values, err := chartutil.ReadValues([]byte(changed))
	if err != nil {
		return nil, err
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: release,
		Namespace: "web", IsInstall: true, Revision: 1}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// manifests are the objects of a rendered chart, decoded into the types of Kubernetes. A field
// that these do not have fails the test.
type manifests struct {
	set      *apps.StatefulSet // or
	shared   *apps.Deployment  // over a shared store
	scaler   *autoscaling.HorizontalPodAutoscaler
	services map[string]*core.Service
	claim    *core.PersistentVolumeClaim
	account  *core.ServiceAccount
	config   *core.ConfigMap
	budget   *policy.PodDisruptionBudget
	network  *networking.NetworkPolicy
	monitor  *monitoring.ServiceMonitor
	rule     *monitoring.PrometheusRule
	board    *core.ConfigMap // the dashboard
	test     *core.Pod       // of helm test
	ingress  *networking.Ingress
	grpc     *gateway.GRPCRoute
	http     *gateway.HTTPRoute
	notes    string
}

func render(t *testing.T, changed string) *manifests {
	t.Helper()
	return renderAs(t, "shop", changed)
}

func renderAs(t *testing.T, release, changed string) *manifests {
	t.Helper()
	files := get(rendered(loadChart(t), release, changed))(t)
	m := &manifests{services: map[string]*core.Service{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) == "NOTES.txt" {
			m.notes = files[name]
		}
		if path.Ext(name) != ".yaml" {
			continue
		}
		for _, document := range strings.Split(files[name], "\n---\n") {
			m.add(t, name, []byte(document))
		}
	}
	return m
}

func (m *manifests) add(t *testing.T, file string, document []byte) {
	t.Helper()
	var kind meta.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		t.Fatalf("%s: %v\n%s", file, err, document)
	}
	into := map[string]any{
		"StatefulSet": &m.set, "Deployment": &m.shared, "HorizontalPodAutoscaler": &m.scaler,
		"PersistentVolumeClaim": &m.claim, "ServiceAccount": &m.account, "ConfigMap": &m.config,
		"PodDisruptionBudget": &m.budget, "NetworkPolicy": &m.network,
		"ServiceMonitor": &m.monitor, "PrometheusRule": &m.rule,
		"Pod": &m.test, "Ingress": &m.ingress, "GRPCRoute": &m.grpc, "HTTPRoute": &m.http,
	}
	switch to, known := into[kind.Kind]; {
	case kind.Kind == "" && len(bytes.TrimSpace(document)) == 0: // switched off
	case kind.Kind == "ConfigMap" && path.Base(file) == "monitoring.yaml":
		decode(t, document, &m.board)
	case kind.Kind == "Service":
		var s *core.Service
		decode(t, document, &s)
		m.services[s.Name] = s
	case !known:
		t.Errorf("%s: kind %q\n%s", file, kind.Kind, document)
	default:
		decode(t, document, to)
	}
}

func decode(t *testing.T, document []byte, to any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(document, to); err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
}

// sets are values that people give.
var sets = map[string]string{
	"usual":    "",
	"insecure": "access: {insecure: true, tlsSecret: '', tokenSecret: ''}",
	"mutual":   "access: {clientCertificates: true, tokenSecret: ''}",
	"plain":    "access: {insecure: true, tlsSecret: ''}",
	"anybody":  "access: {insecure: true, tokenSecret: ''}",
	"all": `
config: {retrain-every: 24h, event-weight: {view: 0.2}}
json: {enabled: true}
models: {existingClaim: trained, file: m.gsimc}
state: {size: 100Gi, storageClass: fast}
resources: {requests: {cpu: "4"}, limits: {memory: 16Gi}}
goMemoryLimit: 12GiB
serviceMonitor: {enabled: true, labels: {release: prometheus}}
prometheusRule: {enabled: true}
dashboard: {enabled: true}
ingress: {enabled: true, port: json, className: nginx, host: shop.example, tlsSecret: shop}
gateway: {parentRefs: [{name: edge}], hostnames: [g.shop.example], jsonHostnames: [j.shop.example]}
test: {caKey: tls.crt, serverName: g.shop.example}
podDisruptionBudget: {maxUnavailable: 0}
networkPolicy: {clients: [{podSelector: {matchLabels: {app: web}}}], operators: []}
serviceAccount: {create: false, name: mine}
tolerations: [{key: disks, operator: Exists}]
nodeSelector: {disk: ssd}
podAnnotations: {sidecar.istio.io/inject: "false"}
imagePullSecrets: [{name: pull}]
`,
	"valkey": `
store: valkey
replicas: 5
valkey: {addresses: ["cache-0.cache:6379", "cache-1.cache:6380"], namespace: shop, user: gsimc,
  passwordSecret: valkey, tlsSecret: valkey-tls}
networkPolicy: {stores: [{podSelector: {matchLabels: {app: valkey}}}]}
`,
	"postgres": `
store: postgres
postgres: {addresses: ["db-rw:5432"], passwordSecret: db-app, tlsSecret: db-ca}
autoscaling: {enabled: true}
serviceMonitor: {enabled: true}
config: {state-cache: 512MiB}
`,
	"valkey without secrets": `
store: valkey
valkey: {addresses: ["cache:6379"]}
models: {existingClaim: trained}
`,
	"little": "podDisruptionBudget: {enabled: false}\nnetworkPolicy: {enabled: false}",
}

// TestChart renders the chart with each set of values and checks what must hold in all of them.
func TestChart(t *testing.T) {
	for name, values := range sets {
		t.Run(name, func(t *testing.T) {
			m := render(t, values)
			m.checkPod(t)
			m.checkReferences(t)
			m.checkWaysIn(t)
			m.checkTest(t)
			m.checkNotes(t)
		})
	}
}

// TestChartNumbers: names of digits stay texts, or the strict decoding of render would fail.
func TestChartNumbers(t *testing.T) {
	for _, changed := range []string{`
access: {tlsSecret: '123', tokenSecret: '123'}
models: {existingClaim: '123'}
serviceAccount: {name: '123'}
serviceMonitor: {enabled: true}
dashboard: {enabled: true}
ingress: {enabled: true, className: '1', host: '1', tlsSecret: '123'}
`, `
store: valkey
valkey: {addresses: ["cache:6379"], passwordSecret: '123', tlsSecret: '123'}
`} {
		renderAs(t, "12345", changed).checkReferences(t)
	}
}

func (m *manifests) checkPod(t *testing.T) {
	t.Helper()
	pod := m.template(t).Spec
	c := pod.Containers[0]
	if m.set != nil && *m.set.Spec.Replicas != 1 {
		t.Error("a store of its own does not go with several replicas")
	}
	if drain := int64(30); *pod.TerminationGracePeriodSeconds <= drain {
		t.Errorf("%d s to end, the drain takes %d", *pod.TerminationGracePeriodSeconds, drain)
	}
	hardened := core.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}},
	}
	if !reflect.DeepEqual(*c.SecurityContext, hardened) || !*pod.SecurityContext.RunAsNonRoot ||
		pod.SecurityContext.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault ||
		*pod.AutomountServiceAccountToken {
		t.Errorf("not hardened: %+v %+v", c.SecurityContext, pod.SecurityContext)
	}
	for _, probe := range []*core.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if !hasPort(c.Ports, probe.HTTPGet.Port) {
			t.Errorf("a probe asks port %v", probe.HTTPGet.Port)
		}
	}
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	open := env["GSIMC_INSECURE"] == "true"
	closed := env["GSIMC_TLS_CERT"] != "" &&
		(env["GSIMC_TOKEN_FILE"] != "" || env["GSIMC_TLS_CLIENT_CA"] != "")
	if open == closed {
		t.Errorf("open: %t, closed: %t", open, closed)
	}
	for _, e := range c.Env { // files are in folders that are mounted
		for _, file := range filesIn(e.Value) {
			if !slices.ContainsFunc(c.VolumeMounts,
				func(v core.VolumeMount) bool { return strings.HasPrefix(file, v.MountPath) }) {
				t.Errorf("%s=%s is on no volume", e.Name, e.Value)
			}
		}
	}
}

// filesIn are the paths of a value: it, or parameters of the address of a store.
func filesIn(value string) (paths []string) {
	if strings.HasPrefix(value, "/") {
		return []string{value}
	}
	_, query, _ := strings.Cut(value, "?")
	for _, parameter := range strings.Split(query, "&") {
		if _, path, _ := strings.Cut(parameter, "="); strings.HasPrefix(path, "/") {
			paths = append(paths, path)
		}
	}
	return paths
}

// template is that of the pods.
func (m *manifests) template(t *testing.T) *core.PodTemplateSpec {
	t.Helper()
	if (m.set == nil) == (m.shared == nil) {
		t.Fatal("want a StatefulSet or a Deployment")
	}
	if m.set != nil {
		return &m.set.Spec.Template
	}
	return &m.shared.Spec.Template
}

func hasPort(ports []core.ContainerPort, name intstr.IntOrString) bool {
	return slices.ContainsFunc(ports,
		func(p core.ContainerPort) bool { return p.Name == name.StrVal && p.Name != "" })
}

// checkReferences follows the names that objects have of each other.
func (m *manifests) checkReferences(t *testing.T) {
	t.Helper()
	template := m.template(t)
	pod := template.Spec
	var volumes []string
	selectors := map[string]map[string]string{}
	if m.set != nil {
		volumes = append(volumes, m.set.Spec.VolumeClaimTemplates[0].Name)
		selectors["StatefulSet"] = m.set.Spec.Selector.MatchLabels
		if m.services[m.set.Spec.ServiceName] == nil {
			t.Errorf("there is no service %s", m.set.Spec.ServiceName)
		}
	} else {
		selectors["Deployment"] = m.shared.Spec.Selector.MatchLabels
	}
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
		if v.ConfigMap != nil && (m.config == nil || v.ConfigMap.Name != m.config.Name) {
			t.Errorf("the chart has no ConfigMap %s", v.ConfigMap.Name)
		}
		claim := v.PersistentVolumeClaim
		if claim != nil && m.claim != nil && claim.ClaimName != m.claim.Name {
			t.Errorf("the claim is %s, the pod wants %s", m.claim.Name, claim.ClaimName)
		}
	}
	for _, mount := range pod.Containers[0].VolumeMounts {
		if !slices.Contains(volumes, mount.Name) {
			t.Errorf("there is no volume %s", mount.Name)
		}
	}
	if m.account != nil && m.account.Name != pod.ServiceAccountName {
		t.Errorf("the account is %s, the pod wants %s", m.account.Name, pod.ServiceAccountName)
	}
	spoken := "kubernetes.io/h2c" // gRPC in plain text
	if environment(template)["GSIMC_TLS_CERT"] != "" {
		spoken = "https"
	}
	for name, s := range m.services {
		selectors["Service "+name] = s.Spec.Selector
		for _, p := range s.Spec.Ports {
			if !hasPort(pod.Containers[0].Ports, p.TargetPort) {
				t.Errorf("service %s: the pod has no port %v", name, p.TargetPort)
			}
			if p.Name == "grpc" && (p.AppProtocol == nil || *p.AppProtocol != spoken) {
				t.Errorf("service %s: not in %s: %v", name, spoken, p)
			}
		}
	}
	if m.budget != nil {
		selectors["PodDisruptionBudget"] = m.budget.Spec.Selector.MatchLabels
	}
	if m.network != nil {
		selectors["NetworkPolicy"] = m.network.Spec.PodSelector.MatchLabels
	}
	for what, selector := range selectors {
		if !within(selector, template.Labels) || len(selector) == 0 {
			t.Errorf("%s selects %v, the pod has %v", what, selector, template.Labels)
		}
	}
	if m.monitor != nil {
		m.checkMonitor(t)
	}
}

// checkWaysIn: what leads to the server from outside names a port that its service has.
func (m *manifests) checkWaysIn(t *testing.T) {
	t.Helper()
	service := m.services["shop-gsimc"]
	has := func(name string, number int32) bool {
		return slices.ContainsFunc(service.Spec.Ports,
			func(p core.ServicePort) bool { return p.Name == name || p.Port == number })
	}
	if m.ingress != nil {
		to := m.ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service
		if to.Name != service.Name || !has(to.Port.Name, 0) {
			t.Errorf("the Ingress leads to %+v", to)
		}
	}
	var refs []gateway.BackendRef
	if m.grpc != nil {
		refs = append(refs, m.grpc.Spec.Rules[0].BackendRefs[0].BackendRef)
	}
	if m.http != nil {
		refs = append(refs, m.http.Spec.Rules[0].BackendRefs[0].BackendRef)
	}
	for _, to := range refs {
		if string(to.Name) != service.Name || !has("", *to.Port) {
			t.Errorf("a route leads to %+v", to)
		}
	}
}

// checkTest: the pod of helm test is no server, runs the image of one, and asks their service.
func (m *manifests) checkTest(t *testing.T) {
	t.Helper()
	servers := m.template(t)
	env := environment(servers)
	if _, mutual := env["GSIMC_TLS_CLIENT_CA"]; (m.test == nil) != mutual {
		t.Fatalf("helm test: %v", m.test)
	}
	if m.test == nil {
		return
	}
	if within(m.services["shop-gsimc"].Spec.Selector, m.test.Labels) ||
		m.test.Annotations["helm.sh/hook"] != "test" {
		t.Errorf("the test is taken for a server: %+v", m.test.ObjectMeta)
	}
	c := m.test.Spec.Containers[0]
	if c.Image != servers.Spec.Containers[0].Image ||
		!reflect.DeepEqual(c.SecurityContext, servers.Spec.Containers[0].SecurityContext) {
		t.Errorf("the test runs %s, %+v", c.Image, c.SecurityContext)
	}
	if pod := m.test.Spec; !reflect.DeepEqual(pod.NodeSelector, servers.Spec.NodeSelector) ||
		!reflect.DeepEqual(pod.Tolerations, servers.Spec.Tolerations) ||
		!reflect.DeepEqual(pod.ImagePullSecrets, servers.Spec.ImagePullSecrets) ||
		m.test.Annotations["sidecar.istio.io/inject"] !=
			servers.Annotations["sidecar.istio.io/inject"] {
		t.Errorf("the test may not run where servers do: %+v", m.test)
	}
	flags := strings.Join(c.Args, " ")
	if !strings.HasPrefix(flags, "healthcheck ") ||
		!strings.Contains(flags, "--server=shop-gsimc:50051") ||
		strings.Contains(flags, "--tls-ca=/etc/gsimc/tls/") != (env["GSIMC_TLS_CERT"] != "") ||
		(len(c.VolumeMounts) == 0) != (env["GSIMC_TLS_CERT"] == "") {
		t.Errorf("the test runs %s with %v", flags, c.VolumeMounts)
	}
}

// checkNotes: they name the test if there is one, and say what the access leaves open.
func (m *manifests) checkNotes(t *testing.T) {
	t.Helper()
	env := environment(m.template(t))
	for text, want := range map[string]bool{
		"shop-gsimc.web:50051":  true,
		"helm -n web test shop": m.test != nil,
		"not encrypted":         env["GSIMC_TLS_CERT"] == "",
		"everybody who can reach the port may call": env["GSIMC_TOKEN_FILE"] == "" &&
			env["GSIMC_TLS_CLIENT_CA"] == "",
	} {
		if strings.Contains(m.notes, text) != want {
			t.Errorf("the notes say %q: %t, want %t:\n%s", text, !want, want, m.notes)
		}
	}
}

// checkMonitor wants the one service with the port of operators, once.
func (m *manifests) checkMonitor(t *testing.T) {
	t.Helper()
	found := 0
	for _, s := range m.services {
		if !within(m.monitor.Spec.Selector.MatchLabels, s.Labels) {
			continue
		}
		found++
		if !slices.ContainsFunc(s.Spec.Ports, func(p core.ServicePort) bool {
			return p.Name == m.monitor.Spec.Endpoints[0].Port
		}) {
			t.Errorf("service %s has no port %s", s.Name, m.monitor.Spec.Endpoints[0].Port)
		}
		if job := s.Labels[m.monitor.Spec.JobLabel]; job != "gsimc" {
			t.Errorf("the job is %q, the alerts want gsimc", job)
		}
	}
	if found != 1 {
		t.Errorf("%d services are scraped", found)
	}
}

func within(part, whole map[string]string) bool {
	for key, value := range part {
		if whole[key] != value {
			return false
		}
	}
	return true
}

// TestChartValues: values are where they should be.
func TestChartValues(t *testing.T) {
	usual, all := render(t, ""), render(t, sets["all"])
	if got := usual.set.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().String(); got !=
		memoryLimit+"Gi" {
		t.Errorf("the memory is limited to %s, want %s GiB", got, memoryLimit)
	}
	if usual.ingress != nil || usual.grpc != nil || usual.http != nil || usual.board != nil {
		t.Error("the usual manifests have ways in, or a dashboard")
	}
	if usual.monitor != nil || usual.rule != nil || usual.config != nil || usual.claim == nil {
		t.Error("the usual manifests need the Prometheus operator, or have no volume for models")
	}
	if all.claim != nil || all.account != nil || all.budget.Spec.MaxUnavailable.IntValue() != 0 {
		t.Error("what is there already is made again")
	}
	pod := all.set.Spec.Template.Spec
	env := func(name string) string {
		at := slices.IndexFunc(pod.Containers[0].Env,
			func(e core.EnvVar) bool { return e.Name == name })
		return pod.Containers[0].Env[at].Value
	}
	for name, want := range map[string]string{"GSIMC_MODEL": "/models/m.gsimc",
		"GOMEMLIMIT": "12GiB", "GSIMC_JSON_LISTEN": "0.0.0.0:8080",
		"GSIMC_CONFIG": "/etc/gsimc/config/gsimc.yaml"} {
		if got := env(name); got != want {
			t.Errorf("%s=%s, want %s", name, got, want)
		}
	}
	if got := all.config.Data["gsimc.yaml"]; got !=
		"\nevent-weight:\n  view: 0.2\nretrain-every: 24h\n" &&
		got != "event-weight:\n  view: 0.2\nretrain-every: 24h\n" {
		t.Errorf("the file of --config: %q", got)
	}
	if len(usual.network.Spec.Ingress) != 2 || len(all.network.Spec.Ingress) != 1 ||
		len(all.network.Spec.Egress) != 0 || len(all.network.Spec.PolicyTypes) != 2 {
		t.Errorf("network policy: %+v", all.network.Spec)
	}
}

// TestChartAlerts: the rule and the dashboard of the chart are the files of this folder, whole.
func TestChartAlerts(t *testing.T) {
	var want monitoring.PrometheusRuleSpec
	decode(t, []byte(read(t, "alerts.yaml")), &want)
	if diff := cmp.Diff(want, render(t, sets["all"]).rule.Spec); diff != "" {
		t.Errorf("alerts (-alerts.yaml +chart):\n%s", diff)
	}
	if got := render(t, sets["all"]).board.Data["shop-gsimc.json"]; strings.TrimSpace(got) !=
		strings.TrimSpace(read(t, "grafana/gsimc.json")) {
		t.Errorf("the dashboard is not that of the folder:\n%s", got)
	}
	for name, want := range map[string]string{"alerts.yaml": "alerts.yaml",
		"gsimc.json": "grafana/gsimc.json"} {
		target, err := os.Readlink(path.Join(chartDir, "files", name))
		if err != nil || path.Join(chartDir, "files", target) != want {
			t.Errorf("the chart has a copy of %s (%s, %v)", want, target, err)
		}
	}
}

// TestChartRefuses: the schema, or a template, refuses values that would not serve.
func TestChartRefuses(t *testing.T) {
	for _, bad := range []string{
		"access: {tlsSecret: ''}",
		"access: {tokenSecret: ''}",
		"access: {insecure: true, clientCertificates: true, tlsSecret: ''}",
		"access: {insecure: yes please}",
		"replicas: 3",
		"autoscaling: {enabled: true}",
		"store: memory",
		"store: valkey",
		"store: valkey\nvalkey: {addresses: [nowhere]}",
		"store: valkey\nvalkey: {addresses: ['a:1'], namespace: 'a/b'}",
		"store: valkey\nvalkey: {addresses: ['a:1']}\nreplicas: 1",
		"store: valkey\nvalkey: {addresses: ['a:1']}\nconfig: {retrain-every: 24h}",
		"store: postgres\npostgres: {addresses: []}",
		"store: postgres\npostgres: {addresses: ['u:p@a:1']}",
		"config: {store: memory}",
		"image: {repository: ''}",
		"image: {pullPolicy: Sometimes}",
		"models: {file: a/b}",
		"models: {size: much}",
		"state: {size: 10 GiB}",
		"resources: {limits: {memory: null}}",
		"goMemoryLimit: 12Gi",
		"service: {type: ExternalName}",
		"podDisruptionBudget: {maxUnavailable: 2}",
		"serviceMonitor: {interval: often}",
		"config: {listen: '0.0.0.0:1'}",
		"config: {insecure: true}",
		"config: {Model: x}",
		"json: {port: 80}",
		"ingress: {enabled: true}",
		"ingress: {enabled: true, host: a.example, port: json}",
		"gateway: {hostnames: [a.example]}",
		"gateway: {parentRefs: [{name: edge}], jsonHostnames: [a.example]}",
		"test: {caKey: tls.key}",
		`json: {enabled: true}
gateway: {parentRefs: [{name: edge}], hostnames: [b.example], jsonHostnames: [a.example, b.example]}
`,
	} {
		if _, err := rendered(loadChart(t), "shop", bad); err == nil {
			t.Errorf("accepted: %s", bad)
		}
	}
	clone, about := *loadChart(t), *loadChart(t).Metadata
	clone.Metadata, about.AppVersion = &about, "0.0.0"
	if _, err := rendered(&clone, "shop", ""); err == nil ||
		!strings.Contains(err.Error(), "set image.tag") {
		t.Errorf("a clone without a tag: %v", err)
	}
	if _, err := rendered(&clone, "shop", "image: {tag: mine}"); err != nil {
		t.Error(err)
	}
}
