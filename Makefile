# gsimc: the targets people use. `make help` lists them.

MODULE  := github.com/gsimc/gsimc
BIN     := bin/gsimc
# A clone without tags, or a source archive without git, still builds.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)

GOLANGCI_VERSION := v2.15.0
TOOLS    := $(CURDIR)/.tools/bin
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
VERSITYGW_VERSION := v1.8.0
VERSITYGW := $(TOOLS)/versitygw-$(VERSITYGW_VERSION)

# The version is stamped by -ldflags, so the build never asks git for it. The tag leaves pages of grpc out that nothing
# shows, and templates with them.
GOBUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags '$(LDFLAGS)'
GOTOOL  := go tool -modfile=internal/tools/go.mod

# What a release has, and what make cross compiles without being told: servers run on Linux.
PLATFORMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64
CROSS     ?= $(filter linux-%,$(PLATFORMS))

# The other architecture, and the packages that have files for one of the two.
OTHER_ARCH    = $(if $(filter arm64,$(shell go env GOHOSTARCH)),amd64,arm64)
ARCH_PACKAGES = $(addprefix ./,$(sort $(dir $(shell git ls-files '*_arm64.*' '*_amd64.*' ':!bench'))))

FUZZTIME  ?= 10s
SOAK      ?= 20
# What make test and test-all give to go test besides: -json for the table of promises.
TESTFLAGS ?=
BENCH      ?= .
BENCHTIME  ?= 1s
BENCHCOUNT ?= 6
IMAGE     ?= gsimc:$(VERSION)
IMAGES    ?= ghcr.io/gsimc/gsimc

.DEFAULT_GOAL := help
.PHONY: help build cross test test-all soak test-arm64 test-kernels race lint lint-tool fmt-check vet bench fuzz generate proto-check demo docker clean deploy-check spark-test clients-test clients-pack clients-build kafka-test console-test console-pictures picture mutants vuln sbom site release release-check publish reproducible \
	benchmarks bench-build bench-peers bench-serving bench-neural bench-report

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## compile bin/gsimc, static, for this machine
	$(GOBUILD) -o $(BIN) ./cmd/gsimc

cross: $(addprefix cross-,$(CROSS)) ## compile for linux/amd64 and linux/arm64 into bin/ (CROSS="darwin-arm64 ..." for others)

cross-%:
	GOOS=$(word 1,$(subst -, ,$*)) GOARCH=$(word 2,$(subst -, ,$*)) \
		$(GOBUILD) -o $(BIN)-$*$(if $(filter windows-%,$*),.exe) ./cmd/gsimc

# Most tests that run in parallel wait, so there are more of them than processors.
test: ## run each test in small: few faults, hardly any other process
	CGO_ENABLED=0 go test -short $(TESTFLAGS) -parallel 8 -timeout 10m ./...
	cd bench && CGO_ENABLED=0 go test -short $(TESTFLAGS) -timeout 10m ./...
	cd client/kafka && CGO_ENABLED=0 go test -short $(TESTFLAGS) -timeout 10m ./...

# A real Kafka is for make kafka-test.
test-all: ## run all tests whole: databases, real programs, all faults
	CGO_ENABLED=0 go test $(TESTFLAGS) -parallel 4 -timeout 60m ./...
	cd bench && CGO_ENABLED=0 go test $(TESTFLAGS) -timeout 60m ./...
	cd client/kafka && CGO_ENABLED=0 go test -short $(TESTFLAGS) -timeout 10m ./...

# test and test-all are for every change, this is for a night: see internal/test/soak and internal/test/promises.
soak: SHELL := bash -o pipefail
soak: build ## run the tests of docs/promises.md with SOAK times (default 20) the faults, and print what they injected
	pattern="$$(go run ./internal/test/promises pattern)" && export GSIMC_SOAK=$(SOAK) CGO_ENABLED=0 && { rc=0; \
		for m in . client/kafka; do go test -C $$m -json -count=1 -timeout 10h -run "$$pattern" ./... || rc=1; done; exit $$rc; } | \
		go run ./internal/test/promises report

