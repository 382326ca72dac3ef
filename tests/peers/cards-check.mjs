// Judges Adaptive Cards with the parser of those who defined them (npm adaptivecards).
//
// Standard input: one card a line. Standard output: for each, one line with a JSON array of what is wrong: what the
// parser says while it reads, what it says of the whole, and what it dropped because it does not know it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const cards = createRequire(import.meta.url)("adaptivecards/dist/adaptivecards.js");

const kinds = (value) =>
  Array.isArray(value)
    ? value.flatMap(kinds)
    : value && typeof value === "object"
      ? [...(typeof value.type === "string" ? [value.type] : []), ...Object.values(value).flatMap(kinds)]
      : [];

function wrong(json) {
  const context = new cards.SerializationContext();
  const card = new cards.AdaptiveCard();
  card.parse(json, context);
  const said = [];
  for (let at = 0; at < context.eventCount; at++) said.push(context.getEventAt(at).message);
  for (const failure of card.validateProperties().validationEvents) said.push(failure.message);
  const kept = kinds(card.toJSON());
  for (const kind of kinds(json)) {
    const at = kept.indexOf(kind);
    if (at < 0) said.push(`it dropped a ${kind}`);
    else kept.splice(at, 1);
  }
  return said;
}

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) console.log(JSON.stringify(wrong(JSON.parse(line))));
