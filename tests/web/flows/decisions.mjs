// A passkey decides, by the device's rules: what was shown is what is signed, and nothing else counts.

import { addPasskey, authenticator, hold, readToItsEnd } from "../authenticator.mjs";
import { expect, sees, settled, visit } from "../browser.mjs";

async function ready(browser, options = {}) {
  const visited = await visit(browser, { hub: { web: true }, hash: "#/settings", ...options });
  const verified = await authenticator(visited.page);
  await addPasskey(visited.page, visited.hub);
  await sees(visited.page, "Added");
  await visited.page.getByRole("button", { name: "Remove phone" }).waitFor();
  return { ...visited, verified };
}

/** Opens a card, and reads it to its end. */
async function card(page, hub, approval) {
  await page.goto(`${hub.origin}/#/waiting/${approval.request}`);
  const go = page.getByRole("button", { name: "Hold to approve" });
  await go.waitFor();
  // A press within 300 ms of the card may have been meant for what was there before; it does not count.
  await page.waitForTimeout(350);
  return go;
}

export default {
  "held for a second and a half, it is approved, and the hub verifies the signature": async (browser) => {
    const { page, hub, faults, close } = await ready(browser);
    const [first] = hub.world.approvals,
      go = await card(page, hub, first);
    await readToItsEnd(page);
    await hold(page, go, 1_800);
    await sees(page, "Approved by phone");
    expect(first.state === "sent" && first.by[0] === "web:phone", JSON.stringify([first.state, first.by]));
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "a card says who decides, and offers nothing to whom it is not for": async (browser) => {
    const { page, hub, faults, close } = await ready(browser);
    const [first, second] = hub.world.approvals;
    first.decided_by = "both";
    second.decided_by = "companion";
    await card(page, hub, first);
    await sees(page, "This takes a companion and a passkey.");
    await page.goto(`${hub.origin}/#/waiting/${second.request}`);
    await sees(page, "A companion decides on this.");
    await settled(page);
    for (const name of ["Deny", "Hold to approve"])
      expect((await page.getByRole("button", { name, exact: true }).count()) === 0, `${name} is offered`);
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "let go earlier, or before its end was seen, nothing happens": async (browser) => {
    const { page, hub, faults, close } = await ready(browser, { height: 560 });
    const [first] = hub.world.approvals,
      go = await card(page, hub, first);
    expect((await go.getAttribute("aria-disabled")) === "true", "it is armed before its end was seen");
    await hold(page, go, 1_800);
    await sees(page, "Read it to its end first.");
    await readToItsEnd(page);
    await hold(page, go, 900);
    await page.waitForTimeout(1_000);
    expect(
      first.state === "held" && !hub.seen.some((call) => call.includes("/challenge") && call.includes("approvals")),
      "a short hold decided"
    );
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "by keyboard: held with the space bar, and denied with enter": async (browser) => {
    const { page, hub, faults, close } = await ready(browser);
    const [first, second] = hub.world.approvals,
      go = await card(page, hub, second);
    await readToItsEnd(page);
    await go.focus();
    await page.keyboard.down(" ");
    await page.waitForTimeout(1_800);
    await page.keyboard.up(" ");
    await sees(page, "Approved by phone");
    await card(page, hub, first);
    await page.getByRole("button", { name: "Deny" }).focus();
    await page.keyboard.press("Enter");
    await sees(page, "Denied by phone");
    expect(second.state === "sent" && first.state === "denied", `${second.state}, ${first.state}`);
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "nobody verified: the browser signs nothing": async (browser) => {
    const { page, hub, verified, close } = await ready(browser);
    await verified(false);
    const [first] = hub.world.approvals,
      go = await card(page, hub, first);
    await readToItsEnd(page);
    await hold(page, go, 1_800);
    await sees(page, "Nothing was decided");
    expect(first.state === "held", first.state);
    await close();
  },

  "changed bytes, another verdict, a replay: the hub refuses": async (browser) => {
    const { page, hub, close } = await ready(browser, { expects: [/40[39]/] });
    const [first, second] = hub.world.approvals,
      sent = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/decision")) sent.push(request.postDataJSON());
    });
    const go = await card(page, hub, first);
    await readToItsEnd(page);
    // The hub changes what is signed after the page has read it.
    const kept = first.document;
    first.document = second.document;
    await hold(page, go, 1_800);
    await sees(page, "Nothing was decided");
    first.document = kept;
    expect(first.state === "held" && sent.length === 1, `${first.state}, ${sent.length} sent`);
    await page.waitForTimeout(200);
    await hold(page, go, 1_800);
    await sees(page, "Approved by phone");
    const again = (request, change) =>
      page.evaluate(
        async ([url, body]) =>
          (await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).status,
        [`/v1/approvals/${request}/decision`, { ...sent.at(-1), ...change }]
      );
    expect((await again(first.request, {})) === 409, "the same decision counted twice");
    expect((await again(second.request, {})) === 409, "a decision of another request counted");
    // The same signature, and a nonce that is good for the other request.
    const { nonce } = await page.evaluate(
      async (url) => (await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" })).json(),
      `/v1/approvals/${second.request}/challenge`
    );
    expect((await again(second.request, { nonce })) === 403, "a signature over something else counted");
    expect(second.state === "held", second.state);
    await close();
  },

  "an answer that is lost is not called undecided, and two buttons at once decide nothing": async (browser) => {
    const { page, hub, close } = await ready(browser, { expects: [/ERR_/] });
    const [first, second] = hub.world.approvals;
    let go = await card(page, hub, second);
    await readToItsEnd(page);
    await go.hover();
    await page.mouse.down();
    await page.waitForTimeout(300);
    await page.getByRole("button", { name: "Deny" }).dispatchEvent("click");
    await page.waitForTimeout(1_600);
    await page.mouse.up();
    expect(second.state === "held", `two buttons at once: ${second.state}`);
    hub.loses = /decision$/;
    go = await card(page, hub, first);
    await readToItsEnd(page);
    await hold(page, go, 1_800);
    await sees(page, "The card shows whether it was decided");
    await sees(page, "Approved by phone");
    await close();
  },

  "decided elsewhere while one reads: it says so, and takes no other decision": async (browser) => {
    const { page, hub, faults, close } = await ready(browser);
    const [first] = hub.world.approvals;
    await card(page, hub, first);
    hub.decide(first.request, "deny");
    await sees(page, "Denied by shelf");
    expect((await page.getByRole("button", { name: "Hold to approve" }).count()) === 0, "it can still be approved");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "without web among the approvers there are no buttons, and no way": async (browser) => {
    const { page, hub, close } = await visit(browser, { expects: [/403/] });
    await sees(page, "Decide on shelf");
    expect((await page.getByRole("button", { name: /approve|deny/i }).count()) === 0, "there is a button");
    const status = await page.evaluate(
      async (url) => (await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" })).status,
      `/v1/approvals/${hub.world.approvals[0].request}/challenge`
    );
    expect(status === 403, `the hub answers ${status}`);
    await close();
  },

  "at an address without passkeys the page says why, and where they work": async (browser) => {
    const { page, hub, context, close } = await visit(browser, { hub: { web: true } });
    const other = await context.newPage();
    await other.goto(`http://127.0.0.1:${hub.port}/#in=${hub.code()}`).catch(() => null);
    await sees(other, `http://localhost:${hub.port}`);
    await page.close();
    await close();
  },

  "signing in: a code is good once, a wrong token is refused, a passkey opens the door": async (browser) => {
    const { page, hub, context, close } = await ready(browser, { expects: [/401/] });
    await page.getByRole("button", { name: "Sign out" }).click();
    await sees(page, "gatepost open");
    const code = hub.code();
    const other = await context.newPage();
    await other.goto(`${hub.origin}/#in=${code}`);
    await other.locator("nav.nav").waitFor();
    expect(!other.url().includes(code), "the code stays in the address");
    await context.clearCookies();
    const third = await context.newPage();
    await third.goto(`${hub.origin}/#in=${code}`);
    await sees(third, "was used already");
    await third.getByLabel("The operator’s token").fill("wrong");
    await third.getByRole("button", { name: "Sign in" }).click();
    await sees(third, "not an operator’s token");
    await third.getByLabel("The operator’s token").fill(hub.token);
    await third.keyboard.press("Enter");
    await third.locator("nav.nav").waitFor();
    await context.clearCookies();
    await page.reload();
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.locator("nav.nav").waitFor();
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
    expect(kept === '[{},{},""]', `the page keeps ${kept}`);
    await close();
  },

  "a passkey is added with the operator's token alone": async (browser) => {
    const { page, hub, close } = await visit(browser, { hub: { web: true }, hash: "#/settings", expects: [/401/] });
    await authenticator(page);
    await addPasskey(page, hub, "wrong");
    await sees(page, "this is no operator's token");
    expect(hub.world.passkeys.length === 0, "it was added");
    await settled(page);
    await close();
  }
};