# The packages that call kernels, and those with kernels or with results that must be the same everywhere.
KERNEL_PACKAGES  := ./internal/num/topn ./kalman ./kalman/dynamics ./model
NUMERIC_PACKAGES := ./internal/num/vec ./internal/num/gemm ./internal/num/parallel ./internal/ranking ./model/local ./spectral/... $(KERNEL_PACKAGES)
# The packages with goroutines that share memory.
CONCURRENT_PACKAGES := ./store/... ./server/... ./learn/retrain/... ./client/... ./cmd/gsimc/internal/progress/...

test-arm64: ## run the tests of the numeric packages for arm64, emulated by qemu
	@emulator=$$(command -v qemu-aarch64-static || command -v qemu-aarch64); \
	if [ -z "$$emulator" ] && [ "$$(go env GOHOSTARCH)" != arm64 ]; then \
		echo "test-arm64: SKIPPED, no emulator: apt-get install qemu-user-static"; exit 0; \
	fi; \
	GSIMC_EMULATED=$$emulator CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go test -timeout 15m $${emulator:+-exec "$$emulator"} $(NUMERIC_PACKAGES)

# The tests of the kernels themselves go through all that the processor can run; these are of those who use them. An
# environment variable that is read when a program starts does not make go test run it again, so -count=1.
test-kernels: ## run the tests of the packages with kernels for the lesser ones too (GSIMC_CPU=generic and avx2)
	@set -e; for level in generic avx2; do echo "GSIMC_CPU=$$level"; \
		GSIMC_CPU=$$level CGO_ENABLED=0 go test -count=1 -timeout 15m $(KERNEL_PACKAGES); \
	done

race: ## run the tests of the concurrent packages under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -parallel 4 -timeout 10m $(CONCURRENT_PACKAGES)
	cd client/kafka && CGO_ENABLED=1 go test -short -race -timeout 10m ./...

mutants: ## break the code in one place at a time and check that a test notices (MUTANTS="name ..." for some)
	go run ./internal/test/mutants $(MUTANTS)

lint: fmt-check vet lint-tool ## gofmt, go vet and golangci-lint
	$(GOLANGCI) run ./...
	cd bench && $(GOLANGCI) run -c ../.golangci.yml ./...
	cd client/kafka && $(GOLANGCI) run -c ../../.golangci.yml ./...
	cd client/mcp && $(GOLANGCI) run -c ../../.golangci.yml ./...
	cd client/s3 && $(GOLANGCI) run -c ../../.golangci.yml ./...

lint-tool: $(GOLANGCI) ## build the pinned golangci-lint into .tools/bin

# Built from the module so that it is compiled by the same Go as the code that it reads.
$(GOLANGCI):
	CGO_ENABLED=0 GOBIN=$(TOOLS) GOFLAGS=-buildvcs=false \
		go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(TOOLS)/golangci-lint $@

fmt-check: ## fail when a file is not gofmt'ed
	@out=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$out" ]; then echo "not gofmt'ed (run gofmt -w):"; echo "$$out"; exit 1; fi

# golangci-lint vets the program and bench for this machine, and what is not of an architecture is the same on the other.
vet: ## go vet of what depends on the architecture for the other one, and of the tools
	GOARCH=$(OTHER_ARCH) CGO_ENABLED=0 go vet $(ARCH_PACKAGES)
	cd internal/tools && CGO_ENABLED=0 go vet ./...

# The packages of each language come from its registry; what cannot be had is skipped, and the test says so.
clients-test: build ## run the clients in Python, Java, TypeScript and curl, and the tests of the packages, against a real server
	GSIMC_CLIENTS=1 CGO_ENABLED=0 go test -v -count=1 -timeout 20m -run TestClients ./cmd/gsimc
	cd client/mcp && CGO_ENABLED=0 go test -count=1 -timeout 10m ./...
	$(MAKE) $(VERSITYGW) || echo "no Versity S3 Gateway could be built: gsimc-s3 is not tried" >&2
	cd client/s3 && GSIMC_VERSITYGW=$(VERSITYGW) CGO_ENABLED=0 go test -v -count=1 -timeout 10m ./...

# A store for the tests of gsimc-s3, built outside of all modules so that none of them needs what it needs.
$(VERSITYGW):
	CGO_ENABLED=0 GOBIN=$(TOOLS) GOFLAGS=-buildvcs=false \
		go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)
	mv $(TOOLS)/versitygw $@

