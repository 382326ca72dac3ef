// Passes requests on to a hub with a token added, for a client of the Model Context Protocol that has no way to send one.
//
//     GATEPOST_TOKEN=TOKEN node mcp-bearer.mjs PORT
//
// Listens on a port of its own on loopback and writes its number to standard output. Ends with its standard input.

import http from "node:http";

const port = process.argv[2];
const authorization = `Bearer ${process.env.GATEPOST_TOKEN}`;

const server = http.createServer((request, response) => {
  // Host and Origin go along as they came: whom the hub answers is for the hub to say.
  const headers = { ...request.headers, authorization };
  const onward = http.request({ host: "127.0.0.1", port, method: request.method, path: request.url, headers });
  onward.on("response", (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    // A stream that says nothing yet has begun all the same.
    response.flushHeaders();
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume();
