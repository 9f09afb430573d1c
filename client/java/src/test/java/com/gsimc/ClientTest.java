package com.gsimc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.gsimc.v1.*;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.FileNotFoundException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ClientTest {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private final List<String> tokens = new CopyOnWriteArrayList<>(); // one for each attempt
  private Server server;
  @TempDir private Path folder;

  /** A server that is UNAVAILABLE for two attempts, and never scores items. */
  @BeforeEach
  void serve() throws Exception {
    var recommender = new RecommenderServiceGrpc.RecommenderServiceImplBase() {
      @Override
      public void recommend(RecommendRequest q, StreamObserver<RecommendResponse> to) {
        answer(to, RecommendResponse.getDefaultInstance());
      }

      @Override
      public void scoreItems(ScoreItemsRequest q, StreamObserver<ScoreItemsResponse> to) {}
    };
    var events = new EventServiceGrpc.EventServiceImplBase() {
      @Override
      public void observe(ObserveRequest q, StreamObserver<ObserveResponse> to) {
        answer(to, ObserveResponse.getDefaultInstance());
      }

      @Override
      public void batchObserve(BatchObserveRequest q, StreamObserver<BatchObserveResponse> to) {
        answer(to, BatchObserveResponse.getDefaultInstance());
      }
    };
    var watch = new ServerInterceptor() {
      @Override
      public <Q, A> ServerCall.Listener<Q> interceptCall(
          ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        tokens.add(String.valueOf(headers.get(AUTHORIZATION)));
        return next.startCall(call, headers);
      }
    };
    server = NettyServerBuilder
        .forAddress(new InetSocketAddress("127.0.0.1", 0), InsecureServerCredentials.create())
        .addService(recommender).addService(events).intercept(watch).build().start();
  }

  private <A> void answer(StreamObserver<A> to, A answer) {
    if (tokens.size() < 3) {
      to.onError(Status.UNAVAILABLE.asException());
      return;
    }
    to.onNext(answer);
    to.onCompleted();
  }

  @AfterEach
  void stop() {
    server.shutdownNow();
  }

  private Client.Builder client() {
    return Client.builder("127.0.0.1:" + server.getPort()).deadline(Duration.ofMinutes(1));
  }

  @Test
  void tokensInPlainTextStayOnThisMachine() throws Exception {
    var options = Client.builder("example.com:80").token("t");
    var error = assertThrows(IllegalArgumentException.class, options::build);
    assertEquals("anybody on the way to example.com:80 could read the token: use tls()",
        error.getMessage());
    options.tls().build().close();
    Client.builder("example.com:80").build().close();
    Client.builder("[::1]:80").token("t").build().close();
  }

  @Test
  void badFiles() throws Exception {
    var file = Files.writeString(folder.resolve("file"), "no certificate");
    for (var options : List.of(client().ca(file), client().certificate(file, file),
        client().certificate(file, null), client().certificate(null, file))) {
      assertThrows(IllegalArgumentException.class, options::build);
    }
    var none = client().ca(folder.resolve("none"));
    assertThrows(FileNotFoundException.class, none::build);
  }

  @Test
  void repeatsWhatMayRunTwice() throws Exception {
    try (var client = client().build()) {
      client.recommender().recommend(RecommendRequest.getDefaultInstance());
      assertEquals(3, tokens.size());
      tokens.clear();
      client.events().observe(ObserveRequest.getDefaultInstance());
      assertEquals(3, tokens.size());
      tokens.clear();
      assertCode(Status.Code.UNAVAILABLE,
          () -> client.events().batchObserve(BatchObserveRequest.getDefaultInstance()));
      assertEquals(1, tokens.size());
    }
    tokens.clear();
    try (var client = client().attempts(2).build()) {
      assertCode(Status.Code.UNAVAILABLE,
          () -> client.recommender().recommend(RecommendRequest.getDefaultInstance()));
      assertEquals(2, tokens.size());
    }
  }

  @Test
  void readsTheTokenAtEachCall() throws Exception {
    var file = Files.writeString(folder.resolve("token"), "zero");
    try (var client = client().attempts(1).tokenFile(file).build()) {
      for (var token : List.of("one", "two")) {
        Files.writeString(file, token);
        assertCode(Status.Code.UNAVAILABLE,
            () -> client.recommender().recommend(RecommendRequest.getDefaultInstance()));
      }
    }
    assertEquals(List.of("Bearer one", "Bearer two"), tokens);
  }

  @Test
  void callsEnd() throws Exception {
    try (var client = client().deadline(Duration.ofMillis(100)).build()) {
      assertCode(Status.Code.DEADLINE_EXCEEDED,
          () -> client.recommender().scoreItems(ScoreItemsRequest.getDefaultInstance()));
    }
  }

  @Test
  void namesWhatIsUnavailable() throws Exception {
    try (var client = client().attempts(1).build()) { // the answer has no description
      assertEquals("UNAVAILABLE: 127.0.0.1:" + server.getPort(), failsToRecommend(client));
    }
    try (var client = Client.builder("127.0.0.1:1").build()) {
      var message = failsToRecommend(client);
      assertTrue(message.startsWith("UNAVAILABLE: 127.0.0.1:1: "), message);
      assertTrue(message.contains("Connection refused"), message); // the cause
    }
  }

  private static String failsToRecommend(Client client) {
    var error = assertThrows(StatusRuntimeException.class,
        () -> client.recommender().recommend(RecommendRequest.getDefaultInstance()));
    var failure = Failure.of(error);
    assertEquals(error.getMessage(), failure.code() + ": " + failure.message());
    return error.getMessage();
  }

  private static void assertCode(Status.Code want, Runnable call) {
    var error = assertThrows(StatusRuntimeException.class, call::run);
    assertEquals(want, Failure.of(error).code());
  }
}