# Of the versions in client/python/pyproject.toml, client/typescript/package.json and client/java/pom.xml.
clients-pack: ## make the packages of the clients in Python, TypeScript and Java in bin/clients, for make release
	rm -rf bin/clients
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) client/pack.sh bin/clients python typescript java

# Modules of their own, so that the server has none of what only these need.
clients-build: ## compile bin/gsimc-kafka, which takes events from a topic of Kafka, bin/gsimc-mcp, for agents, and bin/gsimc-s3, for object stores
	cd client/kafka && $(GOBUILD) -o ../../bin/gsimc-kafka .
	cd client/mcp && $(GOBUILD) -o ../../bin/gsimc-mcp .
	cd client/s3 && $(GOBUILD) -o ../../bin/gsimc-s3 .

# gsimc-kafka locks files as Unix does.
$(PLATFORMS:%=clients-%): clients-%:
	export GOOS=$(word 1,$(subst -, ,$*)) GOARCH=$(word 2,$(subst -, ,$*)); \
	for m in $(if $(filter windows-%,$*),,kafka) mcp s3; do \
		(cd client/$$m && $(GOBUILD) -o ../../bin/gsimc-$$m-$*$(if $(filter windows-%,$*),.exe) .) || exit 1; done

# A real broker comes from the registry of Maven into bin/kafka-lib; without Java, Maven or the registry its tests skip.
# With GSIMC_SOAK it is 500,000 records and 40 kills.
kafka-test: build clients-build ## test gsimc-kafka: kills of it and of a real broker (needs Java 17, Maven)
	cd client/kafka && CGO_ENABLED=0 go vet ./... && CGO_ENABLED=0 go test -count=1 -timeout 30m ./...

# Spark and numpy come from the registry of Python; without python3, Java or the registry it skips.
spark-test: ## train on Spark (two executors) and compare the model with that of gsimc train
	GSIMC_SPARK=1 CGO_ENABLED=0 go test -v -count=1 -timeout 30m -run TestSpark ./cmd/gsimc

# A module of its own: the browser and what drives it are no matter of the program.
console-test: build ## use the console by a real browser (needs Chromium; npm for axe-core)
	cd server/internal/console/browser && CGO_ENABLED=0 go vet ./... && CGO_ENABLED=0 go test -v -count=1 -timeout 5m ./...

console-pictures: build ## photograph the console for docs/console/, with synthetic data
	mkdir -p docs/console
	cd server/internal/console/browser && GSIMC_PICTURES=../../../../docs/console CGO_ENABLED=0 go test -v -count=1 -run "Accessibility|Newcomer" ./...

# The folder is a module of its own: it compiles the packages of Prometheus, Helm and Kubernetes.
deploy-check: ## check the manifests: the chart, the unit, the alerts and the configuration of Prometheus
	cd deploy && CGO_ENABLED=0 go test ./...

bench: ## run the Go benchmarks, for benchstat (BENCH=regexp, BENCHTIME=1s, BENCHCOUNT=6)
	CGO_ENABLED=0 go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -count $(BENCHCOUNT) -timeout 10h -benchmem ./...

# QUICK=1 shows in a few minutes that all of it runs, and keeps its figures out of docs/.
RESULTS    := bench/results
REPORT     := docs
PEERFLAGS   = --gsimc bin/gsimc --data ../shared/data --cache bench/.cache --venv bench/.cache/python --out $(RESULTS)
SWEEPS     := n k history clients users
SWEEPFLAGS := --repetitions 3 --duration 1s
ifdef QUICK
RESULTS    := bin/bench-quick/results
REPORT     := bin/bench-quick
PEERFLAGS  += --quick --rounds 2
LOADFLAGS  := --repetitions 1 --duration 300ms --warmup 100ms --users 1000
SWEEPFLAGS := $(LOADFLAGS) --at 1000,2000
SWEEPS     := n
NEURALFLAGS := --epochs 2
NEURALOUT   := bin/bench-quick
endif

benchmarks: bench-peers bench-serving bench-report ## measure everything beside its peers and write docs/benchmarks.md (QUICK=1 to try)

bench-build: build
	cd bench && $(GOBUILD) -o ../bin/ ./load ./peers ./report

