package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// PostgresVariable is the environment variable with the folder of the programs of PostgreSQL.
const PostgresVariable = "GSIMC_POSTGRES_BIN"

// postgresPatience is how long a server may take to start, to end or to follow another one.
const postgresPatience = 60 * time.Second

// PostgresConfig says how servers look.
type PostgresConfig struct {
	// Standby adds a second server that confirms every commit (synchronous_commit = remote_apply).
	Standby bool
	// Settings are lines for postgresql.conf after those of the package.
	Settings []string
	// Hosts are those of the servers, the first primary first; nil: that of the test.
	Hosts []Host
}

// Postgres is a PostgreSQL server with fsync on, and its standby if there is one. The superuser is
// "gsimc" and needs no password.
type Postgres struct {
	// Primary takes writes. Standby is nil without one.
	Primary, Standby *PostgresNode

	config PostgresConfig
	bin    string
	dir    string
	former *PostgresNode // a primary that was followed, until it becomes the standby
	made   int           // servers so far
	ports  lease
}

// A PostgresNode is one server.
type PostgresNode struct {
	*Process
	// Addr is its host and port, and Data the folder of its files.
	Addr, Data string
}

// postgresBin returns the folder of the programs of PostgreSQL, or skips the test.
func postgresBin(tb testing.TB) string {
	tb.Helper()
	soak.Processes(tb, "PostgreSQL")
	bin := os.Getenv(PostgresVariable)
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); bin == "" && len(found) > 0 {
		bin = filepath.Dir(slices.Max(found))
	}
	if bin == "" {
		path, err := exec.LookPath("initdb")
		if err != nil {
			tb.Skipf("PostgreSQL is missing: install postgresql (Debian), or set %s to the folder "+
				"of its programs", PostgresVariable)
		}
		bin = filepath.Dir(path)
	}
	if os.Getuid() != 0 {
		return bin
	}
	_, err := user.Lookup("postgres")
	_, missing := exec.LookPath("setpriv")
	if err != nil || missing != nil {
		tb.Skip("PostgreSQL does not run as root: run the tests as another user, or make a user " +
			"postgres and install setpriv (util-linux)")
	}
	return bin
}

// sharedPostgres are the servers that tests share, with a standby and without.
var sharedPostgres = struct {
	mu    sync.Mutex
	known map[bool]*Postgres
}{known: map[bool]*Postgres{}}

// SharedPostgres returns a server that all tests of the process share, with a standby or without.
// They must not disturb it. The package calls [Main].
func SharedPostgres(tb testing.TB, standby bool) *Postgres {
	tb.Helper()
	bin := postgresBin(tb)
	sharedPostgres.mu.Lock()
	defer sharedPostgres.mu.Unlock()
	if p := sharedPostgres.known[standby]; p != nil {
		return p
	}
	p, err := startPostgres(bin, PostgresConfig{Standby: standby})
	check.Must(tb, err)
	atEnd(p.Remove)
	sharedPostgres.known[standby] = p
	return p
}

// NewPostgres returns servers for one test, which may do with them what it likes.
func NewPostgres(tb testing.TB, config PostgresConfig) *Postgres {
	tb.Helper()
	p := check.Get(startPostgres(postgresBin(tb), config))(tb)
	tb.Cleanup(p.Remove)
	return p
}

func startPostgres(bin string, config PostgresConfig) (*Postgres, error) {
	dir, err := os.MkdirTemp("", "gsimc-postgres-") // one that the user postgres can get into
	if err != nil {
		return nil, err
	}
	p := &Postgres{config: config, bin: bin, dir: dir}
	if err := p.start(); err != nil {
		p.Remove()
		return nil, err
	}
	return p, nil
}

