package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/dataset"
)

// ItemsImport is `gsimc items import`.
type ItemsImport struct {
	cli.ServerFlags

	File       string `arg:"" help:"CSV, TSV or JSON Lines, plain or compressed; - is standard input."`
	Separator  string `placeholder:"TEXT" help:"What stands between the categories, and between the labels, of an item. Default: semicolons and vertical bars."`
	MaxBadRows int    `default:"0" placeholder:"N" help:"Leave out up to this number of bad rows, and say which; at one more, end."`
}

// Help is the manual under the flags.
func (ItemsImport) Help() string {
	return `The file has the column item_id, and any of title, categories, labels, hidden (true or
false), available_from and available_until (dates, RFC 3339 or seconds since 1970), embedding
(numbers with blanks or commas between them), and numbers by their names, such as numbers.price
(times as above). An item keeps what the file has no column of. JSON Lines may have arrays of
categories, labels and coordinates, and an object of numbers, which are then all that the item has.

  item_id,title,categories
  1375666,Inception,thriller;science fiction

  gsimc items import items.csv.gz
  gsimc items import items.csv --separator / --max-bad-rows 10

Items are written in batches, each as a whole. Running the command again is safe.`
}

// Check checks the flags together.
func (c *ItemsImport) Check() error {
	return errors.Join(c.ServerFlags.Check(),
		cli.InRange("--max-bad-rows", float64(c.MaxBadRows), 0, 1e9))
}

// Run reads the file and writes its items.
func (c *ItemsImport) Run(a *cli.App) (err error) {
	conn, err := c.Dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, stop := cli.InterruptContext()
	defer stop()
	p, begun := a.Progress(), time.Now()
	i := &itemImport{ItemsImport: c, ctx: ctx, conn: conn, stderr: a.Stderr,
		met: map[string]struct{}{}, unread: map[string]struct{}{}}
	p.Begin("importing items", progress.Bytes)
	err = dataset.ReadItemRows(c.File, dataset.ItemRowsOptions{Separator: c.Separator,
		Stdin: a.Stdin, Progress: p.Update, Unread: i.noteUnread}, i.add, i.leaveOut)
	if err == nil {
		err = i.send()
	}
	p.End()
	if err == nil || i.written > 0 {
		a.Printf("%s written in %s: %d new, %d changed; %s left out\n",
			cli.Counted(i.written, "item"), time.Since(begun).Round(time.Millisecond), i.created,
			i.written-i.created, cli.Counted(i.bad, "bad row"))
	}
	if len(i.unread) > 0 {
		a.Printf("not read: %s; a number is a column such as numbers.price, or in the object "+
			"numbers\n", strings.Join(slices.Sorted(maps.Keys(i.unread)), ", "))
	}
	if ctx.Err() != nil {
		return cli.Interrupted("the server keeps the %d written items; the same command writes "+
			"all again", i.written)
	}
	if i.written > 0 {
		return cli.AdviseAfter(cli.PathError(err), fmt.Sprintf("the server keeps the %d written "+
			"items; the same command writes all again", i.written))
	}
	return cli.Advise(cli.PathError(err))
}

const (
	maxImportItems = 1000    // of a batch, as the server has it
	maxImportBytes = 1 << 20 // about, of a batch
)

// itemImport writes items in batches.
type itemImport struct {
	*ItemsImport
	ctx    context.Context
	conn   *client.Client
	stderr io.Writer

	met    map[string]struct{} // ids
	unread map[string]struct{} // columns that are no fields, the first ones
	batch  []dataset.ItemRow   // with equal fields
	bytes  int                 // about, of the batch

	written, created, bad int
}

// noteUnread notes a column that is no field, with the field that begins like it.
func (i *itemImport) noteUnread(name string) {
	const most, alike = 20, 3
	if len(i.unread) >= most {
		return
	}
	text := fmt.Sprintf("%.40q", name)
	at := slices.IndexFunc(dataset.ItemFields, func(field string) bool {
		return len(name) >= alike && strings.EqualFold(name[:alike], field[:alike])
	})
	if at >= 0 {
		text += " (did you mean " + dataset.ItemFields[at] + "?)"
	}
	i.unread[text] = struct{}{}
}

