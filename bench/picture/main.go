// Command picture draws the picture at the top of README.md: the list of a new user, which changes
// with each of four likes. Nothing in it is made up. The command trains a model with gsimc train,
// starts gsimc serve, sends the likes by Observe and asks Recommend after each.
//
//	go run ./picture --gsimc ../bin/gsimc --data events.csv.gz --items items.csv.gz \
//		--likes 1,2,3,4 --out ../docs/picture.svg
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	gsimcv1 "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/bench/internal/served"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// rows is the number of items in each list.
const rows = 8

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("picture", flag.ContinueOnError)
	gsimc := flags.String("gsimc", "bin/gsimc", "the program")
	data := flags.String("data", "", "file of events to learn from")
	items := flags.String("items", "", "CSV of item_id,title,…: the titles")
	likes := flags.String("likes", "", "ids of the items that the new user likes, in order")
	caption := flags.String("caption", "", "the source of the data, named below the lists")
	out := flags.String("out", "picture.svg", "the picture")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *data == "" || *items == "" || *likes == "" {
		return errors.New("--data, --items and --likes are wanted")
	}
	names, err := readTitles(*items)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "gsimc-picture-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	model := filepath.Join(dir, "model.gsimc")
	train := exec.CommandContext(ctx, *gsimc, "train", "--data", *data, "--out", model, "--quiet",
		"--min-user-events", "5", "--min-item-events", "5")
	train.Stderr = os.Stderr
	if err := train.Run(); err != nil {
		return fmt.Errorf("gsimc train: %w", err)
	}
	server, err := served.Start(ctx, *gsimc, model, filepath.Join(dir, "state"))
	if err != nil {
		return err
	}
	lists, err := follow(ctx, server.Address, strings.Split(*likes, ","))
	if err := errors.Join(err, server.Close()); err != nil {
		return err
	}
	return os.WriteFile(*out, drawing(lists, names, *caption), 0o644)
}

// A list is what Recommend answers after a like.
type list struct {
	liked string // the id of the newest like; empty before the first
	items []string
}

// follow sends the likes of a new user and returns the list before the first like and after each.
func follow(ctx context.Context, address string, likes []string) (lists []list, err error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	events := gsimcv1.NewEventServiceClient(conn)
	recommender := gsimcv1.NewRecommenderServiceClient(conn)
	const user, applied = "new-user", gsimcv1.EventDisposition_EVENT_DISPOSITION_APPLIED
	for i, like := range append([]string{""}, likes...) {
		if like != "" {
			event := &gsimcv1.Event{EventId: fmt.Sprint(i), UserId: user, ItemId: like}
			resp, err := events.Observe(ctx, &gsimcv1.ObserveRequest{Event: event})
			if err != nil {
				return nil, fmt.Errorf("like %s: %w", like, err)
			}
			if got := resp.GetDisposition(); got != applied {
				return nil, fmt.Errorf("like %s: %s, want an item of the model", like, got)
			}
		}
		answer, err := recommender.Recommend(ctx, &gsimcv1.RecommendRequest{
			Subject:  &gsimcv1.RecommendRequest_UserId{UserId: user},
			PageSize: rows,
		})
		if err != nil {
			return nil, err
		}
		l := list{liked: like}
		for _, item := range answer.GetItems() {
			l.items = append(l.items, item.GetItemId())
		}
		lists = append(lists, l)
	}
	return lists, nil
}
