package call

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// How a job asks: a batch has at most 100,000 entries. Two batches keep a server busy while the job
// writes; of single calls more are needed.
const (
	maxBatchUsers   = 500
	maxBatchEntries = 100_000
	batchesAtOnce   = 2
	singlesAtOnce   = 32
)

// A listJob asks for the lists of many users, several calls at a time.
type listJob struct {
	server  pb.RecommenderServiceClient
	request *pb.RecommendRequest // of each user, but for the user
	users   []string
	written func(lists int) // is called now and then

	degraded map[pb.Degradation]int // lists
}

// listCall is a call for the lists of some users.
type listCall struct {
	users []string
	done  chan struct{} // closed when there are lists, or an error
	lists []*pb.RecommendResponse
	err   error
}

// run hands the lists to w in the order of the users.
func (j *listJob) run(ctx context.Context, w listWriter) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := 0
	for call := range j.calls(ctx) {
		<-call.done
		if call.err != nil {
			return call.err
		}
		for i, list := range call.lists {
			for _, d := range list.GetDegradations() {
				j.degraded[d]++
			}
			if err := w.write(call.users[i], list); err != nil {
				return err
			}
		}
		n += len(call.users)
		j.written(n)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.close()
}

// calls begins the calls in the order of the users, some ahead of the reader of the channel.
func (j *listJob) calls(ctx context.Context) <-chan *listCall {
	users, atOnce := 1, singlesAtOnce
	if inBatches(j.request) {
		users = min(maxBatchUsers, maxBatchEntries/int(j.request.GetPageSize()))
		atOnce = batchesAtOnce
	}
	calls := make(chan *listCall, atOnce-1) // the reader waits for one more
	go func() {
		defer close(calls)
		for some := range slices.Chunk(j.users, users) {
			call := &listCall{users: some, done: make(chan struct{})}
			select {
			case calls <- call:
			case <-ctx.Done():
				return
			}
			go func() {
				defer close(call.done)
				call.lists, call.err = j.ask(ctx, some)
			}()
		}
	}()
	return calls
}

// inBatches reports whether BatchRecommend has all that the request asks for: the fields of batch.
func inBatches(r *pb.RecommendRequest) bool {
	rest := proto.CloneOf(r)
	rest.Subject, rest.PageSize, rest.Filter, rest.Seen = nil, 0, nil, nil
	rest.NamedBoosts, rest.Attribute = nil, false
	return proto.Equal(rest, &pb.RecommendRequest{})
}

// ask returns the lists of some users in their order. A batch may lack some, for want of time or
// room: they are asked for again, and alone if a batch brings nothing.
func (j *listJob) ask(ctx context.Context, users []string) ([]*pb.RecommendResponse, error) {
	lists, left := make([]*pb.RecommendResponse, len(users)), make([]int, len(users))
	for i := range left {
		left[i] = i
	}
	for alone := !inBatches(j.request); len(left) > 0; {
		before := len(left)
		if alone {
			list, err := j.one(ctx, users[left[0]])
			if err != nil {
				return nil, err
			}
			lists[left[0]] = list
		} else if err := j.batch(ctx, users, left, lists); err != nil {
			return nil, err
		}
		left = slices.DeleteFunc(left, func(i int) bool { return lists[i] != nil })
		alone = !inBatches(j.request) || len(left) == before
	}
	return lists, nil
}

// one returns the list of a user.
func (j *listJob) one(ctx context.Context, user string) (*pb.RecommendResponse, error) {
	r := proto.CloneOf(j.request)
	r.Subject = &pb.RecommendRequest_UserId{UserId: user}
	return j.server.Recommend(ctx, r)
}

// batch fills in the lists of the users whose indices are left, as far as the server has them.
func (j *listJob) batch(
	ctx context.Context, users []string, left []int, lists []*pb.RecommendResponse,
) error {
	r := &pb.BatchRecommendRequest{PageSize: j.request.GetPageSize(), Filter: j.request.GetFilter(),
		Seen: j.request.GetSeen(), NamedBoosts: j.request.GetNamedBoosts(),
		Attribute: j.request.GetAttribute()}
	for _, i := range left {
		r.Subjects = append(r.Subjects,
			&pb.BatchSubject{Subject: &pb.BatchSubject_UserId{UserId: users[i]}})
	}
	got, err := j.server.BatchRecommend(ctx, r)
	if err != nil {
		return err
	}
	for n, result := range got.GetResults()[:min(len(left), len(got.GetResults()))] {
		lists[left[n]] = result.GetResponse()
	}
	return nil
}
