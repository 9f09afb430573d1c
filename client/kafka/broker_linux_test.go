package main

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/nettest"
	"github.com/gsimc/gsimc/internal/test/proctest"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// broker is a real Kafka of one process, in KRaft mode, on the loopback interface.
type broker struct {
	address, secure string // plain text; TLS and SASL
	config, lib     string
	authority       string // of the certificate, which is of localhost too
	cmd             *exec.Cmd
	log             *bytes.Buffer
}

// clusterID is any.
const clusterID = "MkU3OEVBNTcwNTJENDM2Qg"

// jars fetches the program of the broker by Maven, or skips the test.
func jars(t testing.TB) string {
	t.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no real broker: %v", err)
		}
	}
	lib := check.Get(filepath.Abs("../../bin/kafka-lib"))(t)
	if all, _ := filepath.Glob(lib + "/kafka_*.jar"); len(all) > 0 {
		return lib
	}
	part := lib + ".part"
	out, err := exec.Command("mvn", "-q", "-B", "-f", "testdata/pom.xml",
		"dependency:copy-dependencies", "-DoutputDirectory="+part).CombinedOutput()
	if err != nil {
		t.Skipf("no real broker, its packages cannot be had: %v\n%s", err, out)
	}
	check.Must(t, os.Rename(part, lib))
	return lib
}

// brokerOf is the broker of all tests, which TestMain ends.
var brokerOf struct {
	once sync.Once
	dir  string
	*broker
}

// startBroker returns the broker of all tests, or skips the test.
func startBroker(t testing.TB) *broker {
	t.Helper()
	soak.Processes(t, "a real broker")
	lib := jars(t)
	brokerOf.once.Do(func() {
		var err error
		if brokerOf.dir, err = os.MkdirTemp("", "gsimc-kafka-"); err != nil {
			t.Fatal(err)
		}
		brokerOf.broker = newBroker(t, lib, brokerOf.dir)
		brokerOf.start(t)
	})
	if brokerOf.broker == nil {
		t.Fatal("another test could not start the broker")
	}
	return brokerOf.broker
}

func newBroker(t testing.TB, lib, dir string) *broker {
	t.Helper()
	b := &broker{address: nettest.Free(t), secure: nettest.Free(t), lib: lib,
		config: filepath.Join(dir, "properties")}
	controller := nettest.Free(t)
	authority := certtest.NewAuthority(t)
	host := check.Get(netip.ParseAddrPort(b.secure))(t).Addr().AsSlice()
	pair := authority.Issue(t, 1, time.Now().Add(24*time.Hour), host)
	b.authority = certtest.Write(t, dir, "authority.pem", authority.PEM)
	keys := certtest.Write(t, dir, "keys.pem", append(pair.Key, pair.Cert...))
	settings := fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
listeners=PLAINTEXT://%[1]s,SECURE://%[4]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s,SECURE://%[4]s
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL
ssl.keystore.type=PEM
ssl.keystore.location=%[5]s
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.secure.plain.sasl.jaas.config=%[6]s.plain.PlainLoginModule required user_%[7]s="%[8]s";
listener.name.secure.scram-sha-256.sasl.jaas.config=%[6]s.scram.ScramLoginModule required;
listener.name.secure.scram-sha-512.sasl.jaas.config=%[6]s.scram.ScramLoginModule required;
log.dirs=%[3]s
num.network.threads=2
num.io.threads=2
offsets.topic.replication.factor=1
offsets.topic.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.cleaner.dedupe.buffer.size=8388608
auto.create.topics.enable=false
`, b.address, controller, filepath.Join(dir, "log"), b.secure, keys,
		"org.apache.kafka.common.security", saslUser, saslPassword)
	check.Must(t, os.WriteFile(b.config, []byte(settings), 0o600))
	args := []string{"format", "-t", clusterID, "-c", b.config}
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		args = append(args, "--add-scram",
			fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, saslUser, saslPassword))
	}
	if out, err := b.java("kafka.tools.StorageTool", args...).CombinedOutput(); err != nil {
		t.Fatalf("formatting: %v\n%s", err, out)
	}
	return b
}

func (b *broker) java(class string, args ...string) *exec.Cmd {
	return exec.Command("java", append([]string{"-Xmx384m", "-XX:+UseSerialGC",
		"-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp",
		b.lib + "/*", class}, args...)...)
}

// start starts the broker and waits until it answers.
func (b *broker) start(t testing.TB) {
	t.Helper()
	b.cmd, b.log = b.java("kafka.Kafka", b.config), &bytes.Buffer{}
	b.cmd.Stdout, b.cmd.Stderr = b.log, b.log
	b.cmd.SysProcAttr = proctest.DyingWithParent()
	check.Must(t, b.cmd.Start())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cl := b.client(t)
	for cl.Ping(ctx) != nil {
		if ctx.Err() != nil {
			b.kill()
			t.Fatalf("the broker does not answer:\n%s", b.log)
		}
		time.Sleep(100 * time.Millisecond) // until the process listens
	}
}

// kill ends the broker as a loss of power of its process would.
func (b *broker) kill() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

// client returns a client that is closed with the test.
func (b *broker) client(t testing.TB, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl := check.Get(kgo.NewClient(append(options, kgo.SeedBrokers(b.address),
		kgo.RetryTimeout(time.Minute), kgo.UnknownTopicRetries(-1))...))(t)
	t.Cleanup(cl.Close)
	return cl
}

// topic makes a topic with a name of its own.
func (b *broker) topic(t testing.TB, partitions int) string {
	t.Helper()
	name := fmt.Sprintf("t-%x", time.Now().UnixNano())
	b.make(t, name, partitions, 1<<20)
	return name
}

// make makes a topic whose batches have up to most bytes, with further settings such as a=b.
func (b *broker) make(t testing.TB, name string, partitions, most int, settings ...string) {
	t.Helper()
	request := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(partitions), 1
	for _, s := range append(settings, "max.message.bytes="+strconv.Itoa(most)) {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		name, value, _ := strings.Cut(s, "=")
		config.Name, config.Value = name, &value
		topic.Configs = append(topic.Configs, config)
	}
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(t.Context(), b.client(t))
	if err == nil {
		err = kerr.ErrorForCode(answer.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatalf("making a topic: %v", err)
	}
}
