// The types are made of the protocol: see docs/clients.md. Arguments: HOST:PORT USER
import { promisify } from "node:util";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import protobuf from "protobufjs";
import type { ProtoGrpcType as Events } from "./generated/event_service.js";
import type { ProtoGrpcType as Recommender } from "./generated/recommender_service.js";

const services = ["gsimc/v1/event_service.proto", "gsimc/v1/recommender_service.proto"];
const includeDirs = ["../../../api", "node_modules/google-proto-files", "../../../third_party"];
const loaded = loadSync(services, { includeDirs, longs: Number, enums: String, defaults: true });
const { v1 } = (grpc.loadPackageDefinition(loaded) as unknown as Events & Recommender).gsimc;
const rpc = protobuf.loadSync(["status", "error_details"].map(
  (name) => `node_modules/google-proto-files/google/rpc/${name}.proto`));

const [address, user] = process.argv.slice(2) as [string, string];
const events = new v1.EventService(address, grpc.credentials.createInsecure());
const recommender = new v1.RecommenderService(address, grpc.credentials.createInsecure());
const observe = promisify(events.observe).bind(events);

const kept = await observe({ event: { userId: user, itemId: "i019", eventId: "like-1" } });
console.log("revision", kept!.userRevision);

const recommend = promisify(recommender.recommend).bind(recommender);
const list = await recommend({ userId: user, pageSize: 3, filter: { denyItemIds: ["i001"] } });
const ids = list!.items.map((item) => item.itemId);
console.log("list", ...ids);

const scoreItems = promisify(recommender.scoreItems).bind(recommender);
const scores = await scoreItems({ userId: user, itemIds: ids.slice(0, 1) });
console.log("score", scores!.items[0]!.score.toFixed(4));

try {
  await observe({ event: { userId: user } });
} catch (error) {
  const { code, metadata } = error as grpc.ServiceError;
  const bytes = metadata.get("grpc-status-details-bin")[0] as Buffer;
  const status = rpc.lookupType("google.rpc.Status").decode(bytes).toJSON();
  for (const detail of status.details)
    for (const v of detail.fieldViolations ?? [])
      console.log("refused", grpc.status[code], v.reason, v.field, v.description);
}
