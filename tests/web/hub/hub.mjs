// A stand-in for the hub before the page: its files with the real headers, `/v1` as daemon/web/types.js has it, on loopback alone.
// It keeps the rules that the page relies on: a cookie is not enough without the page's own Origin, a code is good once, an event is
// never lost over a restart.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { Refusal } from "./refusal.mjs";
import { answer } from "./routes.mjs";
import { served } from "./served.mjs";
import { NOON, hash, iso } from "./time.mjs";
import { approval, ofApproval, world } from "./world.mjs";

const WEB = new URL("../../../daemon/web/", import.meta.url);
export const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const TYPES = {
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
  html: "text/html; charset=utf-8",
  webmanifest: "application/manifest+json"
};
const BEAT = 2_000;

export class Hub {
  /** `frozen`: its clock stands. `delay`: every answer takes so long. `noStream`: a proxy holds streams back. */
  constructor({ many, frozen = false, empty = false, delay = 0, noStream = false, web = false } = {}) {
    this.world = world({ many });
    Object.assign(this, {
      frozen,
      delay,
      noStream,
      web,
      began: Date.now(),
      codes: new Set(),
      logins: new Map(),
      nonces: new Map(),
      streams: new Set(),
      seen: [],
      token: "operator-token-of-the-test",
      key: hash("hub key")
    });
    if (empty)
      Object.assign(this.world, {
        approvals: [],
        messages: [],
        audit: [],
        sessions: [],
        local: [],
        requests: [],
        turns: [],
        channels: [],
        companions: [],
        lines: {},
        agents: this.world.agents.filter((one) => one.role === "operator"),
        updates: { ...this.world.updates, root: null, releases: [], roll_outs: [] }
      });
  }

  now() {
    return this.frozen ? NOON : NOON + Date.now() - this.began;
  }

  code() {
    const code = randomBytes(16).toString("base64url");
    this.codes.add(code);
    return code;
  }

