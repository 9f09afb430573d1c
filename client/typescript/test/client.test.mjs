// Tests of the installed package against a real server: see run.sh.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import vm from "node:vm";
import { Client, GsimcError } from "gsimc";

const program = process.env.GSIMC;
const token = execFileSync(program, ["token", "test", "--roles", "recommend,observe",
  "--add-to", "tokens"], { encoding: "utf8" }).trim();

// server is a gsimc of its own, with TLS and a token. It has its port again after it was killed,
// where the loopback interface has addresses that hardly anybody uses.
const server = {
  address: process.platform === "linux" ? "127.7.1.9:0" : "127.0.0.1:0",
  async start() {
    const free = "127.0.0.1:0";
    this.child = spawn(program, ["serve", "--model", "../model.gsimc", "--data-dir", "state",
      "--listen", free, "--admin-listen", free, "--ops-listen", free, "--json-listen",
      this.address, "--tls-cert", "cert.pem", "--tls-key", "key.pem", "--token-file", "tokens",
      "--drain-delay", "0s", "--log-format", "json"], { stdio: ["ignore", "ignore", "pipe"] });
    let last;
    for await (const line of createInterface(this.child.stderr)) {
      last = line;
      if (!line.startsWith("{")) continue;
      const said = JSON.parse(line);
      if (said.msg !== "serving") continue;
      this.address = said.json;
      this.child.stderr.resume();
      return;
    }
    throw new Error(`the server did not start: ${last}`);
  },
  async kill() {
    const gone = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await gone;
  },
};
before(() => server.start());
after(() => server.kill());

const client = (options) => new Client({ baseUrl: `https://${server.address}`, token, ...options });
const refusal = (code, reason) => (error) => {
  assert(error instanceof GsimcError, error);
  assert.deepEqual([error.code, error.reason], [code, reason]);
  return true;
};
const events = (userId, n) => Array.from({ length: n }, (_, i) => (
  { userId, itemId: `i${String(i % 120).padStart(3, "0")}`, eventId: `e${i}` }));
const collect = async (stream) => {
  const all = [];
  for await (const one of stream) all.push(one);
  return all;
};

test("calls and answers", async () => {
  const near = await client().similarItems({ itemId: "i001", pageSize: 2 });
  assert.equal(near.items.length, 2);
  assert.equal(typeof near.items[0].score, "number");
  const page = await client().recommendPage({ userId: "ann", rows: [{ name: "for you",
    pageSize: 2 }, { list: "LIST_KIND_POPULAR", pageSize: 2 }] });
  const shown = page.rows.flatMap((row) => row.list.items.map((item) => item.itemId));
  assert.equal(new Set(shown).size, 4);
  const lists = await client().call("/v1/recommend:batch", { subjects: [{ userId: "ann" }] });
  assert.equal(lists.results.length, 1);
});

test("an error has its code, its reason and the fields", async () => {
  await assert.rejects(client({ token: "gsimc_no" }).recommend({ userId: "ann" }),
    refusal("UNAUTHENTICATED", "UNAUTHENTICATED"));
  const bad = { userId: "ann", itemId: "", eventType: "NO" };
  await assert.rejects(client().observe(bad), (error) => {
    refusal("INVALID_ARGUMENT", "INVALID_FIELD")(error);
    assert.deepEqual(error.fields.map((f) => f.field), ["event.item_id", "event.event_type"]);
    return true;
  });
  await assert.rejects(client().call("/v1/users:merge", {}), refusal("PERMISSION_DENIED",
    "PERMISSION_DENIED"));
});

test("options that cannot be right are refused at once", () => {
  for (const [options, message] of [
    [{ baseUrl: "localhost:8080" }, /^baseUrl: localhost:8080, want http:\/\/HOST:PORT or https/],
    [{ baseUrl: "recommend.example" }, /^baseUrl: recommend.example, want/],
    [{ token: "gsimc_\u00e4" }, /^token: want one word of ASCII/],
    [{ token: "one\ntwo" }, /^token: want one word/],
    [{ token: " \n" }, /^token: want one word/],
  ]) assert.throws(() => client(options), { name: "TypeError", message });
});

test("a token is sent without the space around it, and a scheme has any case", async () => {
  const odd = { baseUrl: `HTTPS://${server.address}`, token: `\n ${token}\n` };
  assert.equal((await client(odd).recommend({ userId: "ann", pageSize: 3 })).items.length, 3);
});

test("a session reads its own writes", async () => {
  const session = client().session("reader");
  const first = { itemId: "i005", eventId: "first" };
  await session.observe(first);
  const { token: old } = session;
  await session.observe({ itemId: "i006", eventId: "last" });
  const { token: last } = session;
  assert.notEqual(last, old);
  await session.observe(first); // a repeat of an earlier event
  assert.equal(session.token, last);
  const { items } = await session.recommend({ pageSize: 100 });
  assert(items.length > 0 && items.every((i) => i.itemId !== "i005" && i.itemId !== "i006"));
  await assert.rejects(client().session("another", last).recommend(),
    refusal("INVALID_ARGUMENT", "INVALID_FIELD"));
  session.forget();
  assert.equal(session.token, "");
});

test("a call outlives a restart of the server", async () => {
  await server.kill();
  const like = { userId: "ann", itemId: "i001" };
  await assert.rejects(client({ retry: { attempts: 1 } }).observe(like),
    refusal("UNAVAILABLE", ""));
  const call = client({ retry: { attempts: 1000 }, timeoutMs: 60_000 }).observe(like);
  await server.start();
  assert.equal((await call).disposition, "EVENT_DISPOSITION_APPLIED");
});

