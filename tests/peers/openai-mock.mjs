// A server that speaks as OpenAI's does: the package `openai-mock-api`, on loopback alone.
//
//     openai-mock.mjs PORT SCRIPT LOG
//
// SCRIPT is its configuration as JSON: the key that it wants, and what it answers to which conversation. It checks each request, and
// writes what it was asked and how it answered to LOG, a line of JSON for each.
import { readFileSync } from "node:fs";
import mock from "openai-mock-api";

const [port, script, logFile] = process.argv.slice(2);
const config = JSON.parse(readFileSync(script, "utf8"));
const { server, start } = await mock.createMockServer({ config, port: Number(port), logFile, verbose: true });
// Its own way would listen on every interface.
const listen = server.app.listen.bind(server.app);
server.app.listen = (port, ready) =>
    listen(port, "127.0.0.1", (error) => {
        if (error) throw error;
        ready();
    });
await start();
