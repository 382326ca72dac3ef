// What happens at the hub appears, whatever happens to the stream: another tab, a restart, a proxy that holds answers back, a slow
// network, a page that nobody looks at.

import { expect, sees, settled, visit } from "../browser.mjs";

const NO_STREAM = [/Failed to load resource.*ERR/, /net::ERR/];

const SCREENS =
  "messages conversations conversations/local turns agents channels channels/telegram companions audit figures updates waiting settings".split(
    " "
  );

/** Presses and chooses whatever there is, and leaves every question that is asked. */
async function pressEverything(page, screen) {
  await page.evaluate((screen) => (location.hash = `#/${screen}`), screen);
  await page.waitForTimeout(200);
  await page.evaluate(() => {
    for (const field of document.querySelectorAll("main select, main input")) field.dispatchEvent(new Event("change"));
    for (const button of document.querySelectorAll("main button:not([type=submit])")) {
      button.click();
      document.querySelector("dialog")?.close();
    }
    for (const form of document.querySelectorAll("main form")) {
      form.querySelectorAll("textarea, input").forEach((field) => (field.value = "something"));
      form.requestSubmit();
    }
  });
  await page.waitForTimeout(250);
}

export default {
  "a held message appears without a reload, and its decision on a companion closes it": async (browser) => {
    const { page, hub, faults, close } = await visit(browser);
    const held = hub.hold({ agent: "engineer", text: "A message that came while the page was open." });
    await sees(page, "A message that came while the page was open.");
    expect(/^4 waiting/.test(await page.title()), `the title is ${await page.title()}`);
    await page.locator("a.row", { hasText: "came while the page was open" }).click();
    await sees(page, "Decide on shelf");
    hub.decide(held.request, "approve");
    await sees(page, "Approved by shelf");
    await page.waitForFunction(() => document.title.startsWith("3 waiting"));
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "a denial, an expiry and a cancellation say what they are": async (browser) => {
    const { page, hub, faults, close } = await visit(browser);
    const [first] = hub.world.approvals;
    await page.goto(`${hub.origin}/#/waiting/${first.request}`);
    hub.decide(first.request, "deny");
    await sees(page, "Denied by shelf");
    const expiring = hub.hold({ text: "Nobody reads this one in time." });
    await page.goto(`${hub.origin}/#/waiting/${expiring.request}`);
    await sees(page, "Decide on shelf");
    Object.assign(hub.world.approvals.at(-1), { state: "expired", decided_at: new Date(hub.now()).toISOString() });
    hub.emit("message.expired", expiring.message);
    await sees(page, "Expired: nobody decided");
    const taken = hub.hold({ text: "This one is taken back." });
    await page.goto(`${hub.origin}/#/waiting/${taken.request}`);
    await page.getByRole("button", { name: "Take it back" }).click();
    await page.locator("dialog").getByRole("button", { name: "Take it back" }).click();
    await sees(page, "Taken back");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "closing the card, or the page, decides nothing": async (browser) => {
    const { page, hub, close } = await visit(browser, { hub: { web: true } });
    const before = JSON.stringify(hub.world.approvals.map((one) => one.state));
    await page.goto(`${hub.origin}/#/messages`);
    await page.goBack();
    await page.close({ runBeforeUnload: true });
    await new Promise((done) => setTimeout(done, 200));
    expect(JSON.stringify(hub.world.approvals.map((one) => one.state)) === before, "a state has changed");
    expect(!hub.seen.some((call) => /decision|cancel/.test(call)), hub.seen.filter((call) => /decision|cancel/.test(call)).join());
    await close();
  },

  "a restart of the hub under an open page: the stream goes on without a gap": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { expects: NO_STREAM });
    hub.hold({ text: "Before the restart." });
    await sees(page, "Before the restart.");
    const last = hub.world.seq;
    await hub.restart(1_500, () => hub.hold({ text: "While the hub was away." }));
    hub.hold({ text: "After the restart." });
    await sees(page, "While the hub was away.");
    await sees(page, "After the restart.");
    await sees(page, "live", { exact: true });
    const resumed = hub.seen.filter((call) => call.startsWith("GET /v1/events")).at(-1);
    expect(Number(resumed.split("after=")[1]) >= last, `it went on at ${resumed}, and ${last} had been seen`);
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "every event is heard once, over ten breaks": async (browser) => {
    const { page, hub, close } = await visit(browser, { expects: NO_STREAM });
    await page.evaluate(async (after) => {
      const { live } = await import("/web/live.js");
      window.heard = [];
      window.one = live(
        after,
        (event, about) => window.heard.push(about),
        () => {}
      );
    }, hub.world.seq);
    const sent = [];
    for (let round = 0; round < 10; round += 1) {
      for (let one = 0; one < 5; one += 1) {
        sent.push(`${round}.${one}`);
        hub.emit("message.sent", `${round}.${one}`);
      }
      for (const socket of hub.sockets) socket.destroy();
      await new Promise((done) => setTimeout(done, 60));
    }
    await page.waitForFunction((many) => window.heard.length >= many, sent.length, { timeout: 20_000 });
    expect(JSON.stringify(await page.evaluate(() => window.heard)) === JSON.stringify(sent), "events were skipped, repeated or reordered");
    await close();
  },

  "two tabs see the same, and what one does the other shows": async (browser) => {
    const { page, hub, context, faults, close } = await visit(browser);
    const second = await context.newPage();
    await second.goto(`${hub.origin}/#/waiting`);
    await settled(second);
    await page.getByRole("button", { name: "Take it back" }).click();
    await page.locator("dialog").getByRole("button", { name: "Take it back" }).click();
    await sees(second, "Taken back");
    await second.waitForFunction(() => document.title.startsWith("2 waiting"));
    expect(hub.streams.size === 2, `${hub.streams.size} streams are open`);
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "a proxy that holds the stream back: the page asks again and again instead": async (browser) => {
    // It waits for a sign of life three times; here nobody has so long.
    const before = () => {
      const later = window.setTimeout;
      window.setTimeout = (then, ms, ...rest) => later(then, ms === 25_000 ? 300 : ms, ...rest);
    };
    const { page, hub, faults, close } = await visit(browser, { hub: { noStream: true }, before });
    await sees(page, "every 5 s");
    hub.hold({ text: "Heard of in another way." });
    await sees(page, "Heard of in another way.");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "on a slow network the frame comes first, and nothing is drawn twice": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { signIn: false, hash: "", hub: { delay: 400 }, expects: [/401/] });
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 150,
      downloadThroughput: 50_000,
      uploadThroughput: 20_000
    });
    await page.goto("about:blank");
    await page.goto(`${hub.origin}/#in=${hub.code()}`);
    await page.locator("nav.nav").waitFor({ timeout: 20_000 });
    // Whoever is faster than the network goes on elsewhere; what comes late is not drawn over it.
    await page.getByRole("link", { name: "Agents" }).click();
    await page.getByRole("link", { name: "Audit" }).click();
    await sees(page, "What happened, in a chain");
    await settled(page);
    expect((await page.locator("h1").allInnerTexts()).join() === "Audit", "two screens are drawn");
    await close();
    const other = faults.filter((fault) => !/about:blank/.test(fault));
    expect(!other.length, other.join("\n"));
  },

  "a page that nobody looks at gives its connection back, and catches up": async (browser) => {
    const { page, hub, faults, close } = await visit(browser);
    const hide = (hidden) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    await page.evaluate(() => {
      const later = window.setTimeout;
      window.setTimeout = (then, ms, ...rest) => later(then, ms === 30_000 ? 100 : ms, ...rest);
    });
    await hide(true);
    for (let tries = 0; hub.streams.size && tries < 50; tries += 1) await new Promise((done) => setTimeout(done, 100));
    expect(hub.streams.size === 0, "the stream stays open");
    hub.hold({ text: "While nobody looked." });
    await hide(false);
    await sees(page, "While nobody looked.");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "every button of every screen can be pressed": async (browser) => {
    const { page, faults, close } = await visit(browser, { hub: { web: true }, expects: [/40[0-9]/] });
    for (const screen of SCREENS) await pressEverything(page, screen);
    await sees(page, "Sign in");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "while the hub is away every screen stays, says so, and nothing throws": async (browser) => {
    const { page, hub, context, faults, close } = await visit(browser, { expects: NO_STREAM });
    for (const screen of SCREENS) {
      await page.goto(`${hub.origin}/#/${screen}`);
      await settled(page);
    }
    await hub.stop();
    for (const screen of SCREENS) await pressEverything(page, screen);
    expect(await page.evaluate(() => document.body.classList.contains("away")), "it does not say that the hub is away");
    await context.close();
    const other = faults.filter((fault) => !/ERR_/.test(fault));
    expect(!other.length, other.join("\n"));
    void close;
  },

  "a hub that is away at the start is asked again": async (browser) => {
    const { page, faults, close } = await visit(browser, { expects: NO_STREAM });
    await page.route("**/v1/login", (route) => route.abort());
    await page.reload();
    await sees(page, "The hub does not answer.");
    await page.unroute("**/v1/login");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator("nav.nav").waitFor();
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "a login that is ended elsewhere ends here": async (browser) => {
    const { page, hub, close } = await visit(browser, { expects: [/401/] });
    hub.logins.clear();
    await page.getByRole("link", { name: "Agents" }).click();
    await sees(page, "Sign in");
    await close();
  },

  "alone: the first sight of what waits takes no longer than 300 ms on loopback": async (browser) => {
    const { page, hub, context, close } = await visit(browser);
    const best = async (path, wait) => {
      const times = [];
      for (let round = 0; round < 5; round += 1) {
        const fresh = await context.newPage();
        await fresh.goto(hub.origin + path);
        await wait(fresh);
        times.push(await fresh.evaluate(() => performance.now()));
        await fresh.close();
      }
      return Math.min(...times);
    };
    const icon = await best("/web/icon.svg", () => null),
      first = await best("/#/waiting", (page) => page.locator(".sheet").waitFor());
    // Where somebody else computes as well, an icon takes long too.
    expect(first <= Math.max(300, 6 * icon), `it took ${Math.round(first)} ms, and an icon alone ${Math.round(icon)}`);
    const asked = await page.evaluate(
      () =>
        new Set(
          performance
            .getEntriesByType("resource")
            .map((one) => one.name.split("#")[0])
            .filter((name) => /\/web\//.test(name))
        ).size
    );
    expect(asked <= 22, `${asked} files were asked for`);
    await close();
  }
};
