import type { Status } from "./api.js";

/** The codes of gRPC, by their number. */
const codes = ["OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
  "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
  "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
  "UNAUTHENTICATED"] as const;

export type Code = (typeof codes)[number];

/** A field of a request that breaks its rule. */
export interface FieldViolation {
  field: string;
  description: string;
  reason: string;
}

/** The codes of answers that are not of a gsimc server, such as those of a proxy. */
const byHTTP: Record<number, Code> = { 400: "INTERNAL", 401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED", 404: "UNIMPLEMENTED", 429: "UNAVAILABLE", 502: "UNAVAILABLE",
  503: "UNAVAILABLE", 504: "UNAVAILABLE" };

/** Why a call failed. Act on the code and the reason, and show the message to people. */
export class GsimcError extends Error {
  override readonly name = "GsimcError";
  /** As INVALID_FIELD; it never changes its meaning. Empty if no gsimc server answered. */
  readonly reason: string = "";
  /** Of INVALID_ARGUMENT: the fields that are wrong. */
  readonly fields: FieldViolation[] = [];
  /** When it helps to try again, if the server says so. */
  readonly retryAfterMs: number | undefined;

  constructor(readonly code: Code, message: string, status: Partial<Status> = {},
    options?: ErrorOptions & { retryAfterMs?: number }) {
    super(`${code}: ${message}`, options);
    this.retryAfterMs = options?.retryAfterMs;
    for (const detail of status.details ?? [])
      switch (detail["@type"].slice(detail["@type"].lastIndexOf("/") + 1)) {
        case "google.rpc.ErrorInfo":
          this.reason = detail.reason as string;
          break;
        case "google.rpc.BadRequest":
          this.fields = (detail.fieldViolations ?? []) as FieldViolation[];
          break;
        case "google.rpc.RetryInfo": // as "0.250s"
          this.retryAfterMs = 1000 * (Number.parseFloat(detail.retryDelay as string) || 0);
      }
  }

  static of(status: Status): GsimcError {
    return new GsimcError(codes[status.code] ?? "UNKNOWN", status.message, status);
  }

  /** ofAnswer is the error of an answer whose status of HTTP is not 200. */
  static ofAnswer(answer: Response, body: string): GsimcError {
    try {
      const status = JSON.parse(body) as Status;
      if (codes[status.code] && Array.isArray(status.details)) return GsimcError.of(status);
    } catch { /* it is not of a gsimc server */ }
    const seconds = Number(answer.headers.get("Retry-After") || Number.NaN); // it may be a date
    return new GsimcError(byHTTP[answer.status] ?? "UNKNOWN",
      `HTTP ${answer.status}: ${body.slice(0, 200)}`, {},
      seconds >= 0 ? { retryAfterMs: 1000 * seconds } : {});
  }
}
