// What a person does with the page, screen by screen, and by keyboard alone.

import { expect, sees, settled, visit } from "../browser.mjs";

export default {
  "by keyboard alone: to the card, through the list, to another screen": async (browser) => {
    const { page, hub, faults, close } = await visit(browser);
    await page.keyboard.press("Tab");
    expect(
      (await page.evaluate(() => document.activeElement.textContent)) === "Skip to the content",
      "the first stop is not the way past the sections"
    );
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    const row = () =>
      page.evaluate(() => document.activeElement.closest("a.row")?.dataset.key ?? document.activeElement.outerHTML.slice(0, 80));
    expect((await row()) === hub.world.approvals[0].request, `the first stop in the content is ${await row()}`);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await sees(page, "referral-hale.pdf");
    expect((await row()) === hub.world.approvals[1].request, "the focus left the list");
    // A change elsewhere does not take the focus away.
    hub.hold({ text: "Something new, first in the list of nothing." });
    await sees(page, "Something new, first in the list of nothing.");
    expect((await row()) === hub.world.approvals[1].request, `the focus went to ${await row()}`);
    for (let tabs = 0; tabs < 60 && !(await page.evaluate(() => document.activeElement.textContent === "Take it back")); tabs += 1)
      await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    expect(hub.world.approvals[1].state === "held", "escape took it back");
    expect((await page.evaluate(() => document.activeElement.textContent)) === "Take it back", "the focus did not come back");
    await page.goto(`${hub.origin}/#/agents`);
    await settled(page);
    const ringed = await page.evaluate(() => {
      document.querySelector("button.btn").focus();
      return getComputedStyle(document.activeElement).outlineStyle;
    });
    expect(ringed === "solid", `what has the focus is not ringed: ${ringed}`);
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "a board is installed, and is paired at once": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hash: "#/companions" });
    const begin = async (fields) => {
      await page.getByRole("button", { name: "Install a board" }).click();
      for (const [label, text] of Object.entries(fields)) await page.getByLabel(label).fill(text);
      await page.getByRole("button", { name: "Install it" }).click();
    };
    await begin({ "Wireless network": "home", "Its password": "wrong" });
    await sees(page, "it could not join the network");
    await begin({ "Serial port": "/dev/slow" });
    await sees(page, "Firmware 1.4.0 is written");
    await page.getByRole("button", { name: "Stop" }).click();
    await sees(page, "Stopped.");
    await begin({ "Wireless network": "home", "Its password": "correct horse" });
    await sees(page, "Is this the number");
    await page.getByRole("button", { name: "It is the same" }).click();
    await sees(page, "is paired");
    expect(hub.world.companions.length === 3, `${hub.world.companions.length} companions`);
    expect(!(await page.content()).includes("correct horse"), "the password is on the page");
    expect(!faults.length, faults.join("\n"));
    await close();
  },

  "a companion is paired: the same number, and another one": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hash: "#/companions", expects: [/409/] });
    await page.getByRole("button", { name: "Add one" }).click();
    await sees(page, "Is this the number on the device?");
    expect((await page.locator(".digits").innerText()).replace(/\D/g, "") === "407912", "other digits");
    await page.getByLabel("What people call it").fill("kitchen");
    await page.getByRole("button", { name: "It is the same" }).click();
    await sees(page, "kitchen is paired");
    await page.getByRole("heading", { name: "kitchen" }).waitFor();
    await page.getByRole("button", { name: "Add one" }).click();
    await page.getByRole("button", { name: "It differs" }).click();
    await sees(page, "Nobody was paired");
    expect(hub.world.companions.length === 3, `${hub.world.companions.length} companions`);
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "a companion is revoked only by its typed name": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hash: "#/companions" });
    const tile = page.getByRole("region", { name: "hall" }).or(page.locator('section[aria-label="hall"]')).first();
    await tile.getByRole("button", { name: "Revoke" }).click();
    const go = page.locator("dialog").getByRole("button", { name: "Revoke it" });
    expect(await go.isDisabled(), "it can be revoked at once");
    await page.keyboard.type("shelf");
    expect(await go.isDisabled(), "another name will do");
    await page.locator("dialog input").fill("hall");
    await go.click();
    await sees(page, "Revoked. 1 companion left.");
    await sees(page, "1 companion revoked");
    expect(hub.world.companions[1].revoked_at && !hub.world.companions[0].revoked_at, "the wrong one");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "a token is seen once, and a target tried": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hash: "#/agents" });
    const gardener = page.locator('section[aria-label="gardener"]');
    await gardener.getByRole("button", { name: "Make a token" }).click();
    await page.locator("dialog").getByRole("button", { name: "Make it" }).click();
    await sees(page, "This is the one time that it is seen");
    const token = await page.locator("dialog pre").innerText();
    expect(/^gp_[\w-]{43}$/.test(token), token);
    await page.getByRole("button", { name: "I have it" }).click();
    await page.locator("dialog").waitFor({ state: "detached" });
    expect(!(await page.content()).includes(token), "the token is still in the page");
    const engineer = page.locator('section[aria-label="engineer"]');
    await engineer.getByText("Try a target").click();
    for (const [to, says] of [
      ["slack:channel:C0123ABC", "A person is asked"],
      ["telegram:1", "It goes at once"],
      ["email:x@example.org", "It is refused"]
    ]) {
      await engineer.getByRole("textbox").fill(to);
      await engineer.getByRole("button", { name: "Try" }).click();
      await engineer.getByText(says).waitFor();
    }
    // A list that is drawn anew keeps what is unfolded and written.
    await engineer.getByRole("textbox").fill("half writ");
    hub.emit("token.added");
    await page.waitForTimeout(500);
    expect((await engineer.getByRole("textbox").inputValue()) === "half writ", "what was written is gone");
    await engineer.getByRole("button", { name: "Mute for an hour" }).click();
    await engineer.getByRole("button", { name: "End the mute" }).waitFor();
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "a message that may have arrived is sent again only on purpose": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hash: "#/messages?state=unknown" });
    const id = await page.locator("a.row").first().getAttribute("data-key"),
      one = hub.world.messages.find((message) => message.id === id);
    await page.getByRole("button", { name: "Send again, perhaps twice" }).click();
    const go = page.locator("dialog").getByRole("button", { name: "Send it again" });
    expect(await go.isDisabled(), "one press is enough");
    await page.locator("dialog input").fill("twice");
    await page.keyboard.press("Enter");
    await sees(page, "It is sent again");
    expect(one.state === "ready", one.state);
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "messages are found by text, state and agent, and the address keeps it": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hub: { many: 300 }, hash: "#/messages" });
    await page.getByLabel("Search messages").fill("PARCEL");
    await page.waitForFunction(() => location.hash.includes("q=PARCEL"));
    await page.waitForFunction(() => parseInt(document.querySelector(".list > header p").textContent) < 100);
    await settled(page);
    const texts = await page.locator(".many .row").allInnerTexts();
    expect(texts.length > 10 && texts.every((text) => /parcel|failed|unknown/i.test(text)), texts[0]);
    await page.getByLabel("State").selectOption("denied");
    await page.waitForFunction(() => location.hash.includes("state=denied"));
    await settled(page);
    expect(
      (await page.locator(".many .row").allInnerTexts()).every((text) => /denied/.test(text)),
      "another state is shown"
    );
    await page.reload();
    await settled(page);
    expect(
      (await page.getByLabel("State").inputValue()) === "denied" && (await page.getByLabel("Search messages").inputValue()) === "PARCEL",
      "a reload forgets the filters"
    );
    await page.getByLabel("Search messages").fill("there is no such text");
    await sees(page, "Nothing fits");
    await page.getByRole("button", { name: "Show all" }).click();
    await page.locator(".many .row").first().waitFor();
    expect(!hub.seen.some((call) => /limit=(?!100|200)\d/.test(call)), "a listing without a bound");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "alone: 10,000 messages stay smooth": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hub: { many: 10_000 }, hash: "#/messages" });
    await page.evaluate(() => {
      window.long = [];
      new PerformanceObserver((list) => window.long.push(...list.getEntries().map((entry) => entry.duration))).observe({
        entryTypes: ["longtask"]
      });
    });
    const list = page.locator(".list");
    const rows = await list.evaluate(async (node) => {
      const all = node.getElementsByClassName("row");
      for (let step = 0; step < 900 && all.length < 10_000; step += 1) {
        node.scrollTo(0, node.scrollHeight);
        await new Promise((done) => setTimeout(done, 20));
      }
      return all.length;
    });
    expect(rows >= 10_000, `${rows} rows came`);
    const worst = Math.max(0, ...(await page.evaluate(() => window.long)));
    expect(worst < 350, `the page stood still for ${Math.round(worst)} ms while it read on`);
    // Then something happens, and somebody scrolls through all of it.
    await page.evaluate(() => (window.long = []));
    hub.hold({ text: "The newest of ten thousand." });
    await list.evaluate((node) => node.scrollTo(0, 0));
    await page.waitForFunction(() => document.querySelector(".many .row").textContent.includes("The newest of ten thousand."), null, {
      timeout: 3_000
    });
    const frames = await list.evaluate(async (node) => {
      const times = [];
      for (let at = 0, before = performance.now(); at < 40; at += 1) {
        node.scrollTo(0, (node.scrollHeight / 40) * at);
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - before);
        before = performance.now();
      }
      return times.sort((a, b) => a - b);
    });
    expect(frames[20] < 50, `half of the frames took over ${Math.round(frames[20])} ms`);
    const after = Math.max(0, ...(await page.evaluate(() => window.long)));
    expect(after < 350, `the page stood still for ${Math.round(after)} ms when something happened`);
    await page.getByLabel("Search messages").fill("parcel");
    await page.waitForFunction(() => document.querySelectorAll(".many .row").length <= 200, null, { timeout: 5_000 });
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "the audit is checked, and a fault is named": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hash: "#/audit" });
    await page.getByRole("button", { name: "Check all of it" }).click();
    await sees(page, "The chain holds");
    hub.faults = ["row 18206 was changed, or the one before it together with its hash"];
    await page.getByRole("button", { name: "Check all of it" }).click();
    await sees(page, "Something does not fit");
    await sees(page, "row 18206 was changed");
    await page.getByLabel("What").selectOption("call");
    await settled(page);
    expect(
      (await page.locator("tbody tr").allInnerTexts()).every((text) => /refused/i.test(text)),
      "other rows are shown"
    );
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Export" }).click();
    expect((await download).suggestedFilename() === "audit.jsonl", "another file");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "something is said to an agent, and somebody is let in": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hash: "#/conversations/engineer%2Fmain" });
    await page.getByLabel("What to say to engineer").fill("Announce it, please.");
    await page.getByRole("button", { name: "Say it" }).click();
    await page.locator(".said-lines li", { hasText: "Announce it, please." }).waitFor();
    await page.getByRole("link", { name: /^The local inbox/ }).click();
    await page.locator(".said-lines li", { hasText: "I have asked to announce it" }).waitFor();
    await page.getByRole("button", { name: "Let in" }).click();
    await page.locator(".asking").waitFor({ state: "detached" });
    expect(hub.world.requests.length === 0 && hub.world.lines["engineer main"].at(-1).who === "me", "it did not arrive");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "a turn that failed is given out again; a test message leads to its timeline; a guide is read": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hash: "#/turns/t03", expects: [/404/] });
    await page.getByRole("button", { name: "Give it out again" }).click();
    await sees(page, "It waits again");
    expect(hub.world.turns[2].state === "waiting", hub.world.turns[2].state);
    await page.goto(`${hub.origin}/#/channels`);
    await page.getByRole("button", { name: "Send a test message" }).first().click();
    await page.locator("dialog input").fill("123456789");
    await page.locator("dialog").getByRole("button", { name: "Send it" }).click();
    await page.waitForFunction(() => location.hash.startsWith("#/messages/m"));
    for (const { channel } of hub.world.guides) {
      await page.goto(`${hub.origin}/#/channels/${channel}`);
      await page.locator(".prose h2").first().waitFor();
      const text = await page.locator(".prose").evaluate((node) => {
        const copy = node.cloneNode(true);
        copy.querySelectorAll("pre, code").forEach((code) => code.remove());
        return copy.textContent;
      });
      expect(!/`|\*\*|^#/m.test(text), `${channel}'s guide shows its Markdown: ${/.*(`|\*\*|^#).*/m.exec(text)?.[0]}`);
    }
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "the hub's update is asked for, and a login elsewhere ended": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hash: "#/updates" });
    await page.getByRole("button", { name: "Update the hub" }).click();
    await page.locator("dialog").getByRole("button", { name: "Update it" }).click();
    await sees(page, "0.9.1 is installed");
    await page.goto(`${hub.origin}/#/settings`);
    await page.getByRole("button", { name: "End the login of Safari on iPhone" }).click();
    await page.getByText("Safari on iPhone").waitFor({ state: "detached" });
    await page.getByLabel("Find a key").fill("cards");
    await page.waitForFunction(() => document.querySelectorAll(".keys dt").length === 1);
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "what the hub cannot answer is said once, and the rest goes on": async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { expects: [/50[02]/] });
    hub.broken = /v1\/agents/;
    await page.goto(`${hub.origin}/#/agents`);
    await sees(page, "the database failed");
    hub.emit("token.added");
    await page.waitForTimeout(600);
    expect((await page.locator(".said").count()) === 1, "it is said again and again");
    hub.broken = null;
    hub.emit("token.added");
    await page.getByRole("heading", { name: "engineer" }).waitFor();
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "on a phone: the list, the card, and back": async (browser) => {
    const { page, faults, close } = await visit(browser, { width: 390 });
    await page.locator("a.row").first().tap();
    await sees(page, "Decide on shelf");
    expect(!(await page.locator(".list").isVisible()), "the list is still there");
    await page.getByRole("link", { name: "Waiting" }).first().tap();
    await page.locator(".list").waitFor();
    await page.getByRole("link", { name: "More", exact: true }).tap();
    await page.locator(".more a", { hasText: "Audit" }).tap();
    await sees(page, "Check all of it");
    const small = await page.evaluate(() =>
      [...document.querySelectorAll("nav.nav a, main button, main select")]
        .filter((node) => node.offsetParent && node.getBoundingClientRect().height < 32)
        .map((node) => node.outerHTML.slice(0, 80))
    );
    expect(!small.length, `too small for a finger: ${small.join()}`);
    await close();
    expect(!faults.length, faults.join("\n"));
  }
};
