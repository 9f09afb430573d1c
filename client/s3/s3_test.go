package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/gsimc/gsimc/client/internal/program"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// asProgram makes the program of the tests gsimc-s3 itself.
const asProgram = "GSIMC_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// gsimc is the server's program, as make build compiles it.
const gsimc = "../../bin/gsimc"

// startStore starts a real store, the Versity S3 Gateway over a folder, with a bucket. It returns
// the folder of the objects of the bucket, which are files there.
func startStore(t *testing.T) (objects string) {
	t.Helper()
	gateway := os.Getenv("GSIMC_VERSITYGW")
	if _, err := os.Stat(gateway); err != nil {
		t.Skip("GSIMC_VERSITYGW names no Versity S3 Gateway: make clients-test builds one")
	}
	root, about := t.TempDir(), t.TempDir()
	listener := check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := listener.Addr().String()
	check.Must(t, listener.Close())
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret of a test")
	t.Setenv("AWS_ENDPOINT_URL", "http://"+address)
	t.Setenv("AWS_REGION", "us-east-1")
	proctest.Start(t, []string{"ROOT_ACCESS_KEY=test", "ROOT_SECRET_KEY=secret of a test"},
		gateway, "--quiet", "--port", address, "posix", "--sidecar", about, root)
	s := check.Get((&flags{Endpoint: "http://" + address}).store(slog.New(slog.DiscardHandler)))(t)
	check.Within(t, proctest.Limit, "a store that answers", func() bool {
		return s.MakeBucket(t.Context(), "shop", minio.MakeBucketOptions{}) == nil
	})
	return filepath.Join(root, "shop")
}

// ask runs gsimc-s3 and returns its exit code and what it said.
func ask(args ...string) (code int, said string) {
	var out bytes.Buffer
	code = run(context.Background(), args, &out, &out)
	return code, out.String()
}

// does runs gsimc-s3, which must succeed.
func does(t *testing.T, args ...string) {
	t.Helper()
	code, said := ask(args...)
	check.MustSame(t, 0, code, "%v: %s", args, said)
}

// refuses runs gsimc-s3, which must fail and say why.
func refuses(t *testing.T, code int, why string, args ...string) {
	t.Helper()
	got, said := ask(args...)
	check.Same(t, code, got, "the exit code of %v", args)
	check.Has(t, said, why, "what %v said", args)
}

// gsimcDoes runs the server's program, which must succeed.
func gsimcDoes(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(gsimc, args...).CombinedOutput(); err != nil {
		t.Fatalf("gsimc %v: %v\n%s", args, err, out)
	}
}

// train makes a file of events and a model of some rank of it.
func train(t *testing.T, dir, rank string) (model string) {
	t.Helper()
	if _, err := os.Stat(gsimc); err != nil {
		t.Skip(gsimc + " is missing: run make build")
	}
	events := filepath.Join(dir, "events.csv")
	model = filepath.Join(dir, rank+".gsimc")
	gsimcDoes(t, "generate", "--users", "300", "--items", "120", "--events", "6000", "--out", events)
	gsimcDoes(t, "train", "--data", events, "--rank", rank, "--out", model)
	return model
}

// A server serves the model of the bucket, and another one soon after it was put there.
func TestModelArrives(t *testing.T) {
	startStore(t)
	dir, models := t.TempDir(), t.TempDir()
	first, second := train(t, dir, "16"), train(t, dir, "24")
	const at = "s3://shop/models/next.gsimc"
	follower := proctest.Start(t, []string{asProgram + "=1"}, os.Args[0], "get", "--every", "1s",
		at, filepath.Join(models, "model.gsimc"))
	follower.Says(t, "not brought") // it waits for the first
	does(t, "put", first, at)
	follower.Says(t, "brought from="+at)
	const free = "127.0.0.1:0"
	server := proctest.Start(t, nil, gsimc, "serve", "--model-dir", models,
		"--data-dir", filepath.Join(dir, "state"), "--listen", free, "--admin-listen", free,
		"--ops-listen", free, "--drain-delay", "0s", "--log-format", "json")
	server.Says(t, `"rank":16`)
	does(t, "put", second, at)
	server.Says(t, `"model loaded"`)
	follower.Stop(t)
}

