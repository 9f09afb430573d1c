# gsimc.v1 is made of the protocol: see docs/clients.md. Arguments: HOST:PORT USER
import sys

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from gsimc.v1 import event_service_pb2, event_service_pb2_grpc, types_pb2
from gsimc.v1 import recommender_service_pb2, recommender_service_pb2_grpc

channel = grpc.insecure_channel(sys.argv[1])
events = event_service_pb2_grpc.EventServiceStub(channel)
recommender = recommender_service_pb2_grpc.RecommenderServiceStub(channel)
user = sys.argv[2]

like = types_pb2.Event(user_id=user, item_id="i019", event_id="like-1")
kept = events.Observe(event_service_pb2.ObserveRequest(event=like), timeout=5)
print("revision", kept.user_revision)

answer = recommender.Recommend(recommender_service_pb2.RecommendRequest(
    user_id=user, page_size=3, filter=types_pb2.ItemFilter(deny_item_ids=["i001"])), timeout=5)
ids = [item.item_id for item in answer.items]
print("list", *ids)

scores = recommender.ScoreItems(recommender_service_pb2.ScoreItemsRequest(
    user_id=user, item_ids=ids[:1]), timeout=5)
print("score", f"{scores.items[0].score:.4f}")

try:
    events.Observe(event_service_pb2.ObserveRequest(event=types_pb2.Event(user_id=user)))
except grpc.RpcError as error:
    refused = error_details_pb2.BadRequest()
    for detail in rpc_status.from_call(error).details:
        if detail.Unpack(refused):
            for v in refused.field_violations:
                print("refused", error.code().name, v.reason, v.field, v.description)