  async listen(port = 0) {
    this.server = createServer((request, response) => this.serve(request, response));
    this.sockets = new Set();
    this.server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
    });
    await new Promise((done, failed) => this.server.once("error", failed).listen(port, "127.0.0.1", done));
    this.port = this.server.address().port;
    this.origin = `http://localhost:${this.port}`;
    return this;
  }

  /** Stops at once, as `kill -9` does. */
  async stop() {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((done) => this.server.close(done));
  }

  async restart(away = 0, meanwhile = () => {}) {
    await this.stop();
    meanwhile();
    await new Promise((done) => setTimeout(done, away));
    await this.listen(this.port);
  }

  /** Something happens. */
  emit(event, message = null, { actor = "hub", detail = {} } = {}) {
    const row = { seq: ++this.world.seq, at: iso(this.now()), actor, event, message, detail, hash: hash(`row ${this.world.seq}`) };
    this.world.audit.push(row);
    for (const stream of this.streams) stream(row);
    return row;
  }

  /** Another message is held. */
  hold(given) {
    const made = approval(this.world, { agent: "engineer", to: "slack:channel:C0123ABC", name: "release-room", account: "work", ...given });
    Object.assign(made, { asked_at: iso(this.now()), deadline: iso(this.now() + 600_000) });
    this.world.messages.unshift(ofApproval(made));
    this.emit("message.accepted", made.message);
    this.emit("message.held", made.message);
    return made;
  }

  /** A person decides on a companion. */
  decide(request, verdict, by = "companion:shelf") {
    const one = this.world.approvals.find((approval) => approval.request === request);
    Object.assign(one, { state: verdict === "approve" ? "sent" : "denied", decided_at: iso(this.now()), by: [by] });
    const message = this.world.messages.find((known) => known.id === one.message);
    if (message) Object.assign(message, { state: one.state, ended_at: one.decided_at });
    if (verdict === "approve") {
      this.emit("message.ready", one.message, { actor: by });
      this.emit("message.sent", one.message);
    } else this.emit("message.denied", one.message, { actor: by });
  }

  async serve(request, response) {
    const url = new URL(request.url, this.origin ?? "http://localhost");
    this.seen.push(`${request.method} ${url.pathname}${url.search}`);
    response.setHeader("content-security-policy", CSP);
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader("referrer-policy", "no-referrer");
    response.setHeader("cache-control", "no-cache");
    try {
      if (!/^(localhost|127\.0\.0\.1)(:\d+)?$/.test(request.headers.host ?? ""))
        throw new Refusal(421, "forbidden", "this is not a name of this hub");
      if (this.delay && url.pathname.startsWith("/v1/")) await new Promise((done) => setTimeout(done, this.delay));
      if (this.broken?.test(url.pathname)) throw new Refusal(502, "execution_failed", "the database failed", "see the hub's log");
      if (url.pathname === "/") return await this.file("index.html", request, response);
      const file = /^\/web\/([a-z]+\.(js|css|svg|webmanifest))$/.exec(url.pathname)?.[1];
      if (file && file !== "types.js") return await this.file(file, request, response);
      if (!url.pathname.startsWith("/v1/")) throw new Refusal(404, "not_found", "there is nothing at this path");
      await this.call(request, response, url);
    } catch (error) {
      if (!(error instanceof Refusal)) console.error(error);
      const { status = 500, code = "execution_failed", message, hint = "", reason } = error;
      if (response.headersSent) return response.destroy();
      response
        .writeHead(status, { "content-type": "application/problem+json" })
        .end(JSON.stringify({ type: "about:blank", status, ok: false, code, error: message, hint, ...(reason ? { reason } : {}) }));
    }
  }

  async file(name, request, response) {
    const body = served(name, await readFile(new URL(name, WEB), "utf8")),
      etag = `"${hash(body).slice(0, 16)}"`;
    response.setHeader("etag", etag);
    if (request.headers["if-none-match"] === etag) return response.writeHead(304).end();
    response.writeHead(200, { "content-type": TYPES[name.split(".").pop()] }).end(body);
  }

  login(request) {
    const cookie = /(?:^|; )gatepost=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1];
    return cookie && this.logins.get(hash(cookie));
  }

  begin(response, way) {
    const cookie = randomBytes(32).toString("base64url"),
      login = { way };
    this.logins.set(hash(cookie), login);
    response.setHeader("set-cookie", `gatepost=${cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000`);
    return login;
  }

  async call(request, response, url) {
    const login = this.login(request),
      anybody = ["POST /v1/login", "POST /v1/passkeys/challenge"].includes(`${request.method} ${url.pathname}`);
    if (!login && !anybody) throw new Refusal(401, "unauthorized", "nobody is signed in here", "open the page with: gatepost open");
    let body = {};
    if (request.method !== "GET") {
      if (request.headers.origin !== this.origin && request.headers.origin !== this.origin.replace("localhost", "127.0.0.1"))
        throw new Refusal(403, "forbidden", "this comes from another page", "", "origin");
      if (!/^application\/json/.test(request.headers["content-type"] ?? ""))
        throw new Refusal(403, "forbidden", "this is no JSON", "", "origin");
      const pieces = [];
      for await (const piece of request) pieces.push(piece);
      body = JSON.parse(Buffer.concat(pieces).toString() || "{}");
    }
    if (url.pathname === "/v1/events") return this.stream(request, response, Number(url.searchParams.get("after") ?? this.world.seq));
    if (url.pathname === "/v1/audit/verify") return this.verify(response);
    if (url.pathname === "/v1/boards" && request.method === "POST") return this.install(response, body);
    const made = await answer(this, { method: request.method, path: url.pathname, keys: url.searchParams, body, login, response });
    if (made === undefined) throw new Refusal(404, "not_found", "there is nothing at this path");
    if (response.headersSent) return;
    if (this.loses?.test(url.pathname)) return void response.destroy();
    response
      .writeHead(request.method === "POST" && made.created ? 201 : 200, { "content-type": "application/json" })
      .end(JSON.stringify({ ok: true, ...made, created: undefined }));
  }

  stream(request, response, after) {
    if (this.noStream) return;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const write = (row) =>
      response.write(
        `id: ${row.seq}\nevent: ${row.event}\ndata: ${JSON.stringify({ seq: row.seq, at: row.at, id: row.message, actor: row.actor, detail: row.detail })}\n\n`
      );
    response.write(`id: ${after}\nretry: 2000\n: from here on\n\n`);
    this.world.audit.filter((row) => row.seq > after).forEach(write);
    const beat = setInterval(() => response.write(`id: ${this.world.seq}\n: nothing new\n\n`), BEAT);
    this.streams.add(write);
    response.on("close", () => {
      clearInterval(beat);
      this.streams.delete(write);
    });
  }

  async install(response, { port, network, password }) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const say = async (event, data) => {
      response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      await new Promise((next) => setTimeout(next, this.frozen ? 5 : 60));
    };
    await say("step", { step: "board", board: "esp32c3" });
    await say("step", { step: "begins", version: "1.4.0" });
    for (const percent of [20, 64]) await say("step", { step: "written", percent });
    // A board that takes its time.
    if (port === "/dev/slow") return new Promise((gone) => response.on("close", gone));
    await say("step", { step: "written", percent: 100 });
    await say("step", { step: "verified" });
    await say("step", { step: "joining" });
    const joins = !network || password === "correct horse";
    if (joins) for (const step of ["joined", "hub_kept"]) await say("step", { step });
    await say(...(joins ? ["done", { ok: true }] : ["failed", { ok: false, error: "it could not join the network: is the password right?" }]));
    response.end();
  }

  async verify(response) {
    const of = this.world.audit.length + 18_000;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const done of [0.2, 0.6, 1]) {
      response.write(`event: progress\ndata: ${JSON.stringify({ done: Math.round(of * done), of })}\n\n`);
      await new Promise((next) => setTimeout(next, 60));
    }
    response.end(
      `event: report\ndata: ${JSON.stringify({ ok: true, rows: of, purged_to: 0, last: this.world.seq, signed_to: this.world.seq - 12, checkpoints: 41, decisions: 312, faults: this.faults ?? [] })}\n\n`
    );
  }
}
