import type { Event, EventResult, ObserveResponse, RecommendPageRequest, RecommendPageResponse,
  RecommendRequest, RecommendResponse, ScoreItemsRequest, ScoreItemsResponse,
  SimilarItemsRequest, SimilarItemsResponse } from "./api.js";
import { Caller, sleep, type CallOptions } from "./caller.js";
import { GsimcError } from "./error.js";

export interface SendOptions extends CallOptions {
  /** Events of a call, 1 to 1000; 500 if it is not given. */
  batchSize?: number;
  /** The time since the last acknowledgement after which sending fails; 60,000 if not given. */
  giveUpMs?: number;
}

/** An event, with the id under which it was sent, and what became of it. */
export interface Observed {
  event: Event;
  result: EventResult;
}

/** Waits between two attempts of a batch. The wait is doubled from the first to the last. */
const firstWaitMs = 100, lastWaitMs = 3000;

/** named gives an event an id, unless the server knows it again without one. */
function named(event: Event): Event {
  if (event.eventId || event.eventTime) return event;
  const random = () => Math.random().toString(36).slice(2);
  return { ...event, eventId: `${Date.now().toString(36)}-${random()}${random()}` };
}

/** passes tells whether a batch may be acknowledged when it is sent again. */
function passes(error: unknown): error is GsimcError {
  if (!(error instanceof GsimcError)) return false;
  return ["UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN", "CANCELLED", "ABORTED"]
    .includes(error.code) || hasNoRoom(error);
}

/** hasNoRoom tells of a lack of room that passes by itself. */
function hasNoRoom(error: GsimcError): boolean {
  return error.code === "RESOURCE_EXHAUSTED" && error.retryAfterMs !== undefined;
}

/** A Client calls one server. */
export class Client extends Caller {
  recommend(request: RecommendRequest, o?: CallOptions): Promise<RecommendResponse> {
    return this.call("/v1/recommend", request, { ...o, repeat: true });
  }

  /** recommendPage asks for the rows of a page, without an item twice. */
  recommendPage(request: RecommendPageRequest, o?: CallOptions): Promise<RecommendPageResponse> {
    return this.call("/v1/recommend:page", request, { ...o, repeat: true });
  }

  scoreItems(request: ScoreItemsRequest, o?: CallOptions): Promise<ScoreItemsResponse> {
    return this.call("/v1/items:score", request, { ...o, repeat: true });
  }

  similarItems(request: SimilarItemsRequest, o?: CallOptions): Promise<SimilarItemsResponse> {
    return this.call("/v1/items:similar", request, { ...o, repeat: true });
  }

  /** observe sends an event. One without an id and a time gets an id, so that it is applied once
   * however often it is sent. */
  observe(event: Event, o?: CallOptions): Promise<ObserveResponse> {
    return this.call("/v1/events", named(event), { ...o, repeat: true });
  }

  /** observeAll sends events in batches, each when it is full, and yields what became of them in
   * their order. What is not acknowledged is sent again with the same ids, until giveUpMs have gone
   * by without an acknowledgement: then there is an error. So an event may be a DUPLICATE. */
  async *observeAll(events: Iterable<Event> | AsyncIterable<Event>,
    o: SendOptions = {}): AsyncGenerator<Observed, void, undefined> {
    let batch: Event[] = [];
    for await (const event of events) {
      if (batch.push(named(event)) < (o.batchSize ?? 500)) continue;
      yield* this.#settle(batch, o);
      batch = [];
    }
    if (batch.length > 0) yield* this.#settle(batch, o);
  }

  async *#settle(batch: Event[], o: SendOptions): AsyncGenerator<Observed, void, undefined> {
    const results: EventResult[] = [], giveUpMs = o.giveUpMs ?? 60_000;
    let open = [...batch.keys()], heard = performance.now(), wait = firstWaitMs;
    for (let next = 0; ;) {
      const before = open.length;
      let fault: GsimcError | undefined;
      try {
        const events = open.map((i) => batch[i]!);
        const left = Math.max(1, heard + giveUpMs - performance.now());
        const answer = await this.call("/v1/events:batch", { events },
          { ...o, timeoutMs: Math.min(this.timeoutMs(o), left) });
        if (answer.results?.length !== events.length)
          throw new GsimcError("UNKNOWN", "the answer is not one result for each event");
        open = open.filter((i, k) => {
          const result = answer.results[k]!;
          const error = result.error && GsimcError.of(result.error);
          if (error && hasNoRoom(error)) fault ??= error;
          else results[i] = result;
          return !results[i];
        });
      } catch (error) {
        if (!passes(error)) throw error;
        fault = error;
      }
      for (let result; (result = results[next]); next++) yield { event: batch[next]!, result };
      if (!fault) return;
      if (open.length < before) [heard, wait] = [performance.now(), firstWaitMs];
      const pause = Math.max(wait, fault.retryAfterMs ?? 0);
      if (performance.now() + pause - heard > giveUpMs) throw fault;
      await sleep(pause, o.signal);
      wait = Math.min(2 * wait, lastWaitMs);
    }
  }

  /** session returns a session of a user, with the token of an earlier one, or without. */
  session(userId: string, token = ""): Session {
    return new Session(this, userId, token);
  }
}

/** A Session is one user's events and lists, whichever server answers: each list reflects the event
 * that was acknowledged last, or there is an error. Send the events one after the other. */
export class Session {
  #token: string;
  #revision = 0n; // of the token; 0: unknown

  constructor(private readonly client: Client, readonly userId: string, token: string) {
    this.#token = token;
  }

  async observe(event: Omit<Event, "userId">, o?: CallOptions): Promise<ObserveResponse> {
    const kept = await this.client.observe({ ...event, userId: this.userId }, o);
    this.#note(kept);
    return kept;
  }

  /** note keeps the token of an answer. A duplicate may be the last event, sent again because its
   * answer was lost, or an earlier one. */
  #note(kept: ObserveResponse): void {
    const revision = BigInt(kept.userRevision);
    const unknown = this.#token !== "" && this.#revision === 0n;
    const again = kept.disposition === "EVENT_DISPOSITION_DUPLICATE";
    if (again && (unknown || revision <= this.#revision)) return;
    this.#token = kept.sessionToken;
    this.#revision = revision;
  }

  recommend(request: Omit<RecommendRequest, "userId" | "history" | "sessionToken"> = {},
    o?: CallOptions): Promise<RecommendResponse> {
    const { userId, token: sessionToken } = this;
    return this.client.recommend({ ...request, userId, sessionToken }, o);
  }

  scoreItems(request: Omit<ScoreItemsRequest, "userId" | "history" | "sessionToken">,
    o?: CallOptions): Promise<ScoreItemsResponse> {
    const { userId, token: sessionToken } = this;
    return this.client.scoreItems({ ...request, userId, sessionToken }, o);
  }

  /** The token of the last event, to go on with in another process; empty: there was none. */
  get token(): string {
    return this.#token;
  }

  /** forget begins anew, as after DATA_LOSS or FAILED_PRECONDITION, which say that the events
   * before are gone. */
  forget(): void {
    this.#token = "";
    this.#revision = 0n;
  }
}
