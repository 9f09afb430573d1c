// Package items implements ItemService: the catalogue as clients write, list and search it.
//
// The catalogue says what may be shown, and the model what can be recommended; searches look at
// both. The catalogue and the rules of fields are elsewhere: see packages catalogue and valid.
package items

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/filters"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

// Deps are what the service needs.
type Deps struct {
	Catalogue *catalogue.Catalogue
	Models    *models.Holder // of the model whose items are searched
	Filters   *filters.Set
}

// New returns the service.
func New(d Deps) pb.ItemServiceServer {
	return service{catalogue: d.Catalogue, models: d.Models, filters: d.Filters}
}

type service struct {
	pb.UnsafeItemServiceServer
	catalogue *catalogue.Catalogue
	models    *models.Holder
	filters   *filters.Set
}

// maxItemPageBytes bounds the items of a page, whose names may take 50 KB each.
const maxItemPageBytes = 1 << 20

// BatchUpsertItems implements ItemService.
func (s service) BatchUpsertItems(
	ctx context.Context, req *pb.BatchUpsertItemsRequest,
) (*pb.BatchUpsertItemsResponse, error) {
	if err := valid.UpsertItems(req); err != nil {
		return nil, err
	}
	ids := make([]string, len(req.GetItems()))
	for i, item := range req.GetItems() {
		ids[i] = item.GetItemId()
	}
	mask := req.GetUpdateMask().GetPaths()
	all := !slices.ContainsFunc(valid.ItemFields[:],
		func(field string) bool { return !slices.Contains(mask, field) })
	created, err := s.catalogue.Upsert(ctx, catalogue.Change{IDs: ids, Whole: all,
		Apply: func(i int, item *store.Item) error {
			to := req.GetItems()[i]
			item.Numbers = maps.Clone(item.Numbers)
			for _, field := range written(mask, to) {
				setItemField(item, field, to)
			}
			return valid.WrittenItem(i, item)
		}})
	if mixed, ok := errors.AsType[*catalogue.MixedError](err); ok {
		return nil, valid.Embeddings(mixed.At, mixed.Error())
	}
	if err != nil {
		return nil, err
	}
	return &pb.BatchUpsertItemsResponse{CreatedCount: int32(created)}, nil
}

// written are the fields to write of an item: those of the mask, or without one those that the item
// has. An item that says nothing but that it is hidden keeps its title.
func written(mask []string, item *pb.Item) []string {
	if len(mask) > 0 {
		return mask
	}
	m := item.ProtoReflect()
	fields := m.Descriptor().Fields()
	has := slices.DeleteFunc(slices.Clone(valid.ItemFields[:]), func(field string) bool {
		return field == valid.FieldNumbers || !m.Has(fields.ByName(protoreflect.Name(field)))
	})
	for name := range item.GetNumbers() {
		has = append(has, valid.FieldNumber+name)
	}
	return has
}

// setItemField sets a field of an item to its value in a message.
func setItemField(item *store.Item, field string, to *pb.Item) {
	switch field {
	case valid.FieldCategories:
		item.Categories = distinct(to.GetCategories())
	case valid.FieldLabels:
		item.Labels = distinct(to.GetLabels())
	case valid.FieldHidden:
		item.Hidden = to.GetHidden()
	case valid.FieldFrom:
		item.From = timeOf(to.GetAvailableFrom())
	case valid.FieldUntil:
		item.Until = timeOf(to.GetAvailableUntil())
	case valid.FieldTitle:
		item.Title = to.GetTitle()
	case valid.FieldEmbedding:
		item.Embedding = to.GetEmbedding()
	case valid.FieldNumbers:
		item.Numbers = maps.Clone(to.GetNumbers())
	default:
		setNumber(item, strings.TrimPrefix(field, valid.FieldNumber), to)
	}
}

// setNumber sets one of the numbers of an item, or removes it if the message does not have it.
func setNumber(item *store.Item, name string, to *pb.Item) {
	number, there := to.GetNumbers()[name]
	if !there {
		delete(item.Numbers, name)
		return
	}
	if item.Numbers == nil {
		item.Numbers = map[string]float64{}
	}
	item.Numbers[name] = number
}

