package items

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"strings"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

const defaultFoundItems = 20

// SearchItems implements ItemService.
func (s service) SearchItems(
	ctx context.Context, req *pb.SearchItemsRequest,
) (*pb.SearchItemsResponse, error) {
	if err := valid.SearchItems(req); err != nil {
		return nil, err
	}
	size := cmp.Or(min(int(req.GetPageSize()), valid.MaxFound), defaultFoundItems)
	ids, err := s.findIDs(ctx, req.GetQuery(), size)
	if err != nil {
		return nil, err
	}
	m := s.models.Acquire()
	defer m.Release()
	found, err := s.known(ctx, m.Model, ids)
	if err != nil {
		return nil, err
	}
	return &pb.SearchItemsResponse{Items: found}, nil
}

// BatchGetItems implements ItemService.
func (s service) BatchGetItems(
	ctx context.Context, req *pb.BatchGetItemsRequest,
) (*pb.BatchGetItemsResponse, error) {
	if err := valid.ItemIDs(req.GetItemIds(), valid.MaxFound); err != nil {
		return nil, err
	}
	m := s.models.Acquire()
	defer m.Release()
	known, err := s.known(ctx, m.Model, req.GetItemIds())
	if err != nil {
		return nil, err
	}
	return &pb.BatchGetItemsResponse{Items: known}, nil
}

// findIDs returns up to n ids of the model and of the catalogue that begin with query, sorted, and
// then those of titles that have it; without a query those of the most popular items.
func (s service) findIDs(
	ctx context.Context, query string, n int,
) (ids []string, err error) {
	if ids, err = s.findByID(ctx, query, n); err != nil || len(ids) == n || query == "" {
		return ids, err
	}
	// Searches of titles wait for each other, and hold no model meanwhile.
	titled, err := s.catalogue.FindTitles(ctx, query, n-len(ids), ids)
	return append(ids, titled...), err
}

// findByID returns up to n ids that begin with query, sorted; without a query those of the most
// popular items.
func (s service) findByID(
	ctx context.Context, query string, n int,
) (ids []string, err error) {
	m := s.models.Acquire()
	defer m.Release()
	if query == "" {
		popular := m.Popular()
		for _, i := range popular[:min(n, len(popular))] {
			ids = append(ids, m.ItemID(i))
		}
		return ids, nil
	}
	known, all := int32(m.Base().NumItems()), int32(m.NumItems())
	ids = appendByPrefix(ids, m.ItemID, 0, known, query, n)
	ids = appendByPrefix(ids, m.ItemID, known, all, query, n)
	// The item whose id is the query itself is not behind it.
	if _, found, err := s.catalogueItem(ctx, query); err != nil {
		return nil, err
	} else if found {
		ids = append(ids, query)
	}
	left := n
	err = s.each(ctx, query, func(item store.Item) error {
		if left == 0 || !strings.HasPrefix(item.ID, query) {
			return errPageFull
		}
		left--
		ids = append(ids, item.ID)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(n, len(ids))], nil
}

// each calls fn with the items of the catalogue, if there is one, until it returns errPageFull.
func (s service) each(ctx context.Context, after string, fn func(store.Item) error) error {
	err := s.catalogue.Each(ctx, after, fn)
	if errors.Is(err, errPageFull) || errors.Is(err, catalogue.ErrNone) {
		return nil
	}
	return err
}

// known tells what is known of items.
func (s service) known(
	ctx context.Context, m *model.Model, ids []string,
) ([]*pb.KnownItem, error) {
	known := make([]*pb.KnownItem, len(ids))
	for at, id := range ids {
		item, _, err := s.catalogueItem(ctx, id)
		if err != nil {
			return nil, err
		}
		item.ID = id
		item.Embedding = nil // nothing for people, and most of the answer
		k := &pb.KnownItem{Item: itemMessage(&item)}
		// Popular items without a training have degrees too: sums of the weights of events.
		if i, ok := m.ItemIndex(id); ok && m.Personal() {
			k.InModel = true
			if m.InBase(i) { // of others it is a guess, from those that are like it
				k.TrainUsers = m.Degree(i)
			}
		}
		known[at] = k
	}
	return known, nil
}

// catalogueItem is what the catalogue has of an item. A server without a catalogue has nothing, and
// of an item that cannot be read it is known that it is hidden.
func (s service) catalogueItem(
	ctx context.Context, id string,
) (item store.Item, found bool, err error) {
	item, found, err = s.catalogue.Get(ctx, id)
	switch {
	case errors.Is(err, catalogue.ErrNone):
		return store.Item{}, false, nil
	case errors.Is(err, catalogue.ErrDamaged):
		return store.Item{Hidden: true}, true, nil
	}
	return item, found, err
}

// appendByPrefix appends the first n of the ids from number from up to end that begin with prefix;
// id gives them, bytewise sorted.
func appendByPrefix(
	ids []string, id func(i int32) string, from, end int32, prefix string, n int,
) []string {
	at := from + int32(sort.Search(int(end-from), func(j int) bool {
		return id(from+int32(j)) >= prefix
	}))
	for ; at < end && n > 0 && strings.HasPrefix(id(at), prefix); at++ {
		ids, n = append(ids, id(at)), n-1
	}
	return ids
}
