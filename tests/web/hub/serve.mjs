// The stand-in hub by hand: `node tests/web/hub/serve.mjs [PORT]`, and the page in a browser of yours.
import { Hub } from "./hub.mjs";

const hub = await new Hub({ many: 400, web: process.argv.includes("--web"), empty: process.argv.includes("--empty") }).listen(
  Number(process.argv[2] ?? 18787)
);
console.log(`${hub.origin}/#in=${hub.code()}`);
console.log(`or the token: ${hub.token}`);
setInterval(() => console.log(`${hub.origin}/#in=${hub.code()}`), 60_000).unref();
