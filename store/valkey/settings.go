package valkey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/valkey/internal/cluster"
)

// A SettingsError says which settings of a cluster do not keep the promises of the store.
type SettingsError struct{ Problems []Problem }

// A Problem is a setting of a node that does not hold.
type Problem struct {
	// Node is the address of the node.
	Node string
	// Setting, Found and Want are its name, what it is, and what it has to be.
	Setting, Found, Want string
	// Command is what sets it.
	Command string
}

// Error names every problem, with the command that solves it.
func (e *SettingsError) Error() string {
	problems := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		problems[i] = fmt.Sprintf("%s: %s is %s, want %s: %s", p.Node, p.Setting, p.Found, p.Want,
			p.Command)
	}
	return "the cluster does not keep what the store promises: " + strings.Join(problems, "; ")
}

// checkSettings looks at the settings of all nodes, as replicas become primaries. One that does not
// answer is left out: the number of replicas of its primary tells whether enough are there.
func (s *Store) checkSettings(ctx context.Context) error {
	var problems []Problem
	if n := s.cluster.Uncovered(); n > 0 {
		problems = append(problems, Problem{Node: "cluster", Setting: "slots without a primary",
			Found: strconv.Itoa(n), Want: "0", Command: "redis-cli --cluster fix HOST:PORT"})
	}
	addrs := s.cluster.Nodes()
	slices.Sort(addrs)
	for _, addr := range addrs {
		found, err := s.nodeProblems(ctx, addr)
		if errors.Is(err, store.ErrUnavailable) {
			continue
		}
		if err != nil {
			return err
		}
		problems = append(problems, found...)
	}
	primaries, _ := s.cluster.Primaries()
	for _, p := range primaries {
		problems = append(problems, s.replicaProblems(p)...)
	}
	if problems != nil {
		return &SettingsError{problems}
	}
	return nil
}

func (s *Store) replicaProblems(p cluster.Info) []Problem {
	if p.Err == nil && p.Replicas >= s.options.Replicas {
		return nil
	}
	found := strconv.Itoa(p.Replicas)
	if p.Err != nil {
		found = "not known (" + p.Err.Error() + ")"
	}
	return []Problem{{Node: p.Addr, Setting: "number of linked replicas", Found: found,
		Want:    "at least " + strconv.Itoa(s.options.Replicas),
		Command: "redis-cli --cluster add-node REPLICA " + p.Addr + " --cluster-slave"}}
}

// nodeProblems looks at the settings of one node.
func (s *Store) nodeProblems(ctx context.Context, addr string) ([]Problem, error) {
	reply, err := s.cluster.Ask(ctx, addr, "INFO")
	if err != nil {
		return nil, fmt.Errorf("INFO of %s: %w", addr, err)
	}
	text, _ := reply.ToString()
	info := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		info[name] = value
	}
	var problems []Problem
	want := func(setting, found, want, command string) {
		if found != want {
			problems = append(problems, Problem{addr, setting, found, want, command})
		}
	}
	problems = append(problems, versionProblems(addr, info)...)
	want("appendonly", yesNo(info["aof_enabled"]), "yes", "CONFIG SET appendonly yes")
	want("maxmemory-policy", info["maxmemory_policy"], "noeviction",
		"CONFIG SET maxmemory-policy noeviction")
	if s.options.TrustSettings {
		s.unknown = []string{"cluster-allow-replica-migration", "appendfsync"}
		return problems, nil
	}
	config, err := s.config(ctx, addr, "cluster-allow-replica-migration", "appendfsync")
	if err != nil {
		return nil, err
	}
	want("cluster-allow-replica-migration", config["cluster-allow-replica-migration"], "no",
		"CONFIG SET cluster-allow-replica-migration no")
	if config["appendfsync"] == "no" {
		want("appendfsync", "no", "everysec or always", "CONFIG SET appendfsync everysec")
	}
	return problems, nil
}

func yesNo(number string) string {
	if number == "1" {
		return "yes"
	}
	return "no"
}

// Oldest versions that have what the store needs.
const (
	oldestRedis  = 7
	oldestValkey = 8
)

func versionProblems(addr string, info map[string]string) []Problem {
	name, oldest := "redis_version", oldestRedis
	if info["valkey_version"] != "" {
		name, oldest = "valkey_version", oldestValkey
	}
	major, _, _ := strings.Cut(info[name], ".")
	if n, err := strconv.Atoi(major); err == nil && n >= oldest {
		return nil
	}
	return []Problem{{Node: addr, Setting: name, Found: info[name],
		Want: fmt.Sprintf("%d or newer", oldest), Command: "install a newer server"}}
}

// config asks a node for settings that INFO does not tell.
func (s *Store) config(
	ctx context.Context, addr string, names ...string,
) (map[string]string, error) {
	reply, err := s.cluster.Ask(ctx, addr, append([]string{"CONFIG", "GET"}, names...)...)
	if errors.Is(err, store.ErrUnavailable) {
		return nil, err
	}
	settings, mapErr := reply.AsStrMap()
	if err != nil || mapErr != nil {
		return nil, fmt.Errorf("the settings %s of %s cannot be looked up (%w): allow CONFIG GET "+
			"with ACL SETUSER NAME +config|get, or look at them yourself and say so "+
			"(settings=trusted)", strings.Join(names, " and "), addr, errors.Join(err, mapErr))
	}
	return settings, nil
}
