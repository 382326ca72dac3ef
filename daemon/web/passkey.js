// Passkeys, which the browser keeps. Where none can be had, the page says why and what to do.

import { base64, unbase64 } from "./document.js";
import { reason } from "./dom.js";

/** Why this browser has none at this address, or null. */
export function missing() {
  if (!isSecureContext) return "Browsers have passkeys only where the address begins with https:// or is localhost.";
  if (!("PublicKeyCredential" in window)) return "This browser has no passkeys.";
  if (/^[\d.]+$|^\[/.test(location.hostname))
    return `Passkeys belong to a name. Open the page as http://localhost:${location.port || 80} instead.`;
  return null;
}

/** What is to be said when the browser gives none, or the hub refuses. @param {unknown} error */
export function unsigned(error) {
  const name = error instanceof Error ? error.name : "";
  if (name === "NotAllowedError") return "The passkey was not used.";
  if (name === "SecurityError") return "This address is not the one that the passkey belongs to.";
  if (name === "InvalidStateError") return "There is a passkey for this hub here already.";
  return reason(error);
}

/**
 * @param {{challenge: Uint8Array, rp_id: string, allow?: Uint8Array[]}} what
 * @returns {Promise<import("./types.js").Assertion>}
 */
export async function sign({ challenge, rp_id, allow = [] }) {
  const given = /** @type {PublicKeyCredential} */ (
    await navigator.credentials.get({
      publicKey: {
        challenge: /** @type {BufferSource} */ (challenge),
        rpId: rp_id,
        userVerification: "required",
        timeout: 60_000,
        allowCredentials: allow.map((id) => ({ type: "public-key", id: /** @type {BufferSource} */ (id) }))
      }
    })
  );
  const response = /** @type {AuthenticatorAssertionResponse} */ (given.response);
  return {
    credential: base64(given.rawId),
    client_data: base64(response.clientDataJSON),
    authenticator_data: base64(response.authenticatorData),
    signature: base64(response.signature)
  };
}

/** @param {import("./types.js").Challenge} what @param {string} name */
export async function make({ challenge, rp_id, user }, name) {
  const made = /** @type {PublicKeyCredential} */ (
    await navigator.credentials.create({
      publicKey: {
        challenge: unbase64(challenge),
        rp: { id: rp_id, name: "Gatepost" },
        user: { id: unbase64(user ?? ""), name, displayName: name },
        attestation: "none",
        pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })),
        authenticatorSelection: { userVerification: "required", residentKey: "required" }
      }
    })
  );
  const response = /** @type {AuthenticatorAttestationResponse} */ (made.response);
  return {
    credential: base64(made.rawId),
    client_data: base64(response.clientDataJSON),
    authenticator_data: base64(response.getAuthenticatorData()),
    public_key: base64(response.getPublicKey() ?? new ArrayBuffer(0)),
    algorithm: response.getPublicKeyAlgorithm()
  };
}
