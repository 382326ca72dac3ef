// Slack's own client of Socket Mode for Node at a double: `node slack-bot.mjs BASE_URL APP_TOKEN`.
//
// It acknowledges what comes, and writes a line for each message. The end of its input ends it.

import { SocketModeClient } from "@slack/socket-mode";

const [baseUrl, appToken] = process.argv.slice(2);
const client = new SocketModeClient({ appToken, clientOptions: { slackApiUrl: `${baseUrl}/api/` }, logLevel: "error" });

client.on("message", async ({ event, ack }) => {
  await ack();
  const edit = event.subtype === "message_changed";
  const said = edit ? event.message : event;
  console.log(JSON.stringify({ kind: edit ? "edit" : "line", from: said.user, direct: event.channel_type === "im", text: said.text }));
});
await client.start();
process.stdin.resume().on("end", async () => {
  await client.disconnect();
  process.exit(0);
});
