package com.gsimc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.Any;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class FailureTest {
  @Test
  void failures() {
    var violation = BadRequest.FieldViolation.newBuilder()
        .setField("event.item_id").setReason("INVALID_FIELD").setDescription("is required");
    var retry = RetryInfo.newBuilder()
        .setRetryDelay(com.google.protobuf.Duration.newBuilder().setNanos(500_000_000));
    var status = com.google.rpc.Status.newBuilder().setCode(3).setMessage("no")
        .addDetails(Any.pack(ErrorInfo.newBuilder().setReason("INVALID_FIELD").build()))
        .addDetails(Any.pack(BadRequest.newBuilder().addFieldViolations(violation).build()))
        .addDetails(Any.pack(retry.build())).build();
    assertEquals(
        new Failure(Status.Code.INVALID_ARGUMENT, "no", "INVALID_FIELD",
            List.of(new Failure.Field("event.item_id", "INVALID_FIELD", "is required")),
            Optional.of(Duration.ofMillis(500))),
        Failure.of(StatusProto.toStatusRuntimeException(status)));
    assertEquals(
        new Failure(Status.Code.UNAVAILABLE, "", "", List.of(), Optional.empty()),
        Failure.of(Status.UNAVAILABLE.asRuntimeException()));
  }
}
