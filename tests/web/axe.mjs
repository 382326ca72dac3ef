// What axe finds in a page: nothing, or the test fails.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect } from "./browser.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A content security policy that forbids scripts of others forbids axe's too; the browser's own door lets it in. */
export async function axe(page, where, rules = '["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]') {
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: AXE });
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    expression: `axe.run(document, { runOnly: ${rules}, resultTypes: ["violations"] }).then(({ violations }) => JSON.stringify(violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ": " + node.html.slice(0, 160) + " " + node.failureSummary.split("\\n").slice(1, 3).join(" ")))))`,
    awaitPromise: true,
    returnByValue: true
  });
  await session.detach();
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  const found = JSON.parse(result.value);
  expect(!found.length, `${where}: axe finds\n${found.join("\n")}`);
}
