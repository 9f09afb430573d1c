package com.gsimc.example;

import com.google.rpc.BadRequest;
import com.gsimc.v1.*;
import io.grpc.*;
import io.grpc.protobuf.StatusProto;

/** The code of the protocol is made by Maven: see docs/clients.md. Arguments: HOST:PORT USER. */
public final class Example {
  public static void main(String[] args) throws Exception {
    var channel = Grpc.newChannelBuilder(args[0], InsecureChannelCredentials.create()).build();
    var events = EventServiceGrpc.newBlockingStub(channel);
    var recommender = RecommenderServiceGrpc.newBlockingStub(channel);
    var user = args[1];

    var like = Event.newBuilder().setUserId(user).setItemId("i019").setEventId("like-1");
    var kept = events.observe(ObserveRequest.newBuilder().setEvent(like).build());
    System.out.println("revision " + kept.getUserRevision());

    var filter = ItemFilter.newBuilder().addDenyItemIds("i001");
    var ids = recommender.recommend(RecommendRequest.newBuilder()
            .setUserId(user).setPageSize(3).setFilter(filter).build())
        .getItemsList().stream().map(ScoredItem::getItemId).toList();
    System.out.println("list " + String.join(" ", ids));

    var scores = recommender.scoreItems(
        ScoreItemsRequest.newBuilder().setUserId(user).addItemIds(ids.get(0)).build());
    System.out.printf("score %.4f%n", scores.getItems(0).getScore());

    try {
      events.observe(ObserveRequest.newBuilder()
          .setEvent(Event.newBuilder().setUserId(user)).build());
    } catch (StatusRuntimeException error) {
      for (var detail : StatusProto.fromThrowable(error).getDetailsList()) {
        if (detail.is(BadRequest.class)) {
          for (var v : detail.unpack(BadRequest.class).getFieldViolationsList()) {
            System.out.println(String.join(" ", "refused", error.getStatus().getCode().name(),
                v.getReason(), v.getField(), v.getDescription()));
          }
        }
      }
    }
    channel.shutdown();
  }
}