// A backup that went to a bucket and came back is one that a store goes on from.
func TestBackup(t *testing.T) {
	objects := startStore(t)
	dir := t.TempDir()
	model, data, backup := train(t, dir, "16"), filepath.Join(dir, "state"), filepath.Join(dir, "backup")
	const free = "127.0.0.1:0"
	server := proctest.Start(t, nil, gsimc, "serve", "--model", model, "--data-dir", data,
		"--listen", free, "--admin-listen", free, "--ops-listen", free, "--drain-delay", "0s",
		"--log-format", "json")
	address := server.Says(t, `"grpc":"([^"]+)"`)
	gsimcDoes(t, "observe", "--server", address, "--data", filepath.Join(dir, "events.csv"))
	server.Stop(t)
	gsimcDoes(t, "backup", "--data-dir", data, "--to", backup)

	const at = "s3://shop/backups/monday"
	link, back, restored := filepath.Join(dir, "link"), filepath.Join(dir, "back"), filepath.Join(dir, "restored")
	check.Must(t, os.Symlink(backup, link))
	does(t, "put", filepath.Join(dir, "events.csv"), at)
	does(t, "put", link, at)
	check.Must(t, os.Mkdir(filepath.Join(dir, ".back.part"), 0o700)) // of a program that was killed
	does(t, "get", at, back+"/")
	gsimcDoes(t, "restore", "--from", back, "--data-dir", restored)
	gsimcDoes(t, "verify", "--data-dir", restored)
	events := filepath.Join(dir, "events.csv")
	refuses(t, program.Usage, "TO: "+events+", want a folder that is not there yet", "get", at, events)

	object := filepath.Join(objects, "backups", "monday")
	content := check.Get(os.ReadFile(object))(t)
	content[len(content)/2] ^= 1
	check.Must(t, os.WriteFile(object, content, 0o600))
	refuses(t, program.Failure, at+": ", "get", at, filepath.Join(dir, "damaged"))
	check.Same(t, "back backup restored state", strings.Join(folders(t, dir), " "), "folders")
}

