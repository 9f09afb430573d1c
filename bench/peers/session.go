package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gsimc/gsimc/bench/internal/python"
	"github.com/gsimc/gsimc/bench/internal/result"
	"github.com/gsimc/gsimc/bench/internal/rounds"
)

// options are the flags.
type options struct {
	out, suffix    string
	only           string
	rounds         int
	queries        int
	quick, noPeers bool
	pythons, venv  string
	gsimc          string
	data, cache    string
}

// defaultQueries is the number of queries without --queries.
const defaultQueries = 10_000

func (o *options) register(flags *flag.FlagSet) {
	flags.StringVar(&o.out, "out", "results", "folder for the results")
	flags.StringVar(&o.suffix, "suffix", "",
		"text appended to the name of the file of results, such as -avx2")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds in which every contestant has its turn")
	flags.StringVar(&o.only, "only", "",
		"measure only the groups and bases whose titles contain this text, such as Gaussian")
	flags.IntVar(&o.queries, "queries", defaultQueries,
		"queries of each base of topn whose answers are checked")
	flags.BoolVar(&o.quick, "quick", false,
		"small sizes and few repeats: shows that all runs, the figures mean little")
	flags.BoolVar(&o.noPeers, "no-peers", false, "measure gsimc and the limits of the machine only")
	flags.StringVar(
		&o.pythons,
		"python",
		os.Getenv("GSIMC_BENCH_PYTHON"),
		"Python interpreters with the peers, separated by commas, or in GSIMC_BENCH_PYTHON; "+
			"default: that of --venv, python3, /usr/bin/python3",
	)
	flags.StringVar(&o.venv, "venv", ".cache/python",
		"folder of the virtual environment with the packages that are pinned here, made if "+
			"missing by venv and pip; \"\" for none, and none with --python")
	flags.StringVar(&o.gsimc, "gsimc", "../bin/gsimc",
		"the gsimc program (make build), to train models and to be served by")
	flags.StringVar(&o.data, "data", "../../shared/data",
		"folder of optional data sets; sets that are absent are skipped")
	flags.StringVar(&o.cache, "cache", "",
		"folder that keeps trained models for the next run; default: none are kept")
}

func (o *options) validate() error {
	if o.rounds < 1 {
		return fmt.Errorf("--rounds is %d, want at least 1, and 5 for figures that are quoted",
			o.rounds)
	}
	if o.queries < timedQueries {
		return fmt.Errorf("--queries is %d, want at least the %d that are timed", o.queries,
			timedQueries)
	}
	return nil
}

// command is what measures a part again: without the flags that only say where something is.
func (o *options) command(part string) string {
	text := "go run ./peers"
	if level := os.Getenv("GSIMC_CPU"); level != "" {
		text = "GSIMC_CPU=" + level + " " + text
	}
	if o.quick {
		text += " --quick"
	}
	if o.noPeers {
		text += " --no-peers"
	}
	if o.suffix != "" {
		text += " --suffix " + o.suffix
	}
	if o.queries != defaultQueries {
		text += fmt.Sprintf(" --queries %d", o.queries)
	}
	if o.only != "" {
		text += fmt.Sprintf(" --only %q", o.only)
	}
	return fmt.Sprintf("%s --rounds %d %s", text, o.rounds, part)
}

// session is one part on its way.
type session struct {
	options
	ctx   context.Context
	tmp   string // folder that is removed at the end
	begin time.Time
	file  *result.File

	sources int // of streamed events so far
}

// say prints a line of progress with the time since the beginning.
func (s *session) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5.0fs  %s: %s\n", time.Since(s.begin).Seconds(), s.file.Part,
		fmt.Sprintf(format, args...))
}

// note says something that belongs into the report too: a version, or who was skipped and why.
func (s *session) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.say("%s", text)
	s.file.Notes = append(s.file.Notes, text)
}

// pick is full, or quick with --quick.
func pick[T any](s *session, full, quick T) T {
	if s.quick {
		return quick
	}
	return full
}

// use is how long a contestant repeats its work in one round.
func (s *session) use() time.Duration { return pick(s, 250*time.Millisecond, 30*time.Millisecond) }

// progressEvery is how long a group runs before it says how far it is, again and again.
const progressEvery = 5 * time.Second

// compete runs the rounds of a group, keeps it and prints its figures.
func (s *session) compete(g result.Group, contestants []rounds.Contestant) error {
	return s.competeRounds(g, contestants, s.rounds)
}

