// Calls of the service as JSON, as any client makes them. The token is in this variable only.
let token = "";

export function setToken(text) {
  token = text.trim();
}

// ApiError is a refusal of the server: a google.rpc.Status with its reason.
export class ApiError extends Error {
  constructor(status, body) {
    const detail = (body.details ?? []).find((d) => d.reason);
    super(body.message || `the server answered ${status}`);
    this.status = status;
    this.reason = detail ? detail.reason : "";
  }
}

// call makes a call and returns its answer. Paths are those of openapi.json.
async function call(method, path, body = undefined, signal = undefined) {
  const response = await request(method, path, body, signal);
  return response.json();
}

// request is call for answers that are not one message.
export async function request(method, path, body, signal) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method, headers, signal, cache: "no-store", credentials: "omit",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server did not answer.");
  }
  if (response.ok) return response;
  let status = {};
  try {
    status = await response.json();
  } catch {
    // an answer that is not of the API
  }
  if (response.status === 401) {
    const access = document.getElementById("access");
    access.hidden = false;
    access.open = true;
    if (!token) status.message = "This server wants a token that it knows: paste one above.";
  }
  throw new ApiError(response.status, status);
}

// latest lets a newer run of fn end the older one, so that no answer is shown behind a newer one.
// Its abort ends the one that runs.
export function latest(fn) {
  let running = null;
  const run = async (...args) => {
    run.abort();
    const own = new AbortController();
    running = own;
    try {
      await fn(own.signal, ...args);
    } catch (error) {
      if (!own.signal.aborted) throw error;
    }
  };
  run.abort = () => running?.abort();
  return run;
}

// The calls by their purposes.
export const recommend = (body, signal) => call("POST", "/v1/recommend", body, signal);
export const spectrum = (body, signal) => call("POST", "/v1/spectrum", body, signal);
export const search = (query, signal) =>
  call("GET", `/v1/items:search?query=${encodeURIComponent(query)}&page_size=100`, undefined, signal);
export const getItems = (ids) =>
  call("GET", `/v1/items:batchGet?${ids.map((i) => `item_ids=${encodeURIComponent(i)}`).join("&")}`);
export const getItem = (id, signal) =>
  call("GET", `/v1/items/${encodeURIComponent(id)}`, undefined, signal);
export const similar = (itemId, pageSize, signal) =>
  call("POST", "/v1/items:similar", { itemId, pageSize }, signal);
export const upsert = (item, updateMask) =>
  call("POST", "/v1/items:batchUpsert", { items: [item], updateMask });
export const listRules = (signal) => call("GET", "/v1/filters", undefined, signal);
export const saveRule = (name, entry, version) => call("POST", "/v1/filters:save", { name, entry, version });
export const observe = (event) => call("POST", "/v1/events", event);
export const getUser = (user, signal) =>
  call("GET", `/v1/users/${encodeURIComponent(user)}`, undefined, signal);
export const listEvents = (user, size, page = "") =>
  call("GET", `/v1/users/${encodeURIComponent(user)}/events?page_size=${size}&page_token=${encodeURIComponent(page)}`);
export const exportUser = (user) =>
  request("GET", `/v1/users/${encodeURIComponent(user)}/export`);
export const retract = (user, eventIds) =>
  call("POST", `/v1/users/${encodeURIComponent(user)}/events:retract`, { eventIds });
export const forget = (user) => call("DELETE", `/v1/users/${encodeURIComponent(user)}`);

// The metrics of the server, what it remembers of them, and its models: beside the page, and not of
// the API.
export const metrics = () => request("GET", "/metrics");
export const past = () => call("GET", "/console/past");
export const models = () => call("GET", "/console/models");
