package com.gsimc;

import com.gsimc.v1.EventServiceGrpc;
import com.gsimc.v1.ItemServiceGrpc;
import com.gsimc.v1.RecommenderServiceGrpc;
import com.gsimc.v1.UserServiceGrpc;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.ManagedChannelRegistry;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * A connection to a gsimc server, made by the first call. Any number of threads may use it. {@link
 * Failure#of} reads why a call failed.
 */
public final class Client implements AutoCloseable {
  private final ManagedChannel channel;

  private Client(ManagedChannel channel) {
    this.channel = channel;
  }

  /** Begins a client of the server at HOST:PORT or, on Linux, unix:/PATH. */
  public static Builder builder(String address) {
    return new Builder(address);
  }

  /** {@return a stub for lists, pages and scores} */
  public RecommenderServiceGrpc.RecommenderServiceBlockingStub recommender() {
    return RecommenderServiceGrpc.newBlockingStub(channel);
  }

  /**
   * {@return a stub for events} Give each event an id or a time: then it counts once, however often
   * the call is repeated.
   */
  public EventServiceGrpc.EventServiceBlockingStub events() {
    return EventServiceGrpc.newBlockingStub(channel);
  }

  /** {@return a stub for the histories of users} */
  public UserServiceGrpc.UserServiceBlockingStub users() {
    return UserServiceGrpc.newBlockingStub(channel);
  }

  /** {@return a stub for the catalogue} */
  public ItemServiceGrpc.ItemServiceBlockingStub items() {
    return ItemServiceGrpc.newBlockingStub(channel);
  }

  /** {@return the channel, for stubs of other kinds} Their calls have the token, too. */
  public Channel channel() {
    return channel;
  }

  /** Closes the connection. Calls in flight fail. */
  @Override
  public void close() {
    channel.shutdownNow();
  }

  /** The options of a client. None of them is needed; null is as an option that was not set. */
  public static final class Builder {
    private final String address;
    private boolean tls;
    private Path ca;
    private Path certificate;
    private Path key;
    private String serverName;
    private String token;
    private Path tokenFile;
    private Duration deadline = Duration.ofSeconds(5);
    private int attempts = 4;

    private Builder(String address) {
      this.address = Address.check(address);
    }

    /** Asks for TLS, with the authorities of Java. The next three options imply it. */
    public Builder tls() {
      tls = true;
      return this;
    }

    /** Sets the file of the authorities to trust, PEM. */
    public Builder ca(Path file) {
      ca = file;
      return this;
    }

    /** Sets the name in the certificate of the server, if it is not the host of the address. */
    public Builder serverName(String name) {
      serverName = name;
      return this;
    }

    /** Sets the files of the client's certificate and its key: PEM, the key as PKCS #8. */
    public Builder certificate(Path certificate, Path key) {
      this.certificate = certificate;
      this.key = key;
      return this;
    }

    /** Sets the token, as {@code gsimc token} drew it. Other machines need TLS for it. */
    public Builder token(String token) {
      this.token = token;
      return this;
    }

    /**
     * Sets the file that has the token in its first line. It is read again at each call, since
     * tokens end: one that is bad by then changes nothing.
     */
    public Builder tokenFile(Path file) {
      tokenFile = file;
      return this;
    }

    /**
     * Sets the time for a call that has no deadline of its own, all attempts included: 5 seconds by
     * default, null for none. Streams have none.
     */
    public Builder deadline(Duration deadline) {
      this.deadline = deadline;
      return this;
    }

    /**
     * Sets how often Observe and the calls of {@link Client#recommender} are tried while the server
     * is UNAVAILABLE, the first time included: 4 by default, at most 5. The waits between grow from
     * 50 to 500 milliseconds.
     */
    public Builder attempts(int attempts) {
      this.attempts = attempts;
      return this;
    }

    /**
     * Makes the client.
     *
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException if an option cannot be right
     */
    public Client build() throws IOException {
      if ((certificate == null) != (key == null)) {
        throw new IllegalArgumentException(
            "certificate and key: one is missing, want both files or neither");
      }
      var bearer = Bearer.of(token, tokenFile);
      var secure = tls || ca != null || certificate != null || serverName != null;
      if (bearer != null && !secure && !Address.onThisMachine(address)) {
        throw new IllegalArgumentException(
            "anybody on the way to " + address + " could read the token: use tls()");
      }
      var builder = channel(secure ? credentials() : InsecureChannelCredentials.create());
      if (serverName != null) {
        builder.overrideAuthority(serverName);
      }
      // A peer that vanished is noticed. The server refuses pings less than 10 s apart.
      return new Client(builder.keepAliveTime(20, TimeUnit.SECONDS)
          .keepAliveTimeout(10, TimeUnit.SECONDS)
          .disableServiceConfigLookUp()
          .defaultServiceConfig(Defaults.serviceConfig(attempts))
          .intercept(new Defaults(deadline, bearer, address)).build());
    }

    private ManagedChannelBuilder<?> channel(ChannelCredentials credentials) {
      try {
        return Grpc.newChannelBuilder(Address.target(address), credentials);
      } catch (ManagedChannelRegistry.ProviderNotFoundException e) {
        // What the files have in them, or a socket of Unix on another system.
        throw new IllegalArgumentException(
            address + ", ca, certificate and key: one cannot be used: " + e.getMessage(), e);
      }
    }

    private ChannelCredentials credentials() throws IOException {
      var credentials = TlsChannelCredentials.newBuilder();
      if (ca != null) {
        credentials.trustManager(ca.toFile());
      }
      if (certificate != null) {
        credentials.keyManager(certificate.toFile(), key.toFile());
      }
      return credentials.build();
    }
  }
}