test("observeAll goes on after the server was killed", async () => {
  const all = events("sender", 2000);
  async function* killing() {
    for (const [i, event] of all.entries()) {
      if (i === 1000) await server.kill(); // what is acknowledged so far outlives the process
      yield event;
    }
  }
  const missing = (...args) => fetch(...args).catch(async (error) => {
    await server.start();
    throw error;
  });
  const got = await collect(client({ fetch: missing }).observeAll(killing(), { batchSize: 300 }));
  assert.deepEqual(got.map((o) => o.event), all);
  assert(got.every((o) => o.result.disposition === "EVENT_DISPOSITION_APPLIED"));
  for (const { result } of await collect(client().observeAll(all, { batchSize: 1000 })))
    assert.equal(result.disposition, "EVENT_DISPOSITION_DUPLICATE");
});

test("observeAll sends what was not acknowledged with the same ids", async () => {
  let calls = 0;
  const sent = [];
  const lossy = async (...args) => {
    const answer = await fetch(...args);
    sent.push(JSON.parse(args[1].body).events);
    if (++calls === 1) throw new TypeError("the answer is lost");
    return answer;
  };
  const some = [{ userId: "lost", itemId: "i001" }, { userId: "lost", itemId: "i002" }];
  const got = await collect(client({ fetch: lossy }).observeAll(some));
  assert.deepEqual(sent[0], sent[1]);
  assert.notEqual(sent[0][0].eventId, sent[0][1].eventId);
  assert.deepEqual(got.map((o) => o.result.disposition),
    ["EVENT_DISPOSITION_DUPLICATE", "EVENT_DISPOSITION_DUPLICATE"]);
});

test("observeAll waits for room, yields in order, and drops what is refused", async () => {
  const rejected = (code, ...details) => ({ disposition: "EVENT_DISPOSITION_REJECTED",
    error: { code, message: "no", details } });
  const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.001s" };
  const applied = { disposition: "EVENT_DISPOSITION_APPLIED" };
  const answers = [[applied, rejected(8, retry), rejected(3), applied], [applied]];
  const sent = [];
  const scripted = async (_, { body }) => {
    sent.push(JSON.parse(body).events.map((e) => e.eventId));
    return Response.json({ results: answers[sent.length - 1] });
  };
  const got = await collect(client({ fetch: scripted }).observeAll(events("full", 4)));
  assert.deepEqual(sent, [["e0", "e1", "e2", "e3"], ["e1"]]);
  assert.deepEqual(got.map((o) => o.event.eventId), ["e0", "e1", "e2", "e3"]);
  assert.equal(got[2].result.error.code, 3);
  const never = async () => Response.json({ results: [rejected(8, retry)] });
  await assert.rejects(collect(client({ fetch: never }).observeAll(events("full", 1),
    { giveUpMs: 150 })), refusal("RESOURCE_EXHAUSTED", ""));
});

test("waits, attempts, deadlines and the end by a signal", async (t) => {
  let answer, times = [];
  const fake = createServer((request, response) => {
    times.push(performance.now());
    answer(response);
  }).listen(0, "127.0.0.1");
  await once(fake, "listening");
  t.after(() => fake.close());
  const baseUrl = `http://127.0.0.1:${fake.address().port}/below/`;
  const ask = (options, o) => client({ baseUrl, ...options }).recommend({ userId: "ann" }, o);

  const status = JSON.stringify({ code: 14, message: "no", details: [
    { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "DRAINING", domain: "gsimc" },
    { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.150s" }] });
  answer = (response) => response.writeHead(503).end(status);
  await assert.rejects(ask({ retry: { attempts: 3, firstMs: 1 } }),
    refusal("UNAVAILABLE", "DRAINING"));
  assert.equal(times.length, 3);
  assert(times[2] - times[0] >= 295, `the waits are ${times}`);

  answer = (response) => response.writeHead(503, { "Retry-After": "60" }).end("<html>");
  times = [];
  await assert.rejects(ask(), (error) => error.code === "UNAVAILABLE" &&
    error.retryAfterMs === 60_000);
  assert.equal(times.length, 1); // the deadline is before that

  answer = () => {};
  await assert.rejects(ask({ timeoutMs: 50 }), refusal("DEADLINE_EXCEEDED", ""));
  const mine = new AbortController();
  answer = () => mine.abort(new Error("mine"));
  await assert.rejects(ask({}, { signal: mine.signal }), /mine/);
  await assert.rejects(ask({}, { signal: mine.signal }), /mine/); // before it begins
  fake.closeAllConnections();
});

// A browser has none of what is Node's: the modules get what both have, and nothing else.
test("the modules load in a browser", async () => {
  const { AbortController, Headers, URL, clearTimeout, performance, setTimeout } = globalThis;
  let asked;
  const page = vm.createContext({ AbortController, Headers, URL, clearTimeout, performance,
    setTimeout, fetch: async (url) => {
      asked = url;
      return Response.json({ items: [] });
    } });
  const modules = new Map();
  const load = (url) => {
    if (!modules.has(url.href))
      modules.set(url.href, new vm.SourceTextModule(readFileSync(url, "utf8"),
        { context: page, identifier: url.href }));
    return modules.get(url.href);
  };
  const index = load(new URL("node_modules/gsimc/build/index.js", import.meta.url));
  await index.link((name, from) => {
    assert(name.startsWith("./"), `${from.identifier} imports ${name}`);
    return load(new URL(name, from.identifier));
  });
  await index.evaluate();
  const there = new index.namespace.Client({ baseUrl: "https://shop.example" });
  await there.recommend({ userId: "ann" });
  assert.equal(asked, "https://shop.example/v1/recommend");
});
