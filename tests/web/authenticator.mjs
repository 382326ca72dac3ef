// A passkey, and a person who uses it: Chromium's own authenticator, and what is pressed.

/** A browser's own authenticator; returns how to say whether it verifies whoever holds it. */
export async function authenticator(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true
    }
  });
  return (isUserVerified) => session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
}

/** Adds a passkey through the page. */
export async function addPasskey(page, hub, token = hub.token, name = "phone") {
  await page.goto(`${hub.origin}/#/settings`);
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByLabel("What you call it").fill(name);
  await page.getByLabel("The operator’s token").fill(token);
  await page.getByRole("button", { name: "Add it" }).click();
}

/** Reads a card to its end, so that it can be approved. */
export const readToItsEnd = async (page) => {
  await page.locator(".end").scrollIntoViewIfNeeded();
  await page.getByText("Hold for a second and a half").waitFor();
};

/** Presses a button for so long. */
export async function hold(page, go, ms) {
  await go.hover();
  await page.mouse.down();
  await page.waitForTimeout(ms);
  await page.mouse.up();
}
