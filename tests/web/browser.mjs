// A real Chromium, and a page in it that may not do what the page must never do: ask anybody but its hub, say anything in the
// console, break its own content security policy, or throw.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { Hub } from "./hub/hub.mjs";
import { NOON } from "./hub/time.mjs";

// Without the networking flags it looks for Google's hosts at every start.
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--font-render-hinting=none",
  "--force-color-profile=srgb"
];

export async function launch() {
  const folder = mkdtempSync(join(tmpdir(), "gatepost-web-"));
  // Its cache of fonts, and nothing of the one who runs this.
  const env = { ...process.env, FONTCONFIG_FILE: fileURLToPath(new URL("fonts.conf", import.meta.url)), XDG_CACHE_HOME: folder };
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: FLAGS, env });
  return {
    browser,
    close: async () => {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

/** A window at the hub of `origin`, and what its pages do wrong. `expected` knows the lines in the console that are none. */
export async function watched(browser, origin, { width = 1360, height = 900, scheme = "light", expected = () => false } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    timezoneId: "UTC",
    locale: "en-GB",
    hasTouch: width < 500
  });
  const faults = [];
  context.on("page", (page) => {
    page.on("console", (line) => {
      if (!expected(line)) faults.push(`the console says: ${line.text()} (${line.location().url})`);
    });
    page.on("pageerror", (error) => faults.push(`it throws: ${error.stack ?? error.message}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(origin + "/")) faults.push(`it asks ${request.url()}`);
    });
  });
  await context.addInitScript(() =>
    document.addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`))
  );
  return { context, faults };
}

/** Opens a hub, and a page that is signed in to it. What it did wrong stands in `faults`. */
export async function visit(
  browser,
  {
    hub: options = {},
    width = 1360,
    height = width < 500 ? 844 : 900,
    scheme = "light",
    hash = "#/waiting",
    signIn = true,
    expects = [],
    before = null
  } = {}
) {
  const hub = await new Hub(options).listen();
  const expected = (line) => expects.some((known) => known.test(line.text()));
  const { context, faults } = await watched(browser, hub.origin, { width, height, scheme, expected });
  if (before) await context.addInitScript(before);
  const page = await context.newPage();
  if (options.frozen) await page.clock.setFixedTime(NOON);
  if (signIn) {
    await page.goto(`${hub.origin}/#in=${hub.code()}`);
    await page.waitForSelector("nav.nav");
    if (hash !== "#/waiting") await page.goto(`${hub.origin}/${hash}`);
  } else await page.goto(`${hub.origin}/${hash}`);
  await settled(page);
  const close = async () => {
    await context.close();
    await hub.stop();
  };
  return { hub, context, page, faults, close };
}

/** Waits until nothing is asked any more but the stream, and what was answered is drawn. */
export async function settled(page) {
  await page.waitForFunction(() => !document.querySelector("main > .screen:empty") && document.fonts.status === "loaded");
  let before = "";
  for (let same = 0, tries = 0; same < 2 && tries < 40; tries += 1) {
    await page.waitForTimeout(80);
    const now = await page.evaluate(() => document.body.innerText);
    same = now === before ? same + 1 : 0;
    before = now;
  }
}

/** Waits for what a person would see. */
export const sees = (page, text, options) => page.getByText(text, options).first().waitFor({ state: "visible", timeout: 8_000 });

export function expect(truth, words) {
  if (!truth) throw new Error(words);
}