// folders are the folders of a folder.
func folders(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, e := range check.Get(os.ReadDir(dir))(t) {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// A program that is killed while it brings a file leaves the one of before.
func TestKills(t *testing.T) {
	startStore(t)
	dir := t.TempDir()
	content := make([]byte, 96<<20)
	_, _ = rand.Read(content)
	sent, got := filepath.Join(dir, "sent"), filepath.Join(dir, "got")
	check.Must(t, os.WriteFile(sent, content, 0o600))
	check.Must(t, os.WriteFile(got, []byte("old"), 0o600))
	does(t, "put", sent, "s3://shop/large")
	for kill := range 10 {
		p := proctest.Start(t, []string{asProgram + "=1"}, os.Args[0], "get", "s3://shop/large", got)
		check.Within(t, proctest.Limit, "a file that is being written", func() bool {
			parts, _ := filepath.Glob(filepath.Join(dir, ".got.*.tmp"))
			return len(parts) > 0 || p.Err.String() != ""
		})
		time.Sleep(time.Duration(kill) * 5 * time.Millisecond)
		p.Kill()
		now := check.Get(os.ReadFile(got))(t)
		if string(now) != "old" && !bytes.Equal(now, content) {
			t.Fatalf("after kill %d the file is neither of both: %d bytes", kill, len(now))
		}
	}
	does(t, "get", "s3://shop/large", got)
	if !bytes.Equal(check.Get(os.ReadFile(got))(t), content) {
		t.Error("another file came than was sent")
	}
	left := check.Get(filepath.Glob(filepath.Join(dir, ".got.*")))(t)
	check.Same(t, 0, len(left), "files that killed programs have left")
}

func TestRefusals(t *testing.T) {
	objects := startStore(t)
	dir := t.TempDir()
	file, old := filepath.Join(dir, "file"), filepath.Join(dir, "old")
	check.Must(t, os.WriteFile(file, []byte("content"), 0o600))
	check.Must(t, os.WriteFile(old, []byte("old"), 0o600))
	does(t, "put", file, "s3://shop/file")
	does(t, "put", file, "s3://shop/damaged")
	check.Must(t, os.WriteFile(filepath.Join(objects, "damaged"), []byte("consent"), 0o600))

	for why, c := range map[string]struct {
		code int
		args []string
	}{
		"TO: shop/file, want s3://BUCKET/KEY":   {program.Usage, []string{"put", file, "shop/file"}},
		"FROM: s3://shop, want s3://BUCKET/KEY": {program.Usage, []string{"get", "s3://shop", file}},
		"FROM: s3://s/file names no bucket: Bucket name cannot": {program.Usage,
			[]string{"get", "s3://s/file", file, "--every", "1s"}},
		"FROM: s3://shop/a/../b, want": {program.Usage, []string{"get", "s3://shop/a/../b", file}},
		"which has a BACKUP.json":      {program.Usage, []string{"put", dir, "s3://shop/b"}},
		"--every: 1ms, want at least 1s": {program.Usage,
			[]string{"get", "s3://shop/file", old, "--every", "1ms"}},
		"--endpoint: is no address alone, want https://": {program.Usage,
			[]string{"get", "s3://shop/file", old, "--endpoint", "https://ann:secret@shop.example"}},
		"--ca-file: " + file + ", want certificates in PEM": {program.Usage,
			[]string{"get", "s3://shop/file", old, "--ca-file", file}},
		"s3://attic/file: The specified bucket does not exist. (make the bucket": {program.Failure,
			[]string{"put", file, "s3://attic/file"}},
		"s3://shop/none: there is no such object": {program.Failure, []string{"get", "s3://shop/none", old}},
		"s3://attic/file: there is no such":       {program.Failure, []string{"get", "s3://attic/file", old}},
		"s3://shop/damaged: it is damaged":        {program.Failure, []string{"get", "s3://shop/damaged", old}},
	} {
		refuses(t, c.code, why, c.args...)
	}
	check.Same(t, "old", string(check.Get(os.ReadFile(old))(t)), "a file after a failure")
}

// What changes while it is sent makes no object.
func TestChangedMeanwhile(t *testing.T) {
	objects := startStore(t)
	s := check.Get((&flags{Endpoint: os.Getenv("AWS_ENDPOINT_URL")}).
		store(slog.New(slog.DiscardHandler)))(t)
	for what, second := range map[string]string{
		"other bytes": "contend", "less": "con", "more": "contents"} {
		read := 0
		err := s.send(t.Context(), place{"shop", "file"}, func(w io.Writer) error {
			read++
			_, err := io.WriteString(w, []string{"content", second}[read-1])
			return err
		}, "")
		check.Says(t, err, "was changed meanwhile", "sending %s", what)
	}
	_, err := os.Stat(filepath.Join(objects, "file"))
	check.Fails(t, err, fs.ErrNotExist, "an object of what was changed")
}

// A store that sends a part of an object and stops is not waited for.
func TestStall(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret of a test")
	stalling := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, "a part")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	defer stalling.Close()
	s := check.Get((&flags{Endpoint: stalling.URL, Region: "here"}).
		store(slog.New(slog.DiscardHandler)))(t)
	s.patience = 50 * time.Millisecond
	to := filepath.Join(t.TempDir(), "file")
	get := check.Get((&getCommand{From: "s3://shop/file", To: to}).prepare())(t)
	check.Says(t, get(t.Context(), s), "nothing moved for 50ms", "a stall")
	_, err := os.Stat(to)
	check.Fails(t, err, fs.ErrNotExist, "a file that was not brought")
}

// Without keys the program does not ask as nobody, and looks at its arguments before.
func TestNoKeys(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	for _, from := range []string{"s3://shop/file", "s3://My_Bucket/file"} {
		refuses(t, program.Failure, "set AWS_ACCESS_KEY_ID", "get", from, none)
	}
	for want, args := range map[string][]string{
		"FROM: shop/file, want s3://BUCKET/KEY":                      {"get", "shop/file", none},
		"--every: 1ms, want at least 1s":                             {"get", "s3://shop/file", none, "--every", "1ms"},
		"TO: s3://b/file names no bucket":                            {"put", dir, "s3://b/file"},
		"FROM: " + none + ": no such file or directory, want a file": {"put", none, "s3://shop/file"},
		"FROM: " + dir + ", want a file, or a backup":                {"put", dir, "s3://shop/file"},
		"TO: " + dir + ", want the name of a file, or of a folder that is not there yet": {"get",
			"s3://shop/file", dir, "--every", "1s"},
		"a folder that is there: make " + none:  {"get", "s3://shop/file", filepath.Join(none, "file")},
		"--ca-file: " + none + ": no such file": {"get", "s3://shop/file", none, "--ca-file", none},
		"--endpoint: is no address alone":       {"get", "s3://shop/file", none, "--endpoint", "shop:1"},
	} {
		refuses(t, program.Usage, want, args...)
	}
}

// A file that cannot be read to its end is no wrong argument.
func TestUnreadable(t *testing.T) {
	err := new(store).send(t.Context(), place{}, func(io.Writer) error {
		return &fs.PathError{Op: "read", Path: "model.gsimc", Err: syscall.EIO}
	}, "")
	check.Fails(t, err, syscall.EIO, "a disk that fails")
	check.Says(t, err, "model.gsimc: ", "a disk that fails")
	check.Same(t, false, errors.As(err, new(*fault.Fault)), "a fault of an argument")
}

// Errors of a store say where, and what to do.
func TestAdvice(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret of a test")
	code := ""
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>No.</Message></Error>")
	})
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer plain.Close()
	defer secure.Close()
	file := filepath.Join(t.TempDir(), "file")
	check.Must(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct{ endpoint, code, want string }{
		{plain.URL, "AccessDenied", "No. (look at the keys of the store"},
		{plain.URL, "SignatureDoesNotMatch", "No. (look at the keys of the store"},
		{plain.URL, "RequestTimeTooSkewed", "No. (set the clock"},
		{secure.URL, "", "set --ca-file to the authorities of the store"},
		{"http://127.0.0.1:1", "", "refused (look at --endpoint"},
	} {
		code = c.code
		got, said := ask("put", file, "s3://shop/file", "--region", "here", "--endpoint", c.endpoint)
		check.Same(t, program.Failure, got, "the exit code of %+v", c)
		check.Has(t, said, "gsimc-s3: s3://shop/file: ", "what was said of %+v", c)
		check.Has(t, said, c.want, "what was said of %+v", c)
	}
}
