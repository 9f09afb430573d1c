package com.gsimc;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Why a call failed. Act on code and reason, show the rest to people.
 *
 * @param code the code of gRPC
 * @param message a sentence for people
 * @param reason of the server, never changes its meaning; empty: it said nothing
 * @param fields what is wrong with the request, if it is that
 * @param retryAfter the time to wait, if it helps to try again
 */
public record Failure(Status.Code code, String message, String reason, List<Field> fields,
    Optional<Duration> retryAfter) {
  /**
   * A field of a request that breaks its rule.
   *
   * @param name the path of the field, such as event.item_id
   * @param reason never changes its meaning
   * @param description for people
   */
  public record Field(String name, String reason, String description) {}

  /** Reads what a server said of a call, or gRPC if the call found no server. */
  public static Failure of(StatusRuntimeException error) {
    var reason = "";
    var fields = new ArrayList<Field>();
    Optional<Duration> retryAfter = Optional.empty();
    try {
      for (var detail : StatusProto.fromThrowable(error).getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          reason = detail.unpack(ErrorInfo.class).getReason();
        } else if (detail.is(BadRequest.class)) {
          for (var v : detail.unpack(BadRequest.class).getFieldViolationsList()) {
            fields.add(new Field(v.getField(), v.getReason(), v.getDescription()));
          }
        } else if (detail.is(RetryInfo.class)) {
          var delay = detail.unpack(RetryInfo.class).getRetryDelay();
          retryAfter = Optional.of(Duration.ofSeconds(delay.getSeconds(), delay.getNanos()));
        }
      }
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      // Something between changed the details: code and message are still those of the call.
    }
    var status = error.getStatus();
    return new Failure(status.getCode(), Optional.ofNullable(status.getDescription()).orElse(""),
        reason, List.copyOf(fields), retryAfter);
  }
}
