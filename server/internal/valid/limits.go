package valid

import (
	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/store"
)

// The bounds of the rules, in elements, bytes (…Bytes) and numbers; those of wire are in [Limits].
const (
	MaxEventIDBytes  = 64
	MaxBatch         = 1000
	MaxHistory       = 1000
	maxRetract       = 1000
	maxChanged       = 1000
	MaxFilterIDs     = 10_000
	maxSeenTypes     = 50
	defaultPageSize  = 10
	MaxPageSize      = 1000
	maxExplain       = 50
	maxExplainedPage = 100
	maxScored        = 1000
	maxSubjects      = 1000
	maxRows          = 10
	maxPageItems     = 1000
	maxRowName       = 64
	maxBatchItems    = 100_000
	maxExploration   = 100
	maxFaults        = 20 // field violations reported for one request
	// MaxItems bounds a call about items, and a page of them.
	MaxItems        = 1000
	DefaultItemPage = 100
	MaxFound        = 100 // items of a search
	maxItemNames    = store.MaxItemNames
	maxFilterNames  = 100
	maxNamedFilters = 10
	maxEntryBytes   = 256 << 10 // of a filter in the file of a server
	maxVersionBytes = 64        // of that file
	maxRanges       = 20
	maxAnyOf        = 100    // numbers of a range
	minRadiusKm     = .001   // a meter
	maxRadiusKm     = 20_100 // half around the Earth, and a little more
	maxBoosts       = 10
	maxBoostName    = 64
	maxWeight       = 100
	// of full calls, in tenths, as [wire.Limits] counts them
	maxNamesTogether   = MaxItems * maxItemNames / 10
	maxNumbersTogether = MaxItems * event.MaxNumbers / 10

	maxPins    = 100
	maxDiverse = 100 // items of a diverse list
	maxShares  = 5
	maxOfKind  = 1000
	maxArms    = 7 // beside main

	// maxRecommendationID is longer than any id that a server makes today.
	maxRecommendationID = 256
)

// Limits bound the elements of repeated fields, for the decoder.
var Limits = wire.Limits{
	"gsimc.v1.BatchObserveRequest.events":         MaxBatch,
	"gsimc.v1.StreamObserveRequest.events":        MaxBatch,
	"gsimc.v1.InlineHistory.entries":              MaxHistory,
	"gsimc.v1.ItemFilter.allow_item_ids":          MaxFilterIDs,
	"gsimc.v1.ItemFilter.deny_item_ids":           MaxFilterIDs,
	"gsimc.v1.ItemFilter.any_categories":          maxFilterNames,
	"gsimc.v1.ItemFilter.all_categories":          maxFilterNames,
	"gsimc.v1.ItemFilter.no_categories":           maxFilterNames,
	"gsimc.v1.ItemFilter.any_labels":              maxFilterNames,
	"gsimc.v1.ItemFilter.all_labels":              maxFilterNames,
	"gsimc.v1.ItemFilter.no_labels":               maxFilterNames,
	"gsimc.v1.ItemFilter.named_filters":           maxNamedFilters,
	"gsimc.v1.ItemFilter.ranges":                  maxRanges,
	"gsimc.v1.RecommendRequest.pinned":            maxPins,
	"gsimc.v1.RecommendRequest.named_boosts":      maxBoosts,
	"gsimc.v1.RecommendRequest.boosts":            maxBoosts,
	"gsimc.v1.BatchRecommendRequest.named_boosts": maxBoosts,
	"gsimc.v1.BatchRecommendRequest.boosts":       maxBoosts,
	"gsimc.v1.RecommendPageRequest.rows":          maxRows,
	"gsimc.v1.PageRow.named_boosts":               maxBoosts,
	"gsimc.v1.PageRow.boosts":                     maxBoosts,
	"gsimc.v1.ScoreItemsRequest.named_boosts":     maxBoosts,
	"gsimc.v1.ScoreItemsRequest.boosts":           maxBoosts,
	"gsimc.v1.Diversity.shares":                   maxShares,
	"gsimc.v1.SeenPolicy.event_types":             maxSeenTypes,
	"gsimc.v1.BatchUpsertItemsRequest.items":      MaxItems,
	"gsimc.v1.Item.categories":                    maxNamesTogether,
	"gsimc.v1.Item.labels":                        maxNamesTogether,
	"gsimc.v1.Item.numbers":                       maxNumbersTogether,
	"gsimc.v1.BatchDeleteItemsRequest.item_ids":   MaxItems,
	"gsimc.v1.BatchGetItemsRequest.item_ids":      MaxFound,
	"google.protobuf.FieldMask.paths":             numItemFields + event.MaxNumberNames,
	"gsimc.v1.ScoreItemsRequest.item_ids":         maxScored,
	"gsimc.v1.BatchRecommendRequest.subjects":     maxSubjects,
	"gsimc.v1.BatchGetChangesRequest.users":       maxChanged,
	"gsimc.v1.RetractEventsRequest.event_ids":     maxRetract,
	"gsimc.v1.RetractEventsRequest.item_ids":      maxRetract,
	"gsimc.v1.SetTrafficRequest.shares":           maxArms,
}