// distinct returns the names sorted, each once.
func distinct(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// GetItem implements ItemService.
func (s service) GetItem(ctx context.Context, req *pb.GetItemRequest) (*pb.GetItemResponse, error) {
	if err := valid.ItemID(req.GetItemId()); err != nil {
		return nil, err
	}
	item, found, err := s.catalogue.Get(ctx, req.GetItemId())
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, outcome.ErrItemNotFound
	}
	return &pb.GetItemResponse{Item: itemMessage(&item)}, nil
}

func itemMessage(i *store.Item) *pb.Item {
	m := &pb.Item{ItemId: i.ID, Categories: i.Categories, Labels: i.Labels,
		Hidden: proto.Bool(i.Hidden), Title: i.Title, Embedding: i.Embedding,
		Numbers: i.Numbers}
	if !i.From.IsZero() {
		m.AvailableFrom = timestamppb.New(i.From)
	}
	if !i.Until.IsZero() {
		m.AvailableUntil = timestamppb.New(i.Until)
	}
	return m
}

// errPageFull ends the reading of a page.
var errPageFull = errors.New("server: the page is full")

// ListItems implements ItemService.
func (s service) ListItems(
	ctx context.Context, req *pb.ListItemsRequest,
) (*pb.ListItemsResponse, error) {
	after, ok := readPageAfter(req.GetPageToken())
	err := valid.ListItems(req, ok)
	if err != nil {
		return nil, err
	}
	size := cmp.Or(int(min(req.GetPageSize(), valid.MaxItems)), valid.DefaultItemPage)
	r, bytes := &pb.ListItemsResponse{}, 0
	err = s.catalogue.Each(ctx, after, func(item store.Item) error {
		m := itemMessage(&item)
		bytes += messageSize(m)
		if n := len(r.Items); n > 0 && (n == size || bytes > maxItemPageBytes) {
			last := []byte(r.Items[n-1].GetItemId())
			r.NextPageToken = base64.RawURLEncoding.EncodeToString(last)
			return errPageFull
		}
		r.Items = append(r.Items, m)
		return nil
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return nil, err
	}
	return r, nil
}

// messageSize is about the encoded size of an item.
func messageSize(m *pb.Item) int {
	n := 64 + len(m.GetItemId()) + len(m.GetTitle()) + 4*len(m.GetEmbedding())
	for name := range m.GetNumbers() {
		n += 14 + len(name)
	}
	for _, names := range [][]string{m.GetCategories(), m.GetLabels()} {
		for _, name := range names {
			n += 4 + len(name)
		}
	}
	return n
}

// readPageAfter reads a token of [pageAfter].
func readPageAfter(token string) (id string, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	return string(b), err == nil && len(b) <= event.MaxIDBytes
}

// BatchDeleteItems implements ItemService.
func (s service) BatchDeleteItems(
	ctx context.Context, req *pb.BatchDeleteItemsRequest,
) (*pb.BatchDeleteItemsResponse, error) {
	if err := valid.DeleteItems(req); err != nil {
		return nil, err
	}
	deleted, err := s.catalogue.Delete(ctx, req.GetItemIds())
	if err != nil {
		return nil, err
	}
	return &pb.BatchDeleteItemsResponse{DeletedCount: int32(deleted)}, nil
}

// ListNamedFilters implements ItemService.
func (s service) ListNamedFilters(
	ctx context.Context, _ *pb.ListNamedFiltersRequest,
) (*pb.ListNamedFiltersResponse, error) {
	return s.filters.List(ctx)
}

// SaveNamedFilter implements ItemService.
func (s service) SaveNamedFilter(
	ctx context.Context, req *pb.SaveNamedFilterRequest,
) (*pb.SaveNamedFilterResponse, error) {
	if err := valid.SaveFilter(req); err != nil {
		return nil, err
	}
	version, err := s.filters.Save(ctx, req)
	if err != nil {
		return nil, err
	}
	return &pb.SaveNamedFilterResponse{Version: version}, nil
}