bench-peers: bench-build ## the part of make benchmarks with faiss, BLAS, ARPACK, redis and others
	bin/peers $(PEERFLAGS) all
	GSIMC_CPU=avx2 bin/peers $(PEERFLAGS) --no-peers --suffix -avx2 --only Gaussian --queries 1000 topn

bench-serving: bench-build ## the part of make benchmarks with a real server
	mkdir -p $(RESULTS)
	bin/load $(LOADFLAGS) --json $(RESULTS)/serving.json
	bin/load --filter $(LOADFLAGS) --json $(RESULTS)/filters.json
	@set -e; for axis in $(SWEEPS); do \
		bin/load --sweep $$axis $(SWEEPFLAGS) --json $(RESULTS)/sweep-$$axis.json; \
	done

# torch: apt-get install python3-torch libopenblas0-pthread, or pip install torch.
NEURALDATA   ?= movietweetings ml-latest-small
NEURALPYTHON ?= python3
NEURALOUT    ?= bin/bench-neural
bench-neural: build ## train neural systems beside gsimc, for the tables of docs/accuracy.md (needs torch)
	$(NEURALPYTHON) -m unittest discover bench/neural
	mkdir -p $(NEURALOUT)
	@set -e; export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1; for data in $(NEURALDATA); do \
		echo "$$data:"; $(NEURALPYTHON) bench/neural/compare.py --gsimc bin/gsimc $(NEURALFLAGS) \
			--data ../shared/data/$$data/interactions.csv.gz --out $(NEURALOUT)/$$data.json; \
	done

bench-report: bench-build ## write docs/benchmarks.md and its plots from bench/results
	bin/report --results $(RESULTS) --out $(REPORT)

# The picture of README.md. Its data set has the MIT licence; other files of events and titles do as well.
PICTUREDATA  ?= ../shared/data/movietweetings
PICTURELIKES ?= 0114709,0120363,0068646,0110912
PICTUREFROM  ?= Films of MovieTweetings 2013 (Simon Dooms, MIT licence).

picture: build ## draw docs/picture.svg from a real server (PICTUREDATA=folder, PICTURELIKES=ids)
	cd bench && $(GOBUILD) -o ../bin/picture ./picture
	bin/picture --gsimc $(BIN) --data $(PICTUREDATA)/interactions.csv.gz --items $(PICTUREDATA)/items.csv.gz \
		--likes $(PICTURELIKES) --caption '$(PICTUREFROM) Each list is an answer of a running gsimc serve.' --out docs/picture.svg

# The time to make inputs smaller is bounded: by default it takes all of FUZZTIME where an input is large.
fuzz: SHELL := bash -o pipefail
fuzz: ## run each fuzz target for FUZZTIME (default 10s) and print the number of executions
	@set -e; total=0; pkgs=$$(for m in . client/kafka; do go -C $$m list -f '{{.Dir}}' ./... || exit 1; done); for pkg in $$pkgs; do \
		for target in $$(go -C $$pkg test -list '^Fuzz' . | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$target"; log=$$(mktemp); \
			CGO_ENABLED=0 go -C $$pkg test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x . | tee $$log; \
			n=$$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' $$log | tail -1); rm -f $$log; total=$$((total + $${n:-0})); \
		done; \
	done; echo "$$total executions"

generate: ## regenerate the protocol code, that of the JSON side too
	$(GOTOOL) buf generate

proto-check: ## lint the protocol, compare it with the last tag, check that the generated code is current
	$(GOTOOL) buf lint
	@tag=$$(git describe --tags --abbrev=0 2>/dev/null || true); \
	if [ -n "$$tag" ]; then $(GOTOOL) buf breaking --against ".git#tag=$$tag"; \
	else echo "buf breaking: no tag to compare with yet"; fi
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && $(GOTOOL) buf generate -o "$$dir" && \
	for f in $$(cd "$$dir" && find . -type f); do \
		cmp "$$dir/$$f" "$$f" || { echo "$$f is not what the protocol says: run make generate"; exit 1; }; \
	done

# Without vuln.go.dev the database is that of the Go module proxy. What the standard library has depends on the Go of
# this machine, and fails nothing.
vuln: ## look for known vulnerabilities that the code reaches; says so if their database cannot be had
	@for m in . client/kafka client/mcp client/s3; do rc=0; out=$$($(GOTOOL) govulncheck -C $$m ./... 2>&1) || rc=$$?; \
	case "$$out" in *"fetching vulnerabilities"*) \
		db=$$(cd / && go mod download -json golang.org/x/vulndb@latest | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'); \
		[ -n "$$db" ] || { echo "vuln: NOT checked, the database cannot be reached"; exit 0; }; \
		echo "vuln: by $$db"; rc=0; out=$$($(GOTOOL) govulncheck -C $$m -db "file://$$db/data/osv" ./... 2>&1) || rc=$$?;; \
	esac; echo "$$out" | grep -v '^      #'; \
	case "$$out" in *"vulnerabilities from the Go standard library."*|*"vulnerability from the Go standard library."*) \
		echo "vuln: the dependencies have none; update Go"; rc=0;; esac; [ $$rc = 0 ] || exit $$rc; done