func (p *Postgres) start() error {
	if err := p.own(p.dir); err != nil {
		return err
	}
	first, err := p.node()
	if err != nil {
		return err
	}
	p.Primary = first
	if err := p.run(nil, "initdb", "-D", first.Data, "-U", "gsimc", "-A", "trust", "-E", "UTF8",
		"--no-locale", "--no-sync", "--no-instructions"); err != nil {
		return err
	}
	settings := append([]string{
		"unix_socket_directories = ''", "fsync = on",
		"shared_buffers = 128MB", "max_wal_size = 1GB", "wal_keep_size = 64MB",
		"max_connections = 300", "wal_retrieve_retry_interval = '100ms'", "lc_messages = 'C'",
	}, p.config.Settings...)
	if p.config.Standby {
		settings = append(settings, "synchronous_standby_names = '*'",
			"synchronous_commit = remote_apply")
	}
	var access []string // beside those of 127.0.0.1, which initdb has given
	if p.config.Hosts != nil {
		access = append(access, "host all,replication all samenet trust")
	}
	for file, lines := range map[string][]string{
		"postgresql.conf": settings, "pg_hba.conf": access,
	} {
		if err := addLines(filepath.Join(first.Data, file), lines); err != nil {
			return err
		}
	}
	if err := first.Start(); err != nil {
		return err
	}
	if p.config.Standby {
		return p.AddStandby()
	}
	return nil
}

// addLines writes lines to the end of a file.
func addLines(path string, lines []string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	return errors.Join(err, f.Close())
}

// node returns a server that has no files yet.
func (p *Postgres) node() (*PostgresNode, error) {
	ports, kept, err := leasePorts(1)
	if err != nil {
		return nil, err
	}
	p.ports = append(p.ports, kept...)
	port := strconv.Itoa(ports[0])
	data := filepath.Join(p.dir, port)
	if err := p.folder(data); err != nil {
		return nil, err
	}
	host := hostOf(p.config.Hosts, p.made)
	p.made++
	path, args := p.command("postgres", "-D", data, "-p", port, "-c", "listen_addresses="+ip(host))
	home := filepath.Join(p.dir, port+".log")
	if err := os.Mkdir(home, 0o755); err != nil {
		return nil, err
	}
	n := &PostgresNode{NewProcess(home, path, args...), ip(host) + ":" + port, data}
	n.host = host
	return n, nil
}

// command returns a program and its arguments, for a user other than root.
func (p *Postgres) command(program string, args ...string) (string, []string) {
	path := filepath.Join(p.bin, program)
	if os.Getuid() != 0 {
		return path, args
	}
	return "setpriv", append([]string{"--reuid", "postgres", "--regid", "postgres",
		"--clear-groups", "--pdeathsig", "KILL", path}, args...)
}

// run runs a program on a host to its end.
func (p *Postgres) run(host Host, program string, args ...string) error {
	path, args := p.command(program, args...)
	cmd := exec.Command(path, args...)
	var output bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &output, &output
	err := startOn(host, cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, &output)
	}
	return nil
}

// own gives a folder to the user of the servers.
func (p *Postgres) own(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	return errors.Join(uidErr, gidErr, os.Chown(dir, uid, gid))
}

// AddStandby copies the primary of servers with a standby to a new one, and waits until that
// confirms commits. After Promote the former primary becomes the standby, with the same address.
func (p *Postgres) AddStandby() error {
	s, err := p.former, error(nil)
	if s == nil {
		s, err = p.node()
	} else {
		err = p.empty(s)
	}
	if err != nil {
		return err
	}
	host, port, _ := strings.Cut(p.Primary.Addr, ":")
	err = p.run(s.host, "pg_basebackup", "-h", host, "-p", port, "-U", "gsimc", "-D", s.Data, "-R",
		"-X", "stream", "-c", "fast", "--no-sync")
	if err != nil {
		return err
	}
	p.Standby, p.former = s, nil
	if err := s.Start(); err != nil {
		return err
	}
	// This commit returns when the standby has confirmed it.
	return p.Primary.SQL("SELECT pg_logical_emit_message(true, '', '')")
}

