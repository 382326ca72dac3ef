// The hub itself: `gatepost run` in a folder of its own, with the hub's own inbox as its one channel, and what its command line prints.

import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const START_MS = 20_000;

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

const configuration = (port, broker, more, approval) => `[hub]
data_dir = "data"
listen = "127.0.0.1:${port}"
${more}
[broker]
listen = "127.0.0.1:${broker}"

[agents.engineer]
allow = ["local:*"]
cross_context = "allow"

[agents.housekeeper]
allow = ["local:*"]

[approval]
allow_software_companion = true
${approval}
[channels.local.home]
`;

/** Those that run. One that a failed test leaves behind ends with this process, and so does its folder. */
const running = new Set();
process.on("exit", () => {
  for (const hub of running) {
    hub.child?.kill("SIGKILL");
    rmSync(hub.folder, { recursive: true, force: true });
  }
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

export class Program {
  /** Starts one; when this returns it takes messages. `more` stands in `[hub]`, `approval` in `[approval]`. */
  static async start(more = "", approval = "") {
    const hub = new Program();
    hub.program = process.env.GATEPOST;
    if (!hub.program) throw new Error("no program: node tests/web/run.mjs --real target/debug/gatepost");
    hub.folder = mkdtempSync(join(tmpdir(), "gatepost-real-"));
    running.add(hub);
    hub.port = await freePort();
    hub.origin = `http://localhost:${hub.port}`;
    hub.config = join(hub.folder, "gatepost.toml");
    writeFileSync(hub.config, configuration(hub.port, await freePort(), more, approval), { mode: 0o600 });
    await hub.run();
    return hub;
  }

  async run() {
    this.log = "";
    this.child = spawn(this.program, ["--config", this.config, "run"], { stdio: ["ignore", "ignore", "pipe"], env: this.env() });
    this.child.stderr.setEncoding("utf8").on("data", (text) => (this.log += text));
    this.ended = new Promise((done) => this.child.once("exit", done));
    const until = Date.now() + START_MS;
    while (!this.log.includes("the hub is ready")) {
      if (Date.now() > until || this.child.exitCode !== null) throw new Error(`it does not start:\n${this.log}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  /** Nothing of the one who runs this: a display would have a browser started. */
  env() {
    return { PATH: process.env.PATH, HOME: this.folder, GATEPOST_LOG: "info,rumqttc=error" };
  }

  /** What a command prints. */
  async cli(...words) {
    const { stdout } = await promisify(execFile)(this.program, ["--config", this.config, ...words], { env: this.env() });
    return stdout.trim();
  }

  /** A call by the operator's token, as a program makes it. */
  async call(method, path, body) {
    const token = readFileSync(join(this.folder, "data/operator.token"), "utf8").trim();
    const answer = await fetch(`${this.origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {})
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** Ends it, and leaves its folder. */
  async rest() {
    this.child.kill("SIGTERM");
    await this.ended;
  }

  async stop() {
    await this.rest();
    running.delete(this);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
