package cli

import (
	"strings"
	"unicode"
)

// flagOf is the one table from fields of libraries to flags. It has the fields that are spelled in
// another way than their flags: MinItemEvents is --min-item-events without an entry here.
var flagOf = map[string]string{
	"Arms":              "arm",
	"EventWeights":      "event-weight",
	"Every":             "retrain-every",
	"JSONListen":        "json-listen",
	"JSONOrigins":       "json-origin",
	"MaxCatalogueBytes": "max-catalogue-size",
	"MaxRecvBytes":      "max-recv-size",
	"MaxSendBytes":      "max-send-size",
	"StateCacheBytes":   "state-cache",
	"TLSCA":             "tls-ca",
	"Token":             "client-token-file",
	"TLS":               "tls",
	"TLSCert":           "tls-cert",
	"TLSKey":            "tls-key",
	"TLSClientCA":       "tls-client-ca",
	"CacheBytes":        "store-cache",
}

// flagName returns the name of the flag that may set a field: by the table, or else by its
// spelling. Of a path such as Graph.Window the last element counts.
func flagName(field string) string {
	field = field[strings.LastIndexByte(field, '.')+1:]
	if name, ok := flagOf[field]; ok {
		return name
	}
	var name strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			name.WriteByte('-')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	return name.String()
}
