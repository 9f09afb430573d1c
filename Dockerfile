# Two stages: the Go image compiles a static binary, the final image holds nothing but that binary. It runs as user
# 65532; there is no shell in it. The server opens no connections but to a
# shared store, whose authorities come with its address; so there are no certificates in the image.
FROM --platform=$BUILDPLATFORM docker.io/library/golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=unknown
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags "-s -w -X main.version=$VERSION" -o /out/gsimc ./cmd/gsimc \
    && mkdir -p /out/state

FROM scratch
ARG VERSION=unknown
LABEL org.opencontainers.image.title="gsimc" \
      org.opencontainers.image.description="Online recommendations by graph signal sampling, over gRPC" \
      org.opencontainers.image.source="https://github.com/gsimc/gsimc" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /out/gsimc /usr/local/bin/gsimc
# The server refuses 0.0.0.0 without TLS and tokens: give it both, or GSIMC_INSECURE=true (docs/operations.md, Access).
# A named volume mounted here inherits the owner, so that the process may write to it.
COPY --from=build --chown=65532:65532 /out/state /var/lib/gsimc
USER 65532:65532
# The default of --data-dir, ./state, is in this folder.
WORKDIR /var/lib/gsimc
ENV GSIMC_MODEL=/models/model.gsimc \
    GSIMC_LISTEN=0.0.0.0:50051 \
    GSIMC_OPS_LISTEN=0.0.0.0:9090
EXPOSE 50051 9090
STOPSIGNAL SIGTERM
# Kubernetes probes by itself: grpc.health.v1 on 50051 or /readyz on 9090. With TLS, set GSIMC_TLS_CA for this one.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["/usr/local/bin/gsimc", "healthcheck", "--timeout", "2s"]
ENTRYPOINT ["/usr/local/bin/gsimc"]
CMD ["serve"]