// add takes a row.
func (i *itemImport) add(row dataset.ItemRow) error {
	if len(row.Fields) == 0 {
		return i.leaveOut(i.fault(&row, "", "has nothing but the id, want one of "+
			strings.Join(dataset.ItemFields, ", ")))
	}
	if _, twice := i.met[row.ID]; twice {
		return i.leaveOut(i.fault(&row, dataset.DefaultItemColumn,
			fmt.Sprintf("item %q was there before", row.ID)))
	}
	i.met[row.ID] = struct{}{}
	size := len(row.ID) + len(row.Title) + 4*len(row.Embedding) + 64
	for name := range row.Numbers {
		size += 14 + len(name)
	}
	for _, name := range slices.Concat(row.Categories, row.Labels) {
		size += len(name) + 4
	}
	full := len(i.batch) == maxImportItems || i.bytes+size > maxImportBytes
	if len(i.batch) > 0 && (full || !slices.Equal(i.batch[0].Fields, row.Fields)) {
		if err := i.send(); err != nil {
			return err
		}
	}
	i.batch, i.bytes = append(i.batch, row), i.bytes+size
	return nil
}

// fault is what is wrong with a row.
func (i *itemImport) fault(row *dataset.ItemRow, column, reason string) *dataset.RowError {
	file := i.File
	if file == dataset.Stdin {
		file = dataset.StdinName
	}
	return &dataset.RowError{File: file, Line: row.Line, Column: column, Reason: reason}
}

// leaveOut counts a bad row, or ends the import.
func (i *itemImport) leaveOut(fault *dataset.RowError) error {
	i.bad++
	if i.bad > i.MaxBadRows {
		i.bad--
		if i.MaxBadRows == 0 {
			return cli.Advised(fault, "to leave bad rows out, see %s", "--max-bad-rows")
		}
		return fault
	}
	fmt.Fprintln(i.stderr, fault)
	return nil
}

// send writes the batch. Rows that the server refuses are left out.
func (i *itemImport) send() error {
	for len(i.batch) > 0 {
		ctx, cancel := context.WithTimeout(i.ctx, i.Timeout)
		r, err := pb.NewItemServiceClient(i.conn.Conn()).BatchUpsertItems(ctx, i.request())
		cancel()
		if err == nil {
			i.written += len(i.batch)
			i.created += int(r.GetCreatedCount())
			break
		}
		refused := refusedRows(err)
		if len(refused) == 0 {
			return i.conn.Explain(err)
		}
		left := i.batch[:0]
		for at, row := range i.batch {
			problem, bad := refused[at]
			if !bad {
				left = append(left, row)
				continue
			}
			if err := i.leaveOut(i.fault(&row, problem.column, problem.text)); err != nil {
				return err
			}
		}
		i.batch = left
	}
	i.batch, i.bytes = i.batch[:0], 0
	return nil
}

func (i *itemImport) request() *pb.BatchUpsertItemsRequest {
	r := &pb.BatchUpsertItemsRequest{
		UpdateMask: &fieldmaskpb.FieldMask{Paths: i.batch[0].Fields}}
	for _, row := range i.batch {
		item := &pb.Item{ItemId: row.ID, Title: row.Title, Categories: row.Categories,
			Labels: row.Labels, Hidden: proto.Bool(row.Hidden), Embedding: row.Embedding,
			Numbers: row.Numbers}
		if !row.From.IsZero() {
			item.AvailableFrom = timestamppb.New(row.From)
		}
		if !row.Until.IsZero() {
			item.AvailableUntil = timestamppb.New(row.Until)
		}
		r.Items = append(r.Items, item)
	}
	return r
}

// refusal is what a server has against a row.
type refusal struct{ column, text string }

// refusedRows returns what the server has against rows of a batch, by their index: the first fault
// of each. It is empty if the error is not about rows.
func refusedRows(err error) map[int]refusal {
	s := status.Convert(err)
	rows := map[int]refusal{}
	if s.Code() != codes.InvalidArgument {
		return rows
	}
	for _, detail := range s.Details() {
		bad, ok := detail.(*errdetails.BadRequest)
		if !ok {
			continue
		}
		for _, v := range bad.GetFieldViolations() {
			rest, isRow := strings.CutPrefix(v.GetField(), "items[")
			number, column, closed := strings.Cut(rest, "]")
			at, err := strconv.Atoi(number)
			if _, there := rows[at]; isRow && closed && err == nil && !there {
				rows[at] = refusal{strings.TrimPrefix(column, "."), v.GetDescription()}
			}
		}
	}
	return rows
}
