// Passkeys at the hub itself, with Chromium's own authenticator: added, used to sign in and to decide, and proven by the audit.

import { axe } from "../axe.mjs";
import { addPasskey, authenticator, hold, readToItsEnd } from "../authenticator.mjs";
import { expect, sees, settled, watched } from "../browser.mjs";
import { Program } from "../program.mjs";
import { readFileSync } from "node:fs";

const WEB = 'approvers = ["companion", "web"]';

/** A hub where passkeys may decide, and a page that is signed in. */
async function signedIn(browser, { approval = WEB } = {}) {
  const hub = await Program.start("", approval),
    // Nobody is signed in at first, and refusals are in the console.
    expected = (line) => /401/.test(line.text()),
    { context, faults } = await watched(browser, hub.origin, { expected }),
    page = await context.newPage(),
    verified = await authenticator(page);
  await page.goto(await hub.cli("open", "--print"));
  await page.waitForSelector("nav.nav");
  const close = async () => {
    await context.close();
    await hub.stop();
  };
  return { hub, context, page, faults, verified, close };
}

const token = (hub) => readFileSync(`${hub.folder}/data/operator.token`, "utf8").trim();

/** Adds a passkey that is called phone. */
async function withPasskey(hub, page) {
  await addPasskey(page, hub, token(hub));
  await sees(page, "Added");
  await page.getByRole("button", { name: "Remove phone" }).waitFor();
}

/** Has the housekeeper write; the message is held. Returns its id, and the card's request. */
async function held(hub, words) {
  const { id } = await fetch(`${hub.origin}/v1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${await agent(hub)}`, "content-type": "application/json" },
    body: JSON.stringify({ to: "local:kitchen", message: words })
  }).then((answer) => answer.json());
  const { request, state } = await hub.call("GET", `/v1/messages/${id}`);
  expect(state === "held", `${id} is ${state}`);
  return { id, request };
}

/** The housekeeper's token; one for a hub. */
async function agent(hub) {
  hub.agent ??= (await hub.call("POST", "/v1/agents", { name: "housekeeper", role: "agent" })).token;
  return hub.agent;
}

async function card(hub, page, request) {
  await page.goto(`${hub.origin}/#/waiting/${request}`);
  const go = page.getByRole("button", { name: "Hold to approve" });
  await go.waitFor();
  // A press within 300 ms of the card does not count.
  await page.waitForTimeout(350);
  return go;
}

export default {
  "a held message is approved and another denied by a passkey, and the audit proves both": async (browser) => {
    const { hub, page, faults, close } = await signedIn(browser);
    await withPasskey(hub, page);
    const yes = await held(hub, "The cat is fed."),
      no = await held(hub, "The dog is fed.");
    const go = await card(hub, page, yes.request);
    await readToItsEnd(page);
    await hold(page, go, 1_800);
    await sees(page, "Approved by phone");
    await card(hub, page, no.request);
    await page.getByRole("button", { name: "Deny", exact: true }).click();
    await sees(page, "Denied by phone");
    // Only now: what looks for faults takes the authenticator away.
    await page.goto(`${hub.origin}/#/settings`);
    await sees(page, "may decide");
    await axe(page, "settings with a passkey");
    const states = [];
    for (const { id } of [yes, no]) states.push((await hub.call("GET", `/v1/messages/${id}?wait=10`)).state);
    expect(states.join() === "sent,denied", states.join());
    const report = JSON.parse(await hub.cli("audit", "verify", "--json"));
    expect(JSON.stringify(report).includes('"decisions":2') && report.ok !== false, JSON.stringify(report));
    expect((await hub.cli("audit", "prove", yes.id)).includes('"passkey"'), "the proof has no passkey");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "a passkey signs in, until it is removed": async (browser) => {
    const { hub, page, faults, close } = await signedIn(browser, { approval: "" });
    await withPasskey(hub, page);
    await sees(page, "sign in only");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForSelector("main.door");
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await page.waitForSelector("nav.nav");
    await page.goto(`${hub.origin}/#/settings`);
    await sees(page, "by a passkey");
    await page.getByRole("button", { name: "Remove phone" }).click();
    await page.getByRole("button", { name: "Remove it" }).click();
    await sees(page, "Removed");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForSelector("main.door");
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await sees(page, "this passkey is not known here");
    await close();
    expect(!faults.length, faults.join("\n"));
  },

  "nobody verified, nothing decided; and a wrong token adds no passkey": async (browser) => {
    const { hub, page, verified, faults, close } = await signedIn(browser);
    await addPasskey(page, hub, "gp_0");
    await sees(page, "this is no operator's token");
    await settled(page);
    await withPasskey(hub, page);
    const { id, request } = await held(hub, "The cat is fed."),
      go = await card(hub, page, request);
    await readToItsEnd(page);
    await verified(false);
    await hold(page, go, 1_800);
    await sees(page, "The passkey was not used. Nothing was decided.");
    expect((await hub.call("GET", `/v1/messages/${id}`)).state === "held", "it went");
    await close();
    expect(!faults.length, faults.join("\n"));
  }
};
