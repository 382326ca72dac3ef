// Every screen, as it is seen: no word in the console, no request elsewhere, nothing that axe finds in either scheme, and the kept
// pictures at 390 and 1360.

import { axe } from "../axe.mjs";
import { expect, settled, visit } from "../browser.mjs";
import { compare } from "../pictures.mjs";

const SCREENS = [
  "waiting",
  "messages",
  "conversations",
  "turns",
  "agents",
  "channels",
  "channels/telegram",
  "companions",
  "audit",
  "figures",
  "updates",
  "settings",
  "more"
];

/** Nothing is wider than the window. */
async function fits(page, where) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(wide <= 0, `${where} is ${wide} px wider than the window`);
}

/** What is opened from a screen is a screen as well. */
const OPENED = [
  ["card", "waiting", (page) => page.locator("a.row").first().click()],
  ["card-file", "waiting", (page) => page.locator("a.row").nth(1).click()],
  ["message", "messages?state=failed", (page) => page.locator("a.row").first().click()],
  ["rewritten", "messages?q=thursday", (page) => page.locator("a.row").first().click()],
  [
    "pairing",
    "companions",
    async (page) => {
      await page.getByRole("button", { name: "Add one" }).click();
      await page.getByText("Is this the number").waitFor();
    }
  ],
  [
    "install",
    "companions",
    async (page) => {
      await page.getByRole("button", { name: "Install a board" }).click();
      await page.locator("dialog").waitFor();
    }
  ],
  [
    "token",
    "agents",
    async (page) => {
      await page.getByRole("button", { name: "Make a token" }).first().click();
      await page.locator("dialog").waitFor();
    }
  ],
  [
    "verified",
    "audit",
    async (page) => {
      await page.getByRole("button", { name: "Check all of it" }).click();
      await page.getByText("The chain holds").waitFor();
    }
  ],
  ["table", "figures", (page) => page.getByRole("button", { name: "As a table" }).click()],
  [
    "installing",
    "companions",
    async (page) => {
      await page.getByRole("button", { name: "Install a board" }).click();
      await page.getByLabel("Serial port").fill("/dev/slow");
      await page.getByRole("button", { name: "Install it" }).click();
      await page.getByText("Firmware 1.4.0 is written").waitFor();
      await page.locator("progress[value='0.64']").waitFor();
    }
  ]
];
const ALL = [...SCREENS.map((screen) => [screen.replace("/", "-"), screen, () => {}]), ...OPENED];

const flows = {};
// Each screen in both schemes and at both widths; what does not depend on the scheme is asked of one of them.
for (const [width, scheme, rules] of [
  [1360, "light"],
  [1360, "dark", '["color-contrast"]'],
  [390, "dark"]
]) {
  for (const half of [0, 1]) {
    flows[`at ${width}, ${scheme}, ${half ? "the second half" : "the first half"}`] = async (browser) => {
      const { page, hub, faults, close } = await visit(browser, { hub: { frozen: true }, width, scheme }),
        problems = [];
      for (const [name, screen, act] of ALL.filter(([name], at) => at % 2 === half && !(name === "card" && width > 500))) {
        // Anew, even if it is the screen of before.
        await page.goto(`${hub.origin}/#/more`);
        await page.goto(`${hub.origin}/#/${screen}`);
        await settled(page);
        if ((await act(page)) !== undefined || OPENED.some((one) => one[0] === name)) await settled(page);
        await look(page, problems, `${name}-${width}-${scheme}`, rules, !rules);
      }
      await close();
      expect(!problems.length && !faults.length, [...problems, ...faults].join("\n"));
    };
  }
}

async function look(page, problems, name, rules, picture = true) {
  for (const one of [
    () => axe(page, name, rules),
    () => fits(page, name),
    async () => picture && compare(name, await page.screenshot({ animations: "disabled", caret: "hide" }))
  ])
    await one().catch((error) => problems.push(error.message));
}

for (const width of [1360, 390]) {
  flows[`empty ones say what to do, at ${width}`] = async (browser) => {
    const { page, hub, faults, close } = await visit(browser, { hub: { frozen: true, empty: true }, width });
    const problems = [];
    for (const screen of ["waiting", "messages", "conversations", "turns", "agents", "channels", "companions", "audit", "updates"]) {
      await page.goto(`${hub.origin}/#/${screen}`);
      await settled(page);
      const words = await page
        .locator(".empty")
        .first()
        .innerText()
        .catch(() => "");
      if (words.split("\n").length < 2) problems.push(`${screen} says nothing when it is empty`);
      await look(page, problems, `empty-${screen}-${width}-light`, undefined, width === 1360);
    }
    await close();
    expect(!problems.length && !faults.length, [...problems, ...faults].join("\n"));
  };
  flows[`the door and a passkey's card, at ${width}`] = async (browser) => {
    const problems = [];
    for (const scheme of ["light", "dark"]) {
      const kept = (width === 1360) === (scheme === "light");
      const door = await visit(browser, { hub: { frozen: true }, width, scheme, signIn: false, hash: "", expects: [/401/] });
      await look(door.page, problems, `door-${width}-${scheme}`, undefined, kept);
      problems.push(...door.faults);
      await door.close();
      const { page, hub, faults, close } = await visit(browser, { hub: { frozen: true, web: true }, width, scheme });
      hub.world.passkeys.push({
        passkey: "ab",
        name: "phone",
        added_at: "2026-11-20T10:00:00.000Z",
        used_at: null,
        credential: "YWJj",
        public_key: ""
      });
      await page.goto(`${hub.origin}/#/more`);
      await page.goto(`${hub.origin}/#/waiting`);
      await settled(page);
      await page.locator("a.row").nth(2).click();
      await settled(page);
      await look(page, problems, `passkey-${width}-${scheme}`, undefined, kept);
      problems.push(...faults);
      await close();
    }
    expect(!problems.length, problems.join("\n"));
  };
}
export default flows;
