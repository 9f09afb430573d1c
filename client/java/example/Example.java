// Arguments: HOST:PORT USER, and for TLS and a token the files CA TOKEN
import com.gsimc.Client;
import com.gsimc.Failure;
import com.gsimc.v1.*;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;

public final class Example {
  public static void main(String[] args) throws Exception {
    var options = Client.builder(args[0]);
    if (args.length > 2) {
      options.ca(Path.of(args[2])).tokenFile(Path.of(args[3]));
    }
    var user = args[1];
    try (var client = options.build()) {
      var like = Event.newBuilder().setUserId(user).setItemId("i019").setEventId("like-1");
      var kept = client.events().observe(ObserveRequest.newBuilder().setEvent(like).build());
      System.out.println("revision " + kept.getUserRevision());

      var filter = ItemFilter.newBuilder().addDenyItemIds("i001");
      var ids = client.recommender().recommend(RecommendRequest.newBuilder()
              .setUserId(user).setPageSize(3).setFilter(filter).build())
          .getItemsList().stream().map(ScoredItem::getItemId).toList();
      System.out.println("list " + String.join(" ", ids));

      var scores = client.recommender().scoreItems(
          ScoreItemsRequest.newBuilder().setUserId(user).addItemIds(ids.get(0)).build());
      System.out.printf("score %.4f%n", scores.getItems(0).getScore());

      try {
        client.events().observe(
            ObserveRequest.newBuilder().setEvent(Event.newBuilder().setUserId(user)).build());
      } catch (StatusRuntimeException error) {
        var failure = Failure.of(error);
        for (var v : failure.fields()) {
          System.out.println(String.join(" ", "refused", failure.code().name(), v.reason(),
              v.name(), v.description()));
        }
      }
    }
  }
}
