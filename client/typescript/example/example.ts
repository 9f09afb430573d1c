// The same as JSON over HTTP, with the package gsimc. Arguments: URL USER
import { Client, GsimcError } from "gsimc";

declare const process: { argv: string[] }; // for want of @types/node
const [baseUrl, userId] = process.argv.slice(2) as [string, string];
const gsimc = new Client({ baseUrl, timeoutMs: 5000 });

const kept = await gsimc.observe({ userId, itemId: "i019", eventId: "like-1" });
console.log("revision", kept.userRevision);

const list = await gsimc.recommend({ userId, pageSize: 3, filter: { denyItemIds: ["i001"] } });
const ids = list.items.map((item) => item.itemId);
console.log("list", ...ids);

const scores = await gsimc.scoreItems({ userId, itemIds: ids.slice(0, 1) });
console.log("score", scores.items[0]!.score.toFixed(4));

try {
  await gsimc.observe({ userId, itemId: "" });
} catch (error) {
  if (!(error instanceof GsimcError)) throw error;
  for (const v of error.fields)
    console.log("refused", error.code, v.reason, v.field, v.description);
}
