import type { Calls } from "./api.js";
import { GsimcError } from "./error.js";

/** How a call that found no server is repeated, within its deadline. */
export interface Retry {
  /** At most, the first one included; 1: the call is not repeated. */
  attempts: number;
  /** The wait before the second attempt. It doubles before each further one, up to lastMs. */
  firstMs: number;
  lastMs: number;
}

export interface Options {
  /** As https://recommend.example:8080: that of serve --json-listen, or of a proxy before it. */
  baseUrl: string;
  /** For a server with tokens. */
  token?: string;
  /** The time of a call with all its attempts; 10,000 if it is not given. */
  timeoutMs?: number;
  retry?: Partial<Retry>;
  /** In place of the global one. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  /** Ends the call. */
  signal?: AbortSignal;
  /** In place of that of the client. */
  timeoutMs?: number;
}

/** sleep ends early, with an error, when the signal does. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** A Caller makes calls, with their deadlines and attempts. */
export class Caller {
  readonly #base: string;
  readonly #headers: Headers;
  readonly #timeoutMs: number;
  readonly #retry: Retry;
  readonly #fetch: typeof fetch;

  constructor(o: Options) {
    if (!/^https?:\/\//i.test(o.baseUrl)) // else fetch fails at each call
      throw new TypeError(`baseUrl: ${o.baseUrl}, want http://HOST:PORT or https://HOST:PORT`);
    this.#base = new URL(o.baseUrl).href.replace(/\/$/, "");
    this.#headers = new Headers({ "Content-Type": "application/json" });
    const token = (o.token ?? "").trim(); // a file of one ends with a line break
    if (o.token && !/^[\x21-\x7e]+$/.test(token))
      throw new TypeError("token: want one word of ASCII, as gsimc token drew it");
    if (token) this.#headers.set("Authorization", `Bearer ${token}`);
    this.#timeoutMs = o.timeoutMs ?? 10_000;
    const { attempts = 4, firstMs = 50, lastMs = 500 } = o.retry ?? {};
    this.#retry = { attempts, firstMs, lastMs };
    this.#fetch = o.fetch ?? ((...args) => globalThis.fetch(...args));
  }

  /** The time that a call with these options may take. */
  protected timeoutMs(o: CallOptions): number {
    return o.timeoutMs ?? this.#timeoutMs;
  }

  /** call makes a call. With repeat, which is for what may run twice, one that found no server, or
   * one that is UNAVAILABLE, is repeated. */
  async call<P extends keyof Calls>(path: P, request: Calls[P]["request"],
    o: CallOptions & { repeat?: boolean } = {}): Promise<Calls[P]["answer"]> {
    const ms = this.timeoutMs(o);
    if (!(ms > 0 && ms < 2 ** 31)) throw new RangeError(`timeoutMs: ${ms}`);
    const end = performance.now() + ms;
    const ended = new AbortController();
    const stop = () => ended.abort(o.signal!.reason);
    let last: GsimcError | undefined; // of the attempts before
    const timer = setTimeout(() => ended.abort(new GsimcError("DEADLINE_EXCEEDED",
      `no answer within ${ms} ms${last ? `; before that, ${last.message}` : ""}`)), ms);
    o.signal?.addEventListener("abort", stop, { once: true });
    if (o.signal?.aborted) stop();
    try {
      let wait = this.#retry.firstMs;
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.#attempt(path, JSON.stringify(request), ended.signal, end);
        } catch (error) {
          if (!(error instanceof GsimcError)) throw error;
          last = error;
        }
        const pause = Math.max(wait * (0.8 + 0.4 * Math.random()), last.retryAfterMs ?? 0);
        if (!o.repeat || last.code !== "UNAVAILABLE" || attempt >= this.#retry.attempts ||
          performance.now() + pause >= end) throw last;
        await sleep(pause, ended.signal);
        wait = Math.min(2 * wait, this.#retry.lastMs);
      }
    } finally {
      clearTimeout(timer);
      o.signal?.removeEventListener("abort", stop);
    }
  }

  async #attempt(path: string, request: string, signal: AbortSignal, end: number): Promise<any> {
    const headers = new Headers(this.#headers);
    headers.set("Grpc-Timeout", `${Math.max(1, Math.ceil(end - performance.now()))}m`);
    const fetch = this.#fetch; // as a method of this it would be none of the window
    let answer: Response, body: string;
    try {
      signal.throwIfAborted();
      answer = await fetch(this.#base + path, { method: "POST", headers, body: request, signal });
      body = await answer.text();
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      const { message, cause: why } = cause as Error;
      throw new GsimcError("UNAVAILABLE", `${this.#base}: ${message}${
        why instanceof Error ? `: ${why.message}` : ""}`, {}, { cause });
    }
    if (!answer.ok) throw GsimcError.ofAnswer(answer, body);
    try {
      return JSON.parse(body);
    } catch (cause) {
      const message = `the answer is not JSON: ${body.slice(0, 200)}`;
      throw new GsimcError("UNKNOWN", message, {}, { cause });
    }
  }
}
