package archtest

// rooms is the house from the ground up: a folder, and the rooms that its packages may import. They
// stand above it in the table. A package belongs to the room with the longest path.
const rooms = `
# The protocol, and what is the same everywhere.
api:
internal/fault:
internal/near:
internal/cmdline:
internal/ranking:
internal/file:
internal/chart:
internal/event: internal/fault
internal/num: internal/ranking
internal/verdict:
internal/wire: api internal/ranking internal/verdict

# The mathematics.
spectral: internal/fault internal/num
kalman: internal/fault internal/num
model: internal/event internal/fault internal/file internal/num internal/ranking spectral kalman

# Histories. A back end knows no other.
store: internal/event
store/internal/tcp:
store/internal/clock:
store/internal/calls: store
store/internal/plan: internal/num store
store/memory: store store/internal/plan
store/postgres: store store/internal/calls store/internal/clock store/internal/plan store/internal/tcp
store/valkey: store store/internal/calls store/internal/clock store/internal/plan store/internal/tcp
store/pebble/internal/smallfile:
store/pebble/internal/table:
store/pebble/internal/mend:
store/pebble/internal/row: store
store/pebble/internal/manifest: store store/pebble/internal/smallfile
store/pebble/internal/mark: store store/pebble/internal/smallfile
store/pebble/internal/engine: store store/pebble/internal/mark store/pebble/internal/smallfile
	store/pebble/internal/table
store/pebble/internal/recent: internal/num store store/pebble/internal/row
store/pebble: internal/num store store/internal/calls store/internal/plan
	store/pebble/internal/engine store/pebble/internal/manifest store/pebble/internal/mark
	store/pebble/internal/mend store/pebble/internal/recent store/pebble/internal/row
	store/pebble/internal/smallfile store/pebble/internal/table

# Learning.
learn/dataset: internal/event internal/fault internal/file internal/num
learn/train: internal/event internal/fault internal/file internal/num internal/ranking spectral
	kalman model learn/dataset
learn/evaluate: internal/fault internal/num internal/ranking spectral kalman model learn/dataset
	learn/train
learn/retrain: internal/fault internal/file model store learn/train

client: api internal/fault internal/file
client/internal/program: internal/cmdline internal/fault

# The parts of the server. No service (recommend, ingest, users, operate, items) knows another.
server/internal/background:
server/internal/console:
server/internal/metric:
server/internal/admission: server/internal/metric
server/internal/origin:
server/internal/socket:
server/internal/inprocess:
server/internal/diverse: internal/ranking
server/internal/watched: internal/fault
server/internal/catalogue: internal/event internal/num internal/ranking model store
server/internal/session: store
server/internal/tenure: store
server/internal/tracing: store
server/internal/doors: internal/fault server/internal/metric server/internal/watched
server/internal/valid: api internal/event internal/wire store
server/internal/stage: server/internal/admission server/internal/metric server/internal/tracing
server/internal/filters: api internal/fault internal/file internal/near server/internal/catalogue
	server/internal/metric server/internal/valid server/internal/watched
server/internal/models: api internal/ranking model server/internal/catalogue server/internal/metric
server/internal/state: internal/event internal/num kalman model store server/internal/metric
server/internal/passes: internal/ranking model server/internal/metric
server/internal/credit: api internal/event store server/internal/metric server/internal/session
	internal/verdict
server/internal/arms: internal/fault model server/internal/catalogue server/internal/metric
	server/internal/models server/internal/stage
server/internal/coldstart: internal/file model store server/internal/background server/internal/metric
	server/internal/models server/internal/state server/internal/tenure
server/internal/popularity: model store server/internal/background server/internal/models
	server/internal/state
server/internal/quality: internal/ranking model store server/internal/background
	server/internal/catalogue server/internal/metric server/internal/models server/internal/state
server/internal/gauges: store server/internal/arms server/internal/catalogue
	server/internal/models server/internal/state
server/internal/follow: model store server/internal/coldstart server/internal/state
server/internal/retention: internal/event store server/internal/background
	server/internal/follow server/internal/metric server/internal/state
server/internal/outcome: internal/wire store server/internal/admission server/internal/catalogue
	server/internal/doors server/internal/filters server/internal/models server/internal/session
	server/internal/valid
server/internal/calls: api internal/wire store server/internal/admission
	server/internal/background server/internal/doors
	server/internal/metric server/internal/outcome server/internal/stage server/internal/tracing
server/internal/httpjson: api internal/event internal/near server/internal/admission
	server/internal/outcome server/internal/valid
server/internal/recommend: api internal/ranking internal/wire kalman model store
	server/internal/arms server/internal/catalogue server/internal/credit server/internal/diverse
	server/internal/filters server/internal/metric server/internal/models server/internal/outcome
	server/internal/passes server/internal/session server/internal/stage server/internal/state
	server/internal/valid
server/internal/ingest: api internal/event internal/wire store server/internal/admission
	server/internal/arms server/internal/background server/internal/credit server/internal/follow
	server/internal/metric server/internal/outcome server/internal/session server/internal/stage
	server/internal/state server/internal/valid
server/internal/users: api model store server/internal/admission server/internal/arms
	server/internal/follow server/internal/outcome server/internal/session server/internal/state
	server/internal/valid
server/internal/items: api internal/event model store server/internal/catalogue
	server/internal/filters server/internal/models server/internal/outcome server/internal/valid
server/internal/operate: api internal/wire store server/internal/arms server/internal/calls
	server/internal/catalogue server/internal/credit server/internal/models
	server/internal/outcome server/internal/valid
server: api internal/event internal/fault internal/file internal/wire model store
	server/internal/admission server/internal/arms server/internal/background server/internal/calls
	server/internal/catalogue server/internal/coldstart server/internal/console server/internal/credit server/internal/doors server/internal/filters
	server/internal/follow server/internal/gauges server/internal/httpjson server/internal/ingest
	server/internal/inprocess server/internal/items server/internal/socket
	server/internal/metric server/internal/models server/internal/operate server/internal/origin
	server/internal/passes server/internal/popularity server/internal/quality
	server/internal/recommend server/internal/retention server/internal/stage server/internal/state
	server/internal/tracing
	server/internal/users server/internal/valid server/internal/watched

# The groups of commands. None knows another; standalone does what others do.
cmd/gsimc/internal/child:
cmd/gsimc/internal/progress:
cmd/gsimc/internal/cli: api internal/cmdline internal/fault internal/file internal/near
	internal/num model store/pebble learn/dataset client cmd/gsimc/internal/progress
cmd/gsimc/internal/stores: store store/memory store/postgres store/valkey store/pebble
	cmd/gsimc/internal/cli
cmd/gsimc/internal/data: internal/chart internal/event internal/fault internal/file internal/num
	kalman model spectral store learn/dataset learn/train learn/evaluate cmd/gsimc/internal/cli
	cmd/gsimc/internal/progress cmd/gsimc/internal/stores
cmd/gsimc/internal/call: api learn/dataset client cmd/gsimc/internal/cli internal/event
	internal/fault internal/file internal/wire cmd/gsimc/internal/progress
cmd/gsimc/internal/demo: api learn/dataset learn/train cmd/gsimc/internal/child
	cmd/gsimc/internal/cli
cmd/gsimc/internal/export: internal/file store cmd/gsimc/internal/cli
	cmd/gsimc/internal/progress cmd/gsimc/internal/stores
cmd/gsimc/internal/repair: store/pebble cmd/gsimc/internal/cli cmd/gsimc/internal/progress
cmd/gsimc/internal/migrate: store store/pebble cmd/gsimc/internal/cli
	cmd/gsimc/internal/progress cmd/gsimc/internal/stores
cmd/gsimc/internal/look: internal/chart internal/event internal/fault spectral kalman model
	learn/dataset learn/train cmd/gsimc/internal/cli cmd/gsimc/internal/data
	cmd/gsimc/internal/progress
cmd/gsimc/internal/train: internal/fault internal/file spectral kalman model
	learn/dataset learn/train learn/evaluate cmd/gsimc/internal/cli cmd/gsimc/internal/data
	cmd/gsimc/internal/progress
cmd/gsimc/internal/evaluate: internal/chart internal/near spectral kalman model learn/dataset learn/train
	learn/evaluate cmd/gsimc/internal/cli cmd/gsimc/internal/data cmd/gsimc/internal/progress
cmd/gsimc/internal/standalone: learn/dataset cmd/gsimc/internal/cli cmd/gsimc/internal/look
cmd/gsimc/internal/serve: internal/event model store store/pebble learn/retrain server
	cmd/gsimc/internal/cli cmd/gsimc/internal/stores
cmd/gsimc: internal/cmdline cmd/gsimc/internal/cli cmd/gsimc/internal/data cmd/gsimc/internal/call
	cmd/gsimc/internal/demo cmd/gsimc/internal/repair cmd/gsimc/internal/migrate
	cmd/gsimc/internal/export
	cmd/gsimc/internal/look cmd/gsimc/internal/train cmd/gsimc/internal/evaluate
	cmd/gsimc/internal/standalone cmd/gsimc/internal/serve

# Helpers of tests come last, so that nothing above may import them.
docs:
internal/test/archtest:
internal/test/check:
internal/test/certtest: internal/test/check
internal/test/filetest:
internal/test/learntest: learn/dataset internal/test/check
internal/test/h2test:
internal/test/peak:
internal/test/mutants:
internal/test/soak:
internal/test/issuertest: internal/test/check
internal/test/nettest: internal/test/check
internal/test/proctest: internal/test/check
internal/test/enginetest: internal/test/check internal/test/proctest internal/test/soak
internal/test/promises: internal/test/soak
store/storetest: store
learn/train/spectrumtest: internal/file internal/num kalman model learn/dataset learn/train
server/internal/servertest: internal/test/check spectral kalman model store
`

