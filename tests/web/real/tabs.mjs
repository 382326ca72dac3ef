// Two windows of the page at one hub: both follow what happens, and what the hub holds in memory for them is bounded.

import { readFileSync } from "node:fs";
import { expect, sees, settled, watched } from "../browser.mjs";
import { Program } from "../program.mjs";

/** An idle hub has 17.1 MB as it is released, and 26 with two windows. */
const MOST_KB = 9 * 1024;

/** What a process holds beside its program and its files, in KiB. A program that is not optimised is larger, and this is not. */
const held = (pid) => Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

export default {
  "two windows follow one hub, and it holds a few megabytes more": async (browser) => {
    const hub = await Program.start(),
      token = (await hub.cli("agent", "add", "engineer")).match(/gp_\w+|\S{40,}/)[0],
      send = (text) =>
        fetch(`${hub.origin}/v1/messages`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ to: "local:team", message: text })
        });
    for (let i = 0; i < 40; i++) expect((await send(`before ${i}`)).ok, "it is not taken");
    const before = held(hub.child.pid);
    const { context, faults } = await watched(browser, hub.origin, { width: 1360 });
    const pages = [];
    for (const screen of ["waiting", "messages"]) {
      const page = await context.newPage();
      if (pages.length) await page.goto(`${hub.origin}/#/${screen}`);
      else await page.goto(await hub.cli("open", "--print"));
      await page.waitForSelector("nav.nav");
      await page.goto(`${hub.origin}/#/${screen}`);
      await settled(page);
      pages.push(page);
    }
    for (let i = 0; i < 40; i++) expect((await send(`while they look ${i}`)).ok, "it is not taken");
    await sees(pages[1], "while they look 39");
    await sees(pages[0], "live", { exact: true });
    const more = held(hub.child.pid) - before;
    console.log(`        two windows and 40 messages: ${more} KiB more than without`);
    expect(more <= MOST_KB, `${more} KiB of ${MOST_KB}`);
    await context.close();
    await hub.stop();
    const other = faults.filter((fault) => !/401/.test(fault));
    expect(!other.length, other.join("\n"));
  }
};
