// The stand-in hub answers what daemon/web/types.js says: every member that is required is there, and of its type. So the shapes that
// the page is checked against are those that it was tried with.

import { readFileSync } from "node:fs";
import { expect } from "../browser.mjs";
import { Hub } from "../hub/hub.mjs";

const TYPES = readFileSync(new URL("../../../daemon/web/types.js", import.meta.url), "utf8");

/** The members of a shape: `[name, type, required]`. */
function members(name) {
  const block = TYPES.split("/**").find((text) => text.includes(`@typedef {object} ${name}\n`));
  if (block) {
    // A type may hold braces of its own.
    return [...block.matchAll(/@property \{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})+)\} (\[?)([a-z_0-9]+)/gi)].map(
      ([, type, optional, key]) => [key, type, !optional]
    );
  }
  const inline = new RegExp(`@typedef \\{(?:\\w+ & )?\\{(.+)\\}\\} ${name}[ \\n]`).exec(TYPES)?.[1];
  if (!inline) throw new Error(`types.js has no shape ${name}`);
  // At the commas that are in no brace.
  let depth = 0;
  const pieces = [...inline]
    .map((char) => ((depth += char === "{" ? 1 : char === "}" ? -1 : 0), char === "," && !depth ? "\0" : char))
    .join("")
    .split("\0 ");
  return pieces.map((member) => {
    const [, key, optional, type] = /^([a-z_0-9]+)(\??): (.+)$/i.exec(member);
    return [key, type, !optional];
  });
}

const PLAIN = {
  string: "string",
  number: "number",
  boolean: "boolean",
  Time: "string",
  Hex: "string",
  Bytes: "string",
  State: "string",
  PartState: "string"
};

/** What is wrong with a value, if it has to be of this type. */
function wrong(value, type, where) {
  const either = type.split(" | ").map((one) => one.trim());
  if (value === null) return either.includes("null") ? [] : [`${where} is null, and has to be ${type}`];
  if (either.every((one) => one.startsWith('"') || one === "null"))
    return either.includes(JSON.stringify(value)) ? [] : [`${where} is ${JSON.stringify(value)}, and has to be one of ${type}`];
  const [one] = either.filter((one) => one !== "null");
  if (one in PLAIN) {
    if (typeof value !== PLAIN[one]) return [`${where} is a ${typeof value}, and has to be ${type}`];
    return one === "Time" && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value) ? [`${where} is no time: ${value}`] : [];
  }
  if (one.endsWith("[]"))
    return Array.isArray(value) ? value.flatMap((item, at) => wrong(item, one.slice(0, -2), `${where}[${at}]`)) : [`${where} is no list`];
  if (one === "true" || one.startsWith("Record") || one.startsWith("{") || one.startsWith("(") || one.startsWith("Companion[")) return [];
  return shape(value, one, where);
}

function shape(value, name, where) {
  if (typeof value !== "object" || value === null) return [`${where} is no ${name}`];
  return members(name).flatMap(([key, type, required]) => {
    if (value[key] === undefined) return required ? [`${where}.${key} is missing (${name})`] : [];
    return wrong(value[key], type, `${where}.${key}`);
  });
}

/** A call, the member of its answer (all of it without one), and the shape. */
const ANSWERS = [
  ["login", "", "Login"],
  ["logins", "logins", "OpenLogin[]"],
  ["approvals", "", "Approvals"],
  ["messages?limit=100", "messages", "Summary[]"],
  ["sessions", "sessions", "Session[]"],
  ["sessions/transcript?agent=housekeeper&session=family", "lines", "SessionLine[]"],
  ["local?last=9", "arrived", "Arrived[]"],
  ["people", "requests", "AccessRequest[]"],
  ["turns", "turns", "TurnRow[]"],
  ["turns/t01", "", "TurnRow"],
  ["turns/t01", "items", "TurnItem[]"],
  ["agents", "agents", "AgentView[]"],
  ["channels", "channels", "Ready[]"],
  ["channels/guides/telegram", "", "ChannelGuide"],
  ["companions", "companions", "Companion[]"],
  ["updates", "", "Updates"],
  ["audit", "", "Audit"],
  ["audit", "rows", "AuditRow[]"],
  ["figures", "", "Figures"],
  ["figures", "buckets", "Bucket[]"],
  ["settings", "", "Settings"]
];

export default {
  "the stand-in hub answers in the shapes of types.js": async () => {
    const hub = await new Hub({ frozen: true, web: true }).listen(),
      headers = { origin: hub.origin, "content-type": "application/json" };
    const signedIn = await fetch(`${hub.origin}/v1/login`, { method: "POST", headers, body: JSON.stringify({ token: hub.token }) });
    const cookie = signedIn.headers.get("set-cookie").split(";")[0],
      get = async (path) => (await fetch(`${hub.origin}/v1/${path}`, { headers: { cookie } })).json();
    const faults = [];
    for (const [path, member, type] of ANSWERS) {
      const answer = await get(path),
        value = member ? answer[member] : answer;
      if (Array.isArray(value) && !value.length) faults.push(`${path} has nothing to look at`);
      faults.push(...wrong(value, type, path));
    }
    for (const { request, kind } of hub.world.approvals) {
      const approval = await get(`approvals/${request}`);
      faults.push(...shape(approval, "ApprovalRow", kind), ...shape(approval, "ApprovalView", kind));
    }
    for (const { id } of hub.world.messages) faults.push(...shape(await get(`messages/${id}`), "Whole", id));
    await hub.stop();
    expect(!faults.length, [...new Set(faults)].slice(0, 40).join("\n"));
  },

  "every call of the page is one that types.js describes": async () => {
    const api = readFileSync(new URL("../../../daemon/web/api.js", import.meta.url), "utf8");
    const calls = [...api.matchAll(/^ {2}(\w+): "(GET|POST|DELETE) ([^"]+)"/gm)];
    expect(calls.length > 40, `${calls.length} calls were found`);
    const described = members("Calls").map(([key]) => key);
    const unlike = calls.filter(([, name]) => !described.includes(name)).map(([, name]) => name);
    expect(
      !unlike.length && described.length === calls.length,
      `undescribed: ${unlike.join()}; described: ${described.length}, in the table: ${calls.length}`
    );
  }
};
