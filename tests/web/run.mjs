// The page's tests: `node tests/web/run.mjs [--update-pictures] [FILTER]`. They wait more than they compute, so several
// run at once; what measures time (its name says "alone") runs after them, by itself. Ends with what failed, and a status to match.
//
// `node tests/web/run.mjs --real PROGRAM [FILTER]` runs those in `real` instead: the same page, served by the hub itself.

import { readdirSync } from "node:fs";
import { launch } from "./browser.mjs";

const words = process.argv.slice(2),
  real = words.indexOf("--real"),
  [program] = real < 0 ? [] : words.splice(real, 2).slice(1),
  filter = words.find((word) => !word.startsWith("--")),
  folder = real < 0 ? "flows/" : "real/";
process.env.UPDATE_PICTURES = words.includes("--update-pictures") ? "1" : "";
process.env.GATEPOST = program ?? "";
const AT_ONCE = 4,
  TOO_LONG = 90_000;

const tests = [];
for (const file of readdirSync(new URL(folder, import.meta.url))
  .filter((name) => name.endsWith(".mjs"))
  .sort()) {
  const { default: flows } = await import(`./${folder}${file}`);
  for (const [name, run] of Object.entries(flows)) tests.push({ name: `${file.replace(".mjs", "")}: ${name}`, run });
}
const chosen = tests.filter(({ name }) => !filter || name.includes(filter));
if (!chosen.length) {
  console.log(`no test has ${JSON.stringify(filter)} in its name; there are:\n${tests.map(({ name }) => `  ${name}`).join("\n")}`);
  process.exit(2);
}

const began = Date.now(),
  failed = [],
  { browser, close } = await launch(),
  alone = ({ name }) => name.includes(" alone: ");
/** @param {typeof chosen} queue */
async function worker(queue) {
  for (let test; (test = queue.shift());) {
    const start = Date.now();
    let timer;
    try {
      await Promise.race([
        test.run(browser),
        new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`it takes over ${TOO_LONG / 1000} s`)), TOO_LONG)))
      ]);
      console.log(`ok      ${test.name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed.push({ name: test.name, error });
      console.log(`FAILED  ${test.name}`);
    } finally {
      clearTimeout(timer);
    }
  }
}
const together = chosen.filter((test) => !alone(test));
await Promise.all(Array.from({ length: AT_ONCE }, () => worker(together)));
await worker(chosen.filter(alone));
await close();

for (const { name, error } of failed) console.log(`\n--- ${name}\n${error.stack ?? error}`);
console.log(`\n${chosen.length - failed.length} of ${chosen.length} passed in ${((Date.now() - began) / 1000).toFixed(0)} s`);
process.exit(failed.length ? 1 : 0);
