package call

import (
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/dataset"
)

// listsFlags are the flags for the lists of many users.
type listsFlags struct {
	Users string `group:"For whom:" placeholder:"FILE" help:"Many users, for --out: the column user_id of a file in any of the forms that train reads, each user once; it may be one of events. - is standard input."`
	Out   string `writes:"file" group:"Output:" placeholder:"FILE" help:"With --users, the file of all lists: a row for each place if its name ends in .parquet or .csv, an object for each user if in .jsonl, the last two also with .gz or .zst behind it. It is replaced in one step when it is complete."`
}

// checkLists checks the flags for many users against the others.
func (c *Recommend) checkLists() error {
	if c.Users == "" && c.Out == "" {
		return nil
	}
	if c.Users == "" {
		return cli.About("%s goes with %s only", "--out", "--users")
	}
	if c.Out == "" {
		return cli.About("%s goes with %s only", "--users", "--out")
	}
	var errs []error
	if c.JSON || c.MinRevision > 0 {
		errs = append(errs, cli.About("%s does not go with %s or %s", "--users", "--json",
			"--min-revision"))
	}
	if listFormOf(c.Out) == "" {
		errs = append(errs, cli.Flagf("--out",
			"%s, want a name that ends in .parquet, .csv or .jsonl, or in .csv or .jsonl with .gz "+
				"or .zst", c.Out))
	}
	return errors.Join(errs...)
}

// writeLists asks for the list of each user and writes them all.
func (c *Recommend) writeLists(a *cli.App, titles map[string]string) (err error) {
	if err = cli.Writable("--out", c.Out); err != nil {
		return err
	}
	users, err := dataset.ReadUsers(c.Users, a.Stdin)
	switch form := new(fault.Fault); {
	case errors.As(err, &form): // its field and its advice are of commands that have flags for it
		return cli.Flagf("--users", "%s: %s, want a first row with the names of the columns, "+
			"user_id among them", c.Users, form.Problem)
	case err != nil:
		return cli.Flag("--users", cli.PathError(err))
	}
	conn, err := c.Dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, stop := cli.InterruptContext()
	defer stop()
	out, err := dataset.Create(c.Out)
	if err != nil {
		return cli.Flag("--out", err)
	}
	p, begin := a.Progress(), time.Now()
	p.Begin("asking for lists", progress.Rows)
	job := &listJob{server: pb.NewRecommenderServiceClient(conn.Conn()), request: c.request(),
		users: users, degraded: map[pb.Degradation]int{},
		written: func(n int) { p.Update(int64(n), int64(len(users))) }}
	err = cli.Complete(ctx, out, func(w io.Writer) error {
		return job.run(ctx, listForms[listFormOf(c.Out)](w, titles))
	})
	p.End()
	if err != nil && ctx.Err() != nil {
		return cli.Interrupted("%s is not written; the same command begins anew", c.Out)
	}
	if err != nil {
		return cli.Advise(conn.Explain(err))
	}
	a.Printf("%s: %s in %s\n", c.Out, cli.Counted(len(users), "list"),
		time.Since(begin).Round(time.Millisecond))
	for _, d := range slices.Sorted(maps.Keys(job.degraded)) {
		a.Printf("note: %d of them: %s\n", job.degraded[d],
			cli.EnumText(d.String(), "DEGRADATION_"))
	}
	return nil
}
