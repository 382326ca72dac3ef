// Judges what a passkey signed, as the hub has to: the challenge is the statement's hash, the origin is exactly the page's, a
// person was verified, and the key is the one that was added.

import { createHash, createPublicKey, verify } from "node:crypto";

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest();
const unbase64 = (text) => Buffer.from(text, "base64url");

/** The reason why it does not count, or null. */
export function refusal({ assertion, challenge, origin, rpId, spki }) {
  const client = JSON.parse(unbase64(assertion.client_data).toString());
  const authenticator = unbase64(assertion.authenticator_data),
    flags = authenticator[32];
  if (client.type !== "webauthn.get") return "it is no assertion";
  if (!unbase64(client.challenge).equals(challenge)) return "it signs something else";
  if (client.origin !== origin) return "it is of another origin";
  if (client.crossOrigin) return "it was made in a frame";
  if (!authenticator.subarray(0, 32).equals(sha256(rpId))) return "it is for another site";
  if (!(flags & 1) || !(flags & 4)) return "nobody was verified";
  const key = createPublicKey({ key: unbase64(spki), format: "der", type: "spki" });
  const signed = Buffer.concat([authenticator, sha256(unbase64(assertion.client_data))]);
  return verify("sha256", signed, key, unbase64(assertion.signature)) ? null : "the signature is wrong";
}

/** What a decision signs. */
export function statement({ hub, credential, request, document, verdict, nonce }) {
  return Buffer.concat([
    Buffer.from("gatepost/decision/web/1"),
    Buffer.from(hub, "hex"),
    sha256(credential),
    Buffer.from(request, "hex"),
    document,
    Buffer.from([verdict === "approve" ? 1 : 2]),
    nonce
  ]);
}
