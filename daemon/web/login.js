// The door: a code that is good once, a passkey, or the operator's token. The token goes to the hub and is kept nowhere here.

import { api } from "./api.js";

/** @typedef {import("./api.js").Refused} Refused */
import { button, h, icon, reason, redraw } from "./dom.js";
import { unbase64 } from "./document.js";
import { missing, sign, unsigned } from "./passkey.js";

/** @param {Refused | null} why @param {() => void} then */
export function open(why, then) {
  document.title = "Sign in · Gatepost";
  const wrong = h("p.wrong", { role: "alert", hidden: !why });
  /** @param {string} text */
  const refuse = (text) => {
    redraw(wrong, text);
    wrong.hidden = false;
  };
  if (why) refuse(why.status === 401 ? "That link was used already, or is older than two minutes. Make a new one." : reason(why));

  const token = h("input", {
    type: "password",
    id: "token",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-describedby": "where"
  });
  /** @param {Event} event */
  const byToken = async (event) => {
    event.preventDefault();
    const given = token.value.trim();
    token.value = "";
    try {
      await api.signIn({ token: given });
      then();
    } catch (error) {
      refuse(/** @type {Refused} */ (error).status === 401 ? "This is not an operator’s token of this hub." : reason(error));
      token.focus();
    }
  };
  const byPasskey = async () => {
    try {
      const { challenge, rp_id } = await api.challenge({ for: "login" });
      await api.signIn({ passkey: await sign({ challenge: unbase64(challenge), rp_id }) });
      then();
    } catch (error) {
      refuse(unsigned(error));
    }
  };
  const noPasskey = missing();

  document.body.querySelector(".door")?.remove();
  document.body.prepend(
    h(
      "main.door",
      h("div.brand", icon("gate"), "Gatepost"),
      h(
        "section.tile",
        h("h1", "Sign in"),
        wrong,
        why?.status === 0 ? button("Try again", then) : null,
        h("p", "On the hub’s machine, this prints a link that is good once, for two minutes:"),
        h("pre", { tabindex: "0" }, "gatepost open"),
        h("div.or", "or"),
        noPasskey ? h("p.quiet", noPasskey) : button("Use a passkey", byPasskey, { icon: "key" }),
        h("div.or", "or"),
        h(
          "form",
          { onsubmit: byToken },
          h("label.field", { for: "token" }, "The operator’s token"),
          h("div.line", token, h("button.btn.go", { type: "submit" }, "Sign in")),
          h(
            "p.quiet",
            { id: "where" },
            "It is in ",
            h("code", "operator.token"),
            " in the hub’s data directory. The page does not keep it."
          )
        )
      )
    )
  );
}