sbom: build clients-build ## write bin/gsimc.cdx.json: the modules in each program, with checksums and licences
	go -C internal/tools run ./sbom $(CURDIR)/$(BIN).cdx.json $(addprefix $(CURDIR)/bin/,gsimc gsimc-kafka gsimc-mcp gsimc-s3)

site: ## make bin/site/: the documentation as pages with a search, links checked; open index.html
	cd internal/tools && CGO_ENABLED=0 go test ./site && go run ./site --out $(CURDIR)/bin/site

# A tag is what is released. Without one, SNAPSHOT=1 makes the same files with a version before all others.
ifdef SNAPSHOT
RELEASE := v0.0.0-snapshot.$(shell git rev-list --count HEAD 2>/dev/null || echo 0)$(if $(shell \
	git status --porcelain --untracked-files=no 2>/dev/null),.dirty)
else
RELEASE  = $(shell git describe --tags --exact-match --dirty --match 'v*.*.*' 2>/dev/null)
endif

release: ## make dist/: archives, packages, image, chart, pages, checksums, provenance (SNAPSHOT=1 without a tag)
	@case "$(RELEASE)" in v*.*.*-dirty|"") echo "release: HEAD has no tag vX.Y.Z, or files were changed"; exit 1;; esac
	$(MAKE) cross $(PLATFORMS:%=clients-%) CROSS="$(PLATFORMS)" VERSION=$(RELEASE)
	go -C internal/tools run ./release --bin $(CURDIR)/bin --out $(CURDIR)/dist --version $(RELEASE) \
		--commit $$(git rev-parse HEAD) --time $$(git log -1 --format=%ct) --platforms "$(PLATFORMS)"

release-check: ## make a release of this machine twice, compare, install, upgrade and remove it, start its image, read its chart
	cd deploy && GSIMC_RELEASE=1 CGO_ENABLED=0 go test -count=1 -v ./release

# The two tools come with the machines of the workflow; each takes its credential from the environment.
# Packages of ghcr.io begin private: after the first release make gsimc and charts/gsimc public, once.
publish: ## publish dist/ as the release of its tag, its image and chart (IMAGES=registry/name; after make release)
	skopeo copy --all oci-archive:dist/gsimc_$(RELEASE:v%=%)_image.oci.tar docker://$(IMAGES):$(RELEASE:v%=%)
	skopeo copy oci-archive:dist/gsimc_$(RELEASE:v%=%)_chart.oci.tar \
		docker://$(dir $(IMAGES))charts/$(notdir $(IMAGES)):$(RELEASE:v%=%)
	gh release create $(RELEASE) --verify-tag dist/*

reproducible: ## build twice, in two folders, and compare the programs
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && for copy in a b/longer/path; do \
		mkdir -p "$$dir/$$copy" && git archive HEAD | tar -x -C "$$dir/$$copy" && \
		(cd "$$dir/$$copy" && $(GOBUILD) -o "$$dir/$${copy%%/*}.bin" ./cmd/gsimc) || exit 1; done && \
	cmp "$$dir/a.bin" "$$dir/b.bin" && sha256sum < "$$dir/a.bin"

demo: build ## generate, train, serve, observe, recommend: the whole path in seconds
	$(BIN) demo

docker: ## build the container image
	docker build --build-arg VERSION=$(VERSION) -t $(IMAGE) .

clean: ## remove what the other targets made
	rm -rf bin dist .tools
