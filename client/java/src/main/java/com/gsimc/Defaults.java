package com.gsimc;

import com.gsimc.v1.EventServiceGrpc;
import com.gsimc.v1.RecommenderServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What each call gets: a deadline if it has none, the token, and the address in the error of a
 * server that is UNAVAILABLE. The first two may be null.
 */
record Defaults(Duration deadline, Bearer bearer, String address) implements ClientInterceptor {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /** Which calls are repeated, as gRPC takes it: what may run twice, as in the client in Go. */
  static Map<String, ?> serviceConfig(int attempts) {
    if (attempts <= 1) {
      return Map.of();
    }
    return Map.of("methodConfig", List.of(Map.of(
        "name", List.of(Map.of("service", RecommenderServiceGrpc.SERVICE_NAME),
            Map.of("service", EventServiceGrpc.SERVICE_NAME, "method", "Observe")),
        "retryPolicy", Map.of("maxAttempts", (double) attempts, "initialBackoff", "0.05s",
            "maxBackoff", "0.5s", "backoffMultiplier", 2.0,
            "retryableStatusCodes", List.of("UNAVAILABLE")))));
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    if (deadline != null && options.getDeadline() == null
        && method.getType() == MethodDescriptor.MethodType.UNARY) {
      options = options.withDeadlineAfter(deadline.toNanos(), TimeUnit.NANOSECONDS);
    }
    return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
      @Override
      public void start(Listener<A> listener, Metadata headers) {
        if (bearer != null) {
          headers.put(AUTHORIZATION, bearer.header());
        }
        super.start(new SimpleForwardingClientCallListener<>(listener) {
          @Override
          public void onClose(Status status, Metadata trailers) {
            super.onClose(named(status), trailers);
          }
        }, headers);
      }
    };
  }

  /** A status as it is, or with the server that is UNAVAILABLE and the cause, if it has one. */
  private Status named(Status status) {
    if (status.getCode() != Status.Code.UNAVAILABLE) {
      return status;
    }
    var cause = status.getCause();
    return status.withDescription(
        Stream.of(address, status.getDescription(), cause == null ? null : cause.getMessage())
            .filter(Objects::nonNull).collect(Collectors.joining(": ")));
  }
}