// Promote makes the standby the primary. The old primary should be gone. There is no standby then.
func (p *Postgres) Promote() error {
	if err := p.Standby.SQL("SELECT pg_promote(true)"); err != nil {
		return err
	}
	p.former, p.Primary, p.Standby = p.Primary, p.Standby, nil
	return p.Primary.await("the standby takes over", "NOT pg_is_in_recovery()")
}

// empty ends a server and removes its files.
func (p *Postgres) empty(n *PostgresNode) error {
	n.Kill()
	if err := os.RemoveAll(n.Data); err != nil {
		return err
	}
	return p.folder(n.Data)
}

// folder makes a folder for the files of a server.
func (p *Postgres) folder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return p.own(path)
}

// URL returns the address of a database on all servers, the primary first, for clients that follow
// the primary.
func (p *Postgres) URL(database string) string {
	hosts := p.Primary.Addr
	if p.Standby != nil {
		hosts += "," + p.Standby.Addr
	}
	return "postgres://gsimc@" + hosts + "/" + database + "?sslmode=disable" +
		"&target_session_attrs=read-write"
}

// WriteFile writes a file into the folder of the primary, where settings find it by its name.
func (p *Postgres) WriteFile(name string, text []byte) error {
	path := filepath.Join(p.Primary.Data, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	return p.own(path)
}

// Remove ends the servers and removes their files.
func (p *Postgres) Remove() {
	for _, n := range []*PostgresNode{p.Primary, p.Standby, p.former} {
		if n != nil {
			n.Kill()
		}
	}
	p.ports.end()
	_ = os.RemoveAll(p.dir)
}

// Start starts the server and waits until it answers.
func (n *PostgresNode) Start() error {
	// The processes of a server that was killed may hold its memory for a moment.
	var failed error // to start: it would fail again
	err := waitFor(postgresPatience, "a server of PostgreSQL answers", func() error {
		if failed = n.Process.Start(); failed != nil {
			return nil
		}
		return n.SQL("SELECT 1")
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return fmt.Errorf("%w; it wrote:\n%s", err, n.Output())
	}
	return nil
}

// Kill ends all processes of the server as kill -9 does.
func (n *PostgresNode) Kill() {
	pid := n.PID()
	if pid == 0 {
		return
	}
	all := childProcesses(pid)
	n.Process.Kill()
	for _, child := range all {
		_ = syscall.Kill(child, syscall.SIGKILL) // it may have noticed already
	}
}

// StopImmediate ends the server without a checkpoint, as a loss of power does.
func (n *PostgresNode) StopImmediate() { n.end(syscall.SIGQUIT) }

// Connect returns a connection of the superuser.
func (n *PostgresNode) Connect(ctx context.Context, database string) (*pgx.Conn, error) {
	u := url.URL{Scheme: "postgres", User: url.User("gsimc"), Host: n.Addr, Path: database,
		RawQuery: "sslmode=disable"}
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, err
	}
	if n.host != nil {
		config.DialFunc = n.host.Dial
	}
	return pgx.ConnectConfig(ctx, config)
}

// SQL runs statements as the superuser, each on its own.
func (n *PostgresNode) SQL(statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), postgresPatience)
	defer cancel()
	c, err := n.Connect(ctx, "postgres")
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	for _, s := range statements {
		if _, err := c.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Set changes a setting of the server as an administrator does, and waits until new connections
// have it.
func (n *PostgresNode) Set(name, value string) error {
	err := n.SQL("ALTER SYSTEM SET "+name+" = '"+value+"'", "SELECT pg_reload_conf()")
	if err != nil {
		return err
	}
	return n.await(fmt.Sprintf("%s is %q", name, value),
		fmt.Sprintf("current_setting('%s') = '%s'", name, value))
}

// await waits until a condition holds for new connections. One that does not is a division by zero.
func (n *PostgresNode) await(what, condition string) error {
	err := waitFor(postgresPatience, what, func() error {
		return n.SQL("SELECT 1 / (" + condition + ")::int")
	})
	if err != nil {
		return fmt.Errorf("%w; the server wrote:\n%s", err, n.Output())
	}
	return nil
}
