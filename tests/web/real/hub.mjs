// The page as the hub itself serves it: the same bytes as those that it was tried with, signing in and out, and every screen whose
// calls the hub has.

import { readFileSync, readdirSync } from "node:fs";
import { axe } from "../axe.mjs";
import { expect, sees, settled, watched } from "../browser.mjs";
import { CSP } from "../hub/hub.mjs";
import { served } from "../hub/served.mjs";
import { Program } from "../program.mjs";

const WEB = new URL("../../../daemon/web/", import.meta.url);
/**
 * What each screen needs of the hub: a path that it describes, and a key that the path's GET knows. A screen without it is not looked at.
 * They are in groups, which a busy machine looks at beside each other.
 */
const PEOPLE = {
  waiting: ["/v1/approvals/{request}"],
  messages: ["/v1/messages", "q"],
  conversations: ["/v1/local", "last"],
  turns: ["/v1/turns"],
  agents: ["/v1/agents/{name}/mute"],
  channels: ["/v1/channels/guides"]
};
const HOUSE = {
  companions: ["/v1/companions"],
  audit: ["/v1/audit"],
  figures: ["/v1/figures"],
  updates: ["/v1/updates"],
  settings: ["/v1/settings"],
  more: ["/v1/login"]
};

const WIDE = { width: 1360 },
  DARK = { width: 390, height: 844, scheme: "dark" };

const described = async (hub) => (await (await fetch(`${hub.origin}/openapi.json`)).json()).paths;

/**
 * A window at a hub of its own. A call that the hub does not have yet is told in the console as not found, and is no fault; nor is
 * that nobody is signed in.
 */
async function visit(browser, { more = "", ...window } = {}) {
  const hub = await Program.start(more),
    paths = await described(hub),
    patterns = Object.keys(paths).map((path) => new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`));
  const missing = new Set();
  const expected = (line) => {
    if (!/^Failed to load resource/.test(line.text())) return false;
    const { pathname } = new URL(line.location().url);
    if (/401/.test(line.text())) return pathname === "/v1/login" || pathname === "/v1/events";
    if (patterns.some((known) => known.test(pathname)) || !/404/.test(line.text())) return false;
    missing.add(pathname);
    return true;
  };
  const { context, faults } = await watched(browser, hub.origin, { ...window, expected });
  const page = await context.newPage();
  const close = async () => {
    await context.close();
    await hub.stop();
  };
  return { hub, context, page, faults, missing, paths, close };
}

async function signIn(hub, page, hash = "") {
  await page.goto(await hub.cli("open", "--print"));
  await page.waitForSelector("nav.nav");
  if (hash) await page.goto(`${hub.origin}/${hash}`);
  await settled(page);
}

/** Goes through all screens of a group in a window. */
async function everyScreen(browser, screens, window) {
  const { hub, page, faults, missing, paths, close } = await visit(browser, window);
  await hub.call("POST", "/v1/inbound", { agent: "engineer", channel: "local", peer: "ann", sender: "ann", text: "Is it done?" });
  await signIn(hub, page);
  for (const [screen, [path, key]] of Object.entries(screens)) {
    if (!paths[path] || (key && !paths[path].get.parameters?.some(({ name }) => name === key))) {
      missing.add(`#/${screen}`);
      continue;
    }
    await page.goto(`${hub.origin}/#/${screen}`);
    await settled(page);
    await axe(page, `${screen} at ${window.width}`);
  }
  await close();
  expect(!faults.length, faults.join("\n"));
  if (missing.size) console.log(`        the hub has not yet: ${[...missing].join(" ")}`);
}

