// What agents and strangers write is shown, and does nothing.

import { expect, sees, settled, visit } from "../browser.mjs";
import { encode } from "../hub/document.mjs";
import { hash } from "../hub/time.mjs";

const SCRIPT = '<script>fetch("https://evil.example/")</script><img src=x onerror="document.title=\'taken\'"> javascript:alert(1)';
const TEXTS = {
  script: SCRIPT,
  bidi: "Pay to \u202egro.elpmaxe\u202c now",
  unseen: "pay\u200bpal.example \u00ad\u2066x\u2069 \u3164",
  long: "w".repeat(4_000),
  marks: "Z" + "\u0301".repeat(40) + "algo",
  control: "a\u0000b\u001b[2Jc\td\re",
  tags: "ok\u{e0041}\u{e0042}",
  picture: "👩‍👩‍👧 ❤️ 1️⃣ fine",
  arabic: "مرحبا بالعالم"
};

/** Puts a text into everything that somebody else can write. */
function poison(hub, text) {
  const made = hub.hold({ agent: "engineer", text });
  const bytes = encode({
    request: made.request,
    audit_head: hash("head"),
    agent: text.slice(0, 60),
    origin: `telegram:${text.slice(0, 60)}`,
    action: "send",
    channel: "slack",
    account: "work",
    address: text.slice(0, 200),
    known_as: text.slice(0, 200),
    thread: text.slice(0, 40),
    reply_to: text.slice(0, 40),
    options: [text.slice(0, 30)],
    parts: [{ text, wire: hash("1"), wire_alt: hash("2") }],
    attachments: [{ name: text.slice(0, 120), kind: text.slice(0, 40), size: 3, digest: hash("f") }],
    also: [{ channel: "telegram", account: "home", address: text.slice(0, 100), known_as: null, thread: null, wires: hash("w") }]
  });
  const one = hub.world.approvals.at(-1);
  Object.assign(one, {
    document: Buffer.from(bytes).toString("base64url"),
    agent: text.slice(0, 60),
    known_as: text.slice(0, 200),
    to: `slack:${text.slice(0, 200)}`,
    why: text,
    origin_name: text.slice(0, 60),
    toml: text,
    parts: [{ units: 3, limit: 4, unit: "characters", looks: [{ text, style: ["bold", "code"] }] }],
    by: [text.slice(0, 60)],
    deadline: new Date(hub.now() + 1_000_000).toISOString()
  });
  Object.assign(hub.world.messages[0], {
    agent: text.slice(0, 60),
    known_as: text.slice(0, 100),
    to: `slack:${text.slice(0, 100)}`,
    error: text,
    written: text,
    parts: [{ state: "failed", text, error: text, platform_id: text.slice(0, 80) }],
    state: "failed",
    reply_to: text.slice(0, 50),
    history: [text]
  });
  Object.assign(hub.world.sessions[0], { session: "family", places: [`telegram:${text.slice(0, 80)}`] });
  hub.world.lines["housekeeper family"][0] = {
    at: made.asked_at,
    kind: text.slice(0, 20),
    mine: false,
    place: "x",
    text,
    who: text.slice(0, 80)
  };
  Object.assign(hub.world.requests[0], { name: text.slice(0, 80), subject: text.slice(0, 80) });
  Object.assign(hub.world.turns[0], { outcome: text, session: text.slice(0, 80), state: "failed" });
  Object.assign(hub.world.items, {
    text,
    sender: { id: "x", name: text.slice(0, 60), scope: "unknown" },
    files: [{ name: text.slice(0, 60), size: 1 }]
  });
  Object.assign(hub.world.channels[4], { said: text, limits: text.slice(0, 60) });
  Object.assign(hub.world.companions[1], { name: text.slice(0, 40), unable_because: text, online: true });
  hub.emit("message.failed", hub.world.messages[0].id, { actor: text.slice(0, 80), detail: { reason: text } });
  return one;
}

const flows = {};
for (const [name, text] of Object.entries(TEXTS)) {
  flows[`${name}: shown on every screen, and nothing more`] = async (browser) => {
    for (const width of name === "long" || name === "script" ? [1360, 390] : [1360]) {
      const { page, hub, faults, close } = await visit(browser, { width, hash: "#/more" });
      const one = poison(hub, text),
        title = /Gatepost$/;
      for (const screen of [
        `waiting/${one.request}`,
        "messages",
        `messages/${hub.world.messages[0].id}`,
        "conversations/housekeeper%2Ffamily",
        "turns/t01",
        "channels",
        "companions",
        "agents",
        "audit"
      ]) {
        await page.goto(`${hub.origin}/#/${screen}`);
        await settled(page);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        expect(wide <= 0, `${screen} at ${width} is ${wide} px wider than the window`);
        expect(title.test(await page.title()), `${screen}: the title is ${await page.title()}`);
        const odd = await page.evaluate(() =>
          /[\u202a-\u202e\u2066-\u2069\u200b\u00ad\u0000-\u0008\u001b\u3164\u{e0041}]/u.test(document.body.innerText)
        );
        expect(!odd, `${screen}: a character that is not seen was not spelled out`);
        expect(
          (await page.evaluate(() => document.querySelectorAll("main script, main img, main iframe, main [onerror]").length)) === 0,
          `${screen}: the text became markup`
        );
      }
      await close();
      expect(!faults.length, faults.join("\n"));
    }
  };
}

flows["an address in a text is no link, and a file is not opened in the page"] = async (browser) => {
  const { page, hub, faults, close } = await visit(browser);
  expect((await page.locator(".words a").count()) === 0, "an agent's text has a link");
  await page.locator("a.row").nth(1).click();
  await sees(page, "referral-hale.pdf");
  const open = page.getByRole("link", { name: "Open" });
  expect((await open.getAttribute("rel")).includes("noopener"), "the file's page could reach this one");
  await close();
  expect(!faults.length, faults.join("\n"));
};

flows["a document of another request, or a broken one, is not shown as this one's"] = async (browser) => {
  const { page, hub, close } = await visit(browser, { hub: { web: true }, hash: "#/more" });
  const [first, second] = hub.world.approvals;
  for (const document of [second.document, "AAAA", first.document.slice(0, -8)]) {
    await page.goto(`${hub.origin}/#/more`);
    const kept = first.document;
    first.document = document;
    await page.goto(`${hub.origin}/#/waiting/${first.request}`);
    await sees(page, "This request cannot be shown");
    expect((await page.getByRole("button", { name: /approve|deny/i }).count()) === 0, "it can be decided on");
    first.document = kept;
  }
  await close();
};

flows["another page cannot write, with the cookie or without"] = async (browser) => {
  const { hub, context, close } = await visit(browser);
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  const post = (headers, body = "{}") =>
    fetch(`${hub.origin}/v1/agents/engineer/mute`, { method: "POST", headers: { cookie, ...headers }, body });
  for (const headers of [
    { origin: "https://evil.example", "content-type": "application/json" },
    { "content-type": "application/json" },
    { origin: hub.origin, "content-type": "text/plain" },
    { origin: "null", "content-type": "application/json" }
  ]) {
    expect((await post(headers)).status === 403, JSON.stringify(headers));
  }
  const [{ httpOnly, sameSite }] = await context.cookies();
  expect(httpOnly && sameSite === "Strict", "scripts or other sites get the cookie");
  const page = await fetch(hub.origin);
  expect(page.headers.get("content-security-policy").includes("require-trusted-types-for 'script'"), "no policy is sent");
  await close();
};
export default flows;
