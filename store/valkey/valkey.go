// Package valkey keeps user histories, the catalogue, leases and notes in a Redis (7.0 or newer) or
// Valkey (8 or newer) cluster, for several servers at the same time.
//
// # Layout
//
// Each user has two keys of one slot, so that a call changes both or none: a list of packed events,
// and a hash from event ids to revisions. Functions that the store loads into the cluster append,
// read and replace; each is atomic on its node. A version has the mark of the last of its events,
// and each event has a mark of its own. The catalogue stands in one slot, and so do all leases and
// notes.
//
// # What differs from a store on one machine
//
// Users are on several nodes. So a call of Append or Rewrite is atomic for each user and not over
// several, and Each tells of each user as of another moment. Rewrite replaces histories before it
// erases others, so that a call that ends in the middle can be repeated. Reads are answered by
// primaries; one that was cut off may answer for the node timeout of the cluster before it knows
// that it has been replaced, and shows what replicas do not have yet. So Identity.Lags is set, and
// a reader may see an event that is gone after a failover; what was acknowledged is not.
//
// # Durability
//
// A write is acknowledged when all replicas that are linked to the primary have it, and at least
// one. All nodes write it to their files within two seconds. So acknowledged events survive the end
// of any one process or machine, and of all but one of those that acknowledged; but a primary must
// not come back before a replica has taken over, and a loss of power everywhere takes the last two
// seconds. [Store.Promises] has the list. Open refuses a cluster whose settings do not keep it.
//
// A write whose outcome is open, by a failover say, is repeated until the context of the call ends;
// so calls should have deadlines of more than a failover takes, which is the node timeout of the
// cluster and some seconds. Writes of a primary that has lost its replicas are refused at once,
// with store.ErrUnavailable; after a failover replicas have ten seconds to follow the new primary.
// While the cluster cannot be reached calls wait in bounded queues, and are refused with
// store.ErrUnavailable where those are full.
package valkey

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/internal/calls"
	"github.com/gsimc/gsimc/store/valkey/internal/cluster"
)

// Options say where the store is and what it asks of the cluster.
type Options struct {
	// Addrs are the addresses, HOST:PORT, of some nodes of the cluster.
	Addrs []string
	// Namespace begins the names of all keys, so that several stores have room in one cluster: 1 to
	// 32 letters, digits, '-' and '_'.
	Namespace string
	// Username is that of an ACL user; empty: the user "default".
	Username string
	// Password returns the user's password, and TLS the configuration of a connection. Each new
	// connection asks for them, so that they may change. nil: no password, and plain TCP.
	Password func() (string, error)
	TLS      func() (*tls.Config, error)
	// Replicas is the number of replicas that Open wants linked to each primary, and below which
	// Stats says that promises are degraded; 0 is 1.
	Replicas int
	// NotDurable opens a cluster whatever its settings are, and acknowledges writes that one
	// process has in memory: for development.
	NotDurable bool
	// TrustSettings skips the settings that only CONFIG GET tells, for clusters that forbid it.
	TrustSettings bool
	// Room is the number of writes that may wait for each primary; 0 is 4096.
	Room int
	// Dial makes connections in place of the network; nil: the network.
	Dial func(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error)
}

// Defaults of Options.
const (
	DefaultReplicas = 1
	DefaultRoom     = 4096
)

var namespacePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// Validate checks the options. Its errors name the field.
func (o *Options) Validate() error {
	var errs []error
	if len(o.Addrs) == 0 {
		errs = append(errs, errors.New("valkey: Addrs: there is none, want HOST:PORT of a node"))
	}
	for _, addr := range o.Addrs {
		if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
			errs = append(errs, fmt.Errorf("valkey: Addrs: %q, want HOST:PORT", addr))
		}
	}
	if !namespacePattern.MatchString(o.Namespace) {
		errs = append(errs, fmt.Errorf("valkey: Namespace: %q, want 1 to 32 letters, digits, - "+
			"and _", o.Namespace))
	}
	if o.Replicas < 0 {
		errs = append(errs, fmt.Errorf("valkey: Replicas: %d, want 0 or more", o.Replicas))
	}
	if o.Room < 0 {
		errs = append(errs, fmt.Errorf("valkey: Room: %d, want 0 or more", o.Room))
	}
	return errors.Join(errs...)
}

// Store is a store.Store, with store.Items and store.Shared, in a cluster. Use Open.
type Store struct {
	options  Options
	cluster  *cluster.Cluster
	keys     keys
	identity store.Identity
	unknown  []string // settings that could not be looked up
	calls    calls.Calls
}

var (
	_ store.Items  = (*Store)(nil)
	_ store.Shared = (*Store)(nil)
)

// Open connects to a cluster, checks its settings and loads the functions. A *SettingsError says
// which settings do not hold; other errors wrap store.ErrUnavailable or say what is wrong with the
// options or the store.
func Open(ctx context.Context, options Options) (*Store, error) {
	options.Replicas = cmp.Or(options.Replicas, DefaultReplicas)
	options.Room = cmp.Or(options.Room, DefaultRoom)
	if err := options.Validate(); err != nil {
		return nil, err
	}
	c, err := cluster.Open(ctx, cluster.Options{Addrs: options.Addrs, Username: options.Username,
		Password: options.Password, TLS: options.TLS, Replicas: options.Replicas,
		Room: options.Room, NoWait: options.NotDurable, Library: library, Dial: options.Dial})
	if err != nil {
		return nil, fmt.Errorf("valkey: %w", err)
	}
	s := &Store{options: options, cluster: c, keys: newKeys(options.Namespace)}
	if err := s.prepare(ctx); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("valkey: %w", err)
	}
	return s, nil
}

// format is the number of the layout of keys and values.
const format = "1"

// prepare checks the cluster, loads the functions, and learns the identity of the store.
func (s *Store) prepare(ctx context.Context) error {
	if !s.options.NotDurable {
		if err := s.checkSettings(ctx); err != nil {
			return err
		}
	}
	if err := s.cluster.Load(ctx); err != nil {
		return err
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	call := &cluster.Call{Function: function("identity"), Keys: []string{s.keys.meta},
		Args: []string{string(id[:]), format}}
	s.cluster.Write(ctx, call)
	if call.Err != nil {
		return call.Err
	}
	parts, err := call.Reply.AsStrSlice()
	if err != nil || len(parts) != 2 || len(parts[0]) != len(id) {
		return fmt.Errorf("%w: the identity of the store cannot be read", store.ErrCorrupt)
	}
	if parts[1] != format {
		return fmt.Errorf("the store has format %.20q, and this program knows %s: use the version "+
			"that wrote it", parts[1], format)
	}
	copy(s.identity.ID[:], parts[0])
	s.identity.Lags = true
	return nil
}

// Identity implements store.Store. It lags: a primary that was cut off answers for a while.
func (s *Store) Identity() store.Identity { return s.identity }

// Close implements store.Store.
func (s *Store) Close() error {
	if err := s.calls.Close(); err != nil {
		return err
	}
	s.calls.Wait()
	return s.cluster.Close()
}

// token returns a name for one call, by which its repetitions are known.
func token() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return string(b[:])
}