export default {
  "what it serves is the page, byte by byte, with its policy": async () => {
    const hub = await Program.start();
    const faults = [];
    let bytes = 0;
    for (const name of readdirSync(WEB)) {
      const path = name === "index.html" ? "/" : `/web/${name}`,
        answer = await fetch(hub.origin + path),
        body = await answer.text();
      if (name === "types.js") {
        if (answer.status !== 404) faults.push("types.js is served");
        continue;
      }
      bytes += Buffer.byteLength(body);
      if (body !== served(name, readFileSync(new URL(name, WEB), "utf8"))) faults.push(`${name} is another`);
      if (answer.headers.get("content-security-policy") !== CSP) faults.push(`${name} has another policy`);
      const again = await fetch(hub.origin + path, { headers: { "if-none-match": answer.headers.get("etag") } });
      if (again.status !== 304) faults.push(`${name} is sent again: ${again.status}`);
    }
    await hub.stop();
    expect(!faults.length, faults.join("\n"));
    console.log(`        the page has ${bytes} bytes as served`);
  },

  "a link of `gatepost open` signs in once, and a reload keeps the login": async (browser) => {
    const { hub, page, context, faults, close } = await visit(browser);
    const link = await hub.cli("open", "--print");
    expect(link.startsWith(`${hub.origin}/#in=`), link);
    await page.goto(link);
    await page.waitForSelector("nav.nav");
    expect(!page.url().includes("in="), `the code stays in the address: ${page.url()}`);
    const [cookie] = await context.cookies();
    expect(cookie.httpOnly && cookie.sameSite === "Strict" && cookie.expires > Date.now() / 1000 + 29 * 86_400, JSON.stringify(cookie));
    expect(
      (await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage }))) === "{}",
      "the page can read a secret"
    );
    await page.reload();
    await page.waitForSelector("nav.nav");
    await sees(page, "live", { exact: true });

    const other = await context.browser().newContext(),
      second = await other.newPage();
    await second.goto(link);
    await sees(second, "That link was used already");
    await other.close();
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "the operator's token signs in, and a wrong one says so": async (browser) => {
    const { hub, page, faults, close } = await visit(browser);
    await page.goto(hub.origin);
    await page.waitForSelector("main.door");
    await axe(page, "the door");
    const token = page.getByLabel("The operator’s token");
    await token.fill("gp_0");
    await page.getByRole("button", { name: "Sign in" }).click();
    await sees(page, "This is not an operator’s token of this hub.");
    await token.fill(readFileSync(`${hub.folder}/data/operator.token`, "utf8").trim());
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForSelector("nav.nav");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "every screen of what people and agents do loads without a word in the console, and axe finds nothing": (browser) =>
    everyScreen(browser, PEOPLE, WIDE),

  "every screen of the house's loads without a word in the console, and axe finds nothing": (browser) => everyScreen(browser, HOUSE, WIDE),

  "on a phone in the dark, too, every screen of what people and agents do": (browser) => everyScreen(browser, PEOPLE, DARK),

  "on a phone in the dark, too, every screen of the house's": (browser) => everyScreen(browser, HOUSE, DARK),

  "ending a login signs out, here and elsewhere": async (browser) => {
    const { hub, page, context, faults, close } = await visit(browser);
    await signIn(hub, page, "#/settings");
    const elsewhere = await fetch(`${hub.origin}/v1/login`, {
      method: "POST",
      headers: {
        origin: hub.origin,
        "content-type": "application/json",
        "user-agent": "Mozilla/5.0 (Linux; Android 10) Chrome/126.0 Mobile"
      },
      body: JSON.stringify({ code: (await hub.cli("open", "--print")).split("#in=")[1] })
    });
    const cookie = elsewhere.headers.get("set-cookie").split(";")[0],
      status = async () => (await fetch(`${hub.origin}/v1/login`, { headers: { cookie } })).status;
    expect(elsewhere.status === 201 && (await status()) === 200, `${elsewhere.status}`);
    await sees(page, "Chrome on Android");
    await page.getByRole("button", { name: "End the login of Chrome on Android" }).click();
    await page.getByText("Chrome on Android").waitFor({ state: "detached" });
    expect((await status()) === 401, "it goes on");

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForSelector("main.door");
    expect((await context.cookies()).length === 0, "the cookie stays");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "a login that is ended while the page is open ends there": async (browser) => {
    const { hub, page, faults, close } = await visit(browser);
    await signIn(hub, page, "#/agents");
    const { logins } = await hub.call("GET", "/v1/logins");
    await hub.call("DELETE", `/v1/logins/${logins[0].login}`);
    await page.getByRole("link", { name: "Audit" }).click();
    await sees(page, "gatepost open");
    await close();
    const other = faults.filter((fault) => !/401/.test(fault));
    expect(!other.length, other.join("\n"));
  },

  "a restart of the hub keeps the login, and the stream goes on": async (browser) => {
    const { hub, page, faults, close } = await visit(browser);
    await signIn(hub, page, "#/agents");
    await sees(page, "live", { exact: true });
    await hub.rest();
    await hub.run();
    await sees(page, "live", { exact: true });
    await hub.cli("agent", "add", "latecomer");
    await page.reload();
    await page.waitForSelector("nav.nav");
    await close();
    const other = faults.filter((fault) => !/ERR_/.test(fault));
    expect(!other.length, other.join("\n"));
  },

  "where there is no TLS a person is told what to do, and by no name of the hub's as well": async (browser) => {
    const { hub, close } = await visit(browser, { more: 'hosts = ["hub.test"]' });
    const page = await (await browser.newContext()).newPage();
    for (const [host, words] of [
      ["hub.test", "ssh -L"],
      ["evil.test", "is no name of this hub"]
    ]) {
      // The browser takes both for names of this machine, as a page that rebinds its name would have it.
      await page.route("**/*", async (route) => {
        const answer = await route.fetch({
          url: route.request().url().replace(host, "127.0.0.1"),
          headers: { ...route.request().headers(), host: `${host}:${hub.port}` }
        });
        await route.fulfill({ response: answer });
      });
      await page.goto(`http://${host}:${hub.port}/`);
      await sees(page, words);
      await page.unroute("**/*");
    }
    await page.context().close();
    await close();
  }
};
