package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/client/internal/program"
	"github.com/gsimc/gsimc/internal/test/check"
)

// What is wrong on the command line is named by its flag, with the exit code of wrong usage.
func TestBadFlags(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	check.Must(t, os.WriteFile(empty, nil, 0o600))
	for _, c := range []struct {
		args string
		want string
	}{
		{"--topic=", "--topic: want a name, or one of --items-topic"},
		{"--items-topic=t", "--items-topic: t, want another topic"},
		{"--topic= --items-topic=i --map=user_id=u", "--map: is of events: set --topic"},
		{"--topic= --items-topic=i --id-prefix=p", "--id-prefix: is of events: set --topic"},
		{"--items-topic=i --dead-letter=topic:i", "--dead-letter: topic:i, want another topic"},
		{"--group=", "--group: want a name"},
		{"--lanes=0", "--lanes: 0, want at least 1"},
		{"--lanes -1", "--lanes: -1, want at least 1"},
		{"--topic", "--topic: want a value after it"},
		{"--session-timeout=1ms", "--session-timeout: 1ms, want at least 1s"},
		{"--map=value==much", "--map: value==much, want a number from -1000 to 1000"},
		{"--map=", `--map: "", want FIELD=PLACE, such as user_id=payload.user`},
		{"--map=user_id=a;;value=b", `--map: "", want FIELD=PLACE`},
		{"--map=user_id=a; --map=user_id=b", "--map: user_id has two places, want one"},
		{"--brokers=host:port", "--brokers: "},
		{"--topic=" + strings.Repeat("t", 34), "--id-prefix: t"},
		{"--map=usr_id=u", `--map: "usr_id" is no field of an event: did you mean user_id?`},
		{"--map=user_id=@kye", "--map: user_id=@kye, want @key for the key of the record"},
		{"--id-prefix=" + strings.Repeat("x", 99), "--id-prefix: x"},
		{"--dead-letter=topic:t", "--dead-letter: topic:t, want another topic"},
		{"--dead-letter=" + dir, "--dead-letter:"},
		{"--metrics-listen=nowhere", "--metrics-listen:"},
		{"--tls-ca=" + empty, "--tls-ca: "},
		{"--client-token-file=" + empty, "--client-token-file: "},
		{"--client-cert=" + empty, "--client-cert: goes with a key: set --client-key"},
		{"--kafka-tls-ca=" + empty, "--kafka-tls-ca: "},
		{"--kafka-client-cert=" + empty, "--kafka-client-cert: goes with a key: set --kafka-client-key"},
		{"--sasl=none", "--sasl"},
		{"--sasl-user=u", "--sasl-user: goes with a mechanism: set --sasl"},
		{"--sasl-password-file=/none", "--sasl-password-file: goes with a mechanism: set --sasl"},
		{"--sasl=plain", "--sasl-user: is missing"},
		{"--sasl=plain --sasl-user=u", "--sasl-password-file: there is no password"},
		{"--sasl=plain --sasl-user=u --sasl-password-file=/none", "--sasl-password-file: open /none: no such"},
	} {
		args := append([]string{"--brokers=127.0.0.1:1", "--topic=t", "--group=g",
			"--dead-letter=" + filepath.Join(dir, "dead"), "--metrics-listen=127.0.0.1:0"},
			strings.Fields(c.args)...)
		var stdout, stderr bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what is taken ends at once
		code := run(ctx, args, &stdout, &stderr)
		if code != program.Usage || !strings.Contains(stderr.String(), "gsimc-kafka: "+c.want) {
			t.Errorf("%.60s: exit code %d, %q, want %q", c.args, code, stderr.String(), c.want)
		}
	}
}

// A wrong flag of tail is told before brokers are asked. Brokers that are away are a failure.
func TestTailBesideDeadBrokers(t *testing.T) {
	for args, want := range map[string]string{
		"--topic=":            "--topic: want a name",
		"--cursor=":           "--cursor: want the name of a file",
		"--every=1ns":         "--every: 1ns, want at least 1ms",
		"--brokers=host:port": "--brokers: ",
		"--sasl-user=u":       "--sasl-user: goes with a mechanism: set --sasl",
		"--server=nowhere":    "--server: ",
		"--every=1s":          "no broker of --brokers answers: ",
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"tail", "--brokers=127.0.0.1:1", "--topic=t",
			"--cursor=" + filepath.Join(t.TempDir(), "cursor"), args}, &stdout, &stderr)
		if !strings.HasPrefix(stderr.String(), "gsimc-kafka: "+want) ||
			(code == program.Usage) != strings.HasPrefix(want, "--") {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, stderr.String(), want)
		}
	}
}

// Flags with lists, and their twins in the environment.
func TestFlagForms(t *testing.T) {
	t.Setenv("GSIMC_BROKERS", "a:1,b:2")
	t.Setenv("GSIMC_VERSION", "1.2") // of an image, perhaps
	t.Setenv("GSIMC_MAP", `user_id=@key;event_type==buy;item_id=p\;sku;`)
	t.Setenv("GSIMC_CLIENT_TOKEN", "secret")
	var g grammar
	f := &g.Consume
	parser, err := about().Parser(&g)
	if err == nil {
		_, err = parser.Parse([]string{"--topic=t", "--group=g", "--dead-letter=d"})
	}
	check.Must(t, err)
	if len(f.Brokers) != 2 || f.Brokers[1] != "b:2" || f.ClientToken != "secret" ||
		f.Lanes != 4 {
		t.Errorf("the flags are %+v", f)
	}
	check.Same(t, []string{"user_id=@key", "event_type==buy", "item_id=p;sku"}, f.changes(),
		"the places of fields")
}
