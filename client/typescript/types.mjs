// Writes src/api.ts: the messages of the JSON side, as types. They come from the OpenAPI document
// that the server has as /openapi.json; which fields may be absent from an answer is said by the
// protocol files alone.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);
const api = JSON.parse(
  readFileSync(new URL("server/internal/httpjson/openapi.json", root), "utf8"));
const protos = new URL("api/gsimc/v1/", root);
const maybe = new Set(); // fields that are optional, or messages of Google's, in some message
for (const name of readdirSync(protos).filter((name) => name.endsWith(".proto")))
  for (const [, field] of readFileSync(new URL(name, protos), "utf8")
    .matchAll(/^ *(?:optional \w+|google\.protobuf\.\w+) (\w+) =/gm))
    maybe.add(field.replace(/_(.)/g, (_, c) => c.toUpperCase()));

const nameOf = (ref) => ref.slice(ref.lastIndexOf("/") + 1);
const definition = (name) => api.components.schemas[name];
const schemaOf = (part) => part?.content["application/json"].schema;

function type(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.enum) return schema.enum.map((name) => JSON.stringify(name)).join(" | ");
  if (schema.type === "array") return `${type(schema.items)}[]`;
  return { integer: "number", number: "number", boolean: "boolean", string: "string" }[schema.type];
}

// reached adds the names of what a schema consists of.
function reached(schema, names) {
  if (schema?.$ref && !names.has(nameOf(schema.$ref))) {
    names.add(nameOf(schema.$ref));
    reached(definition(nameOf(schema.$ref)), names);
  }
  for (const part of [schema?.items, ...Object.values(schema?.properties ?? {})])
    if (part) reached(part, names);
}

const calls = [];
const sent = new Set();
for (const [path, { post }] of Object.entries(api.paths)) {
  const body = schemaOf(post?.requestBody);
  if (!body) continue;
  reached(body, sent);
  if (!path.includes("{"))
    calls.push(`  "${path}": { request: ${type(body)}; answer: ${
      type(schemaOf(post.responses["200"]))} };`);
}

const comment = (text, indent) => (text ? `${indent}/** ${
  text.replaceAll("*/", "*\\/").replaceAll("\n", `\n${indent} * `)} */\n` : "");

// absent tells whether a message may come, or be sent, without a field: the server writes all but
// messages and fields that are marked as optional.
function absent(message, field, schema) {
  if (sent.has(message)) return !definition(message).required?.includes(field);
  return maybe.has(field) || (schema.$ref && !definition(nameOf(schema.$ref)).enum);
}

let text = "// Written by types.mjs.\n";
for (const [name, schema] of Object.entries(api.components.schemas)) {
  text += comment(schema.description, "");
  if (schema.enum) {
    text += `export type ${name} = ${type(schema)};\n`;
    continue;
  }
  text += `export interface ${name} {\n`;
  for (const [field, part] of Object.entries(schema.properties ?? {}))
    text += `${comment(part.description, "  ")}  ${JSON.stringify(field)}${
      absent(name, field, part) ? "?" : ""}: ${type(part)};\n`;
  text += schema.additionalProperties ? "  [more: string]: unknown;\n}\n" : "}\n";
}
text += `/** The calls that are a POST to a path without an id. */\nexport interface Calls {\n${
  calls.join("\n")}\n}\n`;
writeFileSync(new URL("src/api.ts", import.meta.url), text);
