// What a caller does with the types that openapi-typescript made: sends, waits for the end, lists.
//
//     node client.js HUB TOKEN        (compiled beside the generated api.d.ts)
//
// Writes a line of JSON: the state that the message ended in, and the ids that are listed.

import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };

const [hub, token] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: hub, headers: { Authorization: `Bearer ${token}` } });

function isReceipt(answer: components["schemas"]["Answer"]): answer is components["schemas"]["Receipt"] {
    return "id" in answer;
}

const sent = await client.POST("/v1/messages", { body: { to: "local:team", message: "From **TypeScript**." } });
if (!sent.data || !isReceipt(sent.data)) throw new Error(JSON.stringify(sent));
const ended = await client.GET("/v1/messages/{id}", { params: { path: { id: sent.data.id }, query: { wait: 30 } } });
const refused = await client.POST("/v1/messages", { body: { to: "local:nobody", message: "Hello" } });
if (refused.error?.reason !== "not_allowed") throw new Error(JSON.stringify(refused));
const listed = await client.GET("/v1/messages", { params: { query: { limit: 10 } } });
console.log(
    JSON.stringify({
        id: sent.data.id,
        state: ended.data?.state,
        listed: listed.data?.messages.map((one) => one.id),
    }),
);