// left reports whether --only leaves a title out.
func (s *session) left(title string) bool { return !strings.Contains(title, s.only) }

// competeRounds is compete with another number of rounds than the flag's: for what takes minutes.
func (s *session) competeRounds(g result.Group, contestants []rounds.Contestant, n int) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	s.say("%s", g.Title)
	told := time.Now()
	series, err := rounds.Alternate(s.ctx, n, contestants, func(round int, name string) {
		if time.Since(told) > progressEvery {
			s.say("%s: round %d of %d, %s", g.Title, round+1, n, name)
			told = time.Now()
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", g.Title, err)
	}
	g.Series = series
	for i := range g.Series {
		one := &g.Series[i]
		spread, better := result.SpreadOf(one.Samples), g.Advantage(one)
		line := fmt.Sprintf("    %-42s %10.4g %s", one.Name, spread.Median, g.Unit)
		switch {
		case one.Name == g.Ours:
		case one.Role == result.Limit:
			line += fmt.Sprintf("   limit, %.2f [%.2f–%.2f] times better than ours", better.Median,
				better.Min, better.Max)
		default:
			line += fmt.Sprintf("   ours is %.2f [%.2f–%.2f] times better", better.Median,
				better.Min, better.Max)
		}
		fmt.Println(line)
	}
	for _, c := range g.Checks {
		fmt.Printf("    %s: %s\n", c.Name, c.Text)
	}
	s.file.Groups = append(s.file.Groups, g)
	return nil
}

// startPythons starts the interpreters that are installed, each with the given number of threads,
// and notes their versions.
func (s *session) startPythons(threads int) ([]*python.Worker, error) {
	if s.noPeers {
		return nil, nil
	}
	env := []string{
		fmt.Sprint("OMP_NUM_THREADS=", threads),
		fmt.Sprint("OPENBLAS_NUM_THREADS=", threads),
	}
	if result.HasAVX512() {
		env = append(
			env,
			"OPENBLAS_CORETYPE=SkylakeX",
		) // else older versions take the processor for one without AVX-512
	}
	var workers []*python.Worker
	for _, name := range s.interpreters() {
		w, err := python.Start(s.ctx, name, env...)
		if s.ctx.Err() != nil {
			return nil, errors.Join(s.ctx.Err(), closeAll(workers))
		}
		if err != nil {
			s.note("one Python interpreter is skipped: %v", err)
			continue
		}
		v := w.Versions
		if slices.ContainsFunc(workers, func(w *python.Worker) bool { return samePackages(w, v) }) {
			s.say("Python %s has the packages of another and is left out", v.Python)
			if err := w.Close(); err != nil {
				return nil, errors.Join(err, closeAll(workers))
			}
			continue
		}
		s.note("Python %s: NumPy %s, SciPy %s, faiss %s, hnswlib %s, usearch %s, ScaNN %s; "+
			"%d thread(s), %v", v.Python, v.NumPy, orNone(v.SciPy), orNone(v.Faiss),
			orNone(v.HNSWLib), orNone(v.USearch), orNone(v.ScaNN), threads, env[2:])
		workers = append(workers, w)
	}
	if len(workers) == 0 {
		s.note("no Python with NumPy: its packages are not compared with")
	}
	return workers, nil
}

// interpreters returns the names of those to try, the one with the pinned packages first.
func (s *session) interpreters() []string {
	names := python.Interpreters(s.pythons)
	if s.pythons != "" || s.venv == "" {
		return names
	}
	s.say("looking for the pinned Python packages in %s, or installing them there", s.venv)
	pinned, err := python.Environment(s.ctx, s.venv, names)
	if err != nil {
		s.note("the packages of the Python index are not compared with: %v", err)
		return names
	}
	if err := python.Compile(s.ctx, s.venv); err != nil {
		s.note("hnswlib is not compared with: %v", err)
	}
	return slices.Insert(names, 0, pinned)
}

// samePackages reports whether a process has the versions v, and so the same contestants.
func samePackages(w *python.Worker, v python.Versions) bool {
	v.Python = w.Versions.Python
	return v == w.Versions
}

func closeAll(workers []*python.Worker) error {
	var failed []error
	for _, w := range workers {
		failed = append(failed, w.Close())
	}
	return errors.Join(failed...)
}

func orNone(version string) string { return cmp.Or(version, "not installed") }

// path returns one in the temporary folder.
func (s *session) path(name string) string { return filepath.Join(s.tmp, name) }