// noCommands are the packages below cmd that are no commands.
var noCommands = []string{
	"cmd/gsimc/internal/child", "cmd/gsimc/internal/progress", "cmd/gsimc/internal/cli",
}

// libraries are those from outside, and the packages of Go's own library that not every room may
// have: a library, and the folders whose packages may import it.
const libraries = `
log/slog: client learn/retrain server cmd
net: client server/internal/admission server/internal/origin server/internal/socket
	store/internal/tcp store/postgres
	store/valkey server cmd internal/test
net/http: server internal/test/issuertest
os/exec: learn/retrain cmd internal/test

# Messages and calls.
buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go: api
google.golang.org/genproto: api internal/wire server cmd/gsimc/internal/call
google.golang.org/protobuf: api internal/wire client server cmd internal/test/check
google.golang.org/grpc: api internal/wire client server cmd internal/test/nettest
github.com/grpc-ecosystem/grpc-gateway/v2: server/internal/httpjson
github.com/klauspost/compress: learn/dataset
github.com/rs/cors: server/internal/origin
github.com/go-jose/go-jose/v4: server/internal/doors internal/test/issuertest

# What is watched.
github.com/prometheus/client_golang: server
github.com/prometheus/client_model: server/internal/console
github.com/prometheus/common: server/internal/console
github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus: server/internal/calls
go.opentelemetry.io/contrib: server/internal/tracing
go.opentelemetry.io/otel: server cmd/gsimc/internal/serve
go.opentelemetry.io/otel/exporters: cmd/gsimc/internal/serve
go.opentelemetry.io/otel/sdk: cmd/gsimc/internal/serve
github.com/go-logr/logr: cmd/gsimc/internal/serve

# Engines and files.
github.com/cockroachdb/pebble/v2: store/pebble
github.com/jackc/pgx/v5: store/postgres internal/test/enginetest
github.com/redis/rueidis: store/valkey
github.com/parquet-go/parquet-go: cmd/gsimc/internal/call cmd/gsimc/internal/export
	learn/dataset/internal/rows
go.yaml.in/yaml/v3: internal/file/yamltext server/internal/filters cmd/gsimc/internal/cli

# Arithmetic and collections.
gonum.org/v1/gonum: internal/num spectral model learn/evaluate/internal
github.com/RoaringBitmap/roaring/v2: server/internal/catalogue
github.com/maypok86/otter/v2: server/internal/state
golang.org/x/time: server/internal/doors server/internal/ingest

# Processors, terminals and flags.
golang.org/x/sys: internal/num internal/test kalman model learn/retrain store/internal/tcp cmd
golang.org/x/term: cmd
github.com/alecthomas/kong: internal/cmdline client/internal/program cmd
github.com/KimMachineGun/automemlimit: cmd/gsimc/internal/cli
github.com/pbnjay/memory: cmd/gsimc/internal/cli
github.com/vbauerster/mpb/v8: cmd/gsimc/internal/progress

# Tests.
github.com/google/go-cmp: store/storetest internal/test/check
golang.org/x/net: internal/test/h2test
`
