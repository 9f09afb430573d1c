export type * from "./api.js";
export type { CallOptions, Options, Retry } from "./caller.js";
export { Client, Session, type Observed, type SendOptions } from "./client.js";
export { GsimcError, type Code, type FieldViolation } from "./error.js";
