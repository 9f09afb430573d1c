package cli

import (
	"strings"

	"github.com/gsimc/gsimc/client"
)

// flagOf is the one table from fields of libraries to flags. It has the fields that are spelled in
// another way than their flags: MinItemEvents is --min-item-events without an entry here.
var flagOf = map[string]string{
	"Arms":              "arm",
	"EventWeights":      "event-weight",
	"Every":             "retrain-every",
	"JSONOrigins":       "json-origin",
	"MaxCatalogueBytes": "max-catalogue-size",
	"MaxRecvBytes":      "max-recv-size",
	"MaxSendBytes":      "max-send-size",
	"StateCacheBytes":   "state-cache",
	"CacheBytes":        "store-cache",
}

// flagName returns the name of the flag that may set a field: by the table, or else by its
// spelling. Of a path such as Graph.Window the last element counts.
func flagName(field string) string {
	field = field[strings.LastIndexByte(field, '.')+1:]
	if name, ok := flagOf[field]; ok {
		return name
	}
	return strings.TrimPrefix(client.FlagOf(field), "--")
}
