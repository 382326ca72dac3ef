// What the files say without a browser: types, size, and what must not stand in them.

import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { decode, hex, statement } from "../../../daemon/web/document.js";
import { expect } from "../browser.mjs";
import { served } from "../hub/served.mjs";
import { sha256, statement as hubsStatement } from "../hub/passkey.mjs";

const WEB = fileURLToPath(new URL("../../../daemon/web/", import.meta.url));
const files = readdirSync(WEB).map((name) => ({ name, text: readFileSync(WEB + name, "utf8") }));
const sent = files.filter(({ name }) => name !== "types.js");
const BUDGET = 150_000,
  LINES = 300;

export default {
  "TypeScript finds nothing, strictly": async () => {
    const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
    try {
      execFileSync(process.execPath, [tsc, "-p", fileURLToPath(new URL("..", import.meta.url))], { encoding: "utf8" });
    } catch (error) {
      throw new Error(error.stdout);
    }
  },

  "all that is sent is within its budget": async () => {
    const sizes = sent.map(({ name, text }) => [name, Buffer.byteLength(served(name, text))]),
      all = sizes.reduce((sum, [, size]) => sum + size, 0);
    expect(
      all <= BUDGET,
      `${all} bytes, and ${BUDGET} may be:\n${sizes
        .sort((a, b) => b[1] - a[1])
        .map((line) => line.join(" "))
        .join("\n")}`
    );
  },

  "a module has one idea, and fits": async () => {
    for (const { name, text } of sent) expect(text.split("\n").length <= LINES || !name.endsWith(".js"), `${name} has over ${LINES} lines`);
  },

  "no way leads from a text to markup": async () => {
    const ways =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|\beval\b|new Function|srcdoc|javascript:|setAttribute\("style"|\sstyle="|localStorage|sessionStorage|document\.cookie/;
    for (const { name, text } of sent) {
      const line = text.split("\n").find((line) => ways.test(line));
      expect(!line, `${name}: ${line}`);
    }
    for (const { name, text } of sent)
      if (name !== "api.js")
        expect(!/\bfetch\(|XMLHttpRequest|EventSource|sendBeacon|WebSocket/.test(served(name, text)), `${name} asks the hub by itself`);
    const elsewhere = sent.find(({ text }) => /(src|href)="https?:|url\(/.test(text));
    expect(!elsewhere, `${elsewhere?.name} names another host`);
  },

  "no text has in it what the hub takes for code": async () => {
    for (const { name, text } of sent.filter(({ name }) => name.endsWith(".js"))) {
      const patterns = /(?<=[(=,:] ?)\/(?![/*])(?:[^/\\[]|\\.|\[(?:[^\]\\]|\\.)*\])+\/[gu]*/g;
      const texts = text
        .replace(/^\s*\/\/.*$/gm, "")
        .split("\n")
        .flatMap((line) => line.replace(patterns, "").match(/"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? [])
        .map((one) => one.replace(/\$\{[^}]*\}/g, ""));
      const odd = texts.find((one) => / (=>|===|!==|&&|\|\||\?\??|:) |\) \{/.test(one));
      expect(!odd, `${name} would be sent with another text: ${odd}`);
    }
  },

  "what the hub leaves out of a file are comments": async () => {
    for (const { name, text } of sent.filter(({ name }) => name.endsWith(".js"))) {
      const open = served(name, text)
        .split("\n")
        .find((line) => line.replace(/"`+"|\[\^?`\]/g, "").split("`").length % 2 === 0);
      expect(!open, `${name} has a text over several lines: ${open}`);
      const short = served(name, text);
      expect(!/\/\*/.test(short.replace(/"[^"\n]*"|\/(?:[^/\n\\]|\\.)+\/[gu]*/g, "")), `${name} has another kind of comment`);
    }
  },

  "documents of the hub are read as companions read them": async () => {
    const folder = fileURLToPath(new URL("../../../shared/link/fixtures/documents/", import.meta.url));
    const read = (name) => decode(Buffer.from(readFileSync(folder + name, "utf8").replace(/\s/g, ""), "hex"));
    const whole = read("whole.hex"),
      several = read("several-targets.hex");
    expect(
      whole.request === "ab".repeat(16) &&
        whole.audit_head === "01".repeat(32) &&
        whole.agent === "engineer" &&
        whole.channel === "matrix" &&
        whole.also.length === 0,
      JSON.stringify(whole)
    );
    expect(several.also.length > 0 && several.also[0].wires.length === 64, JSON.stringify(several));
    const bytes = Buffer.from(readFileSync(folder + "whole.hex", "utf8").replace(/\s/g, ""), "hex");
    for (const broken of [bytes.subarray(0, -1), Buffer.concat([bytes, Buffer.from([0])]), Buffer.alloc(0)]) {
      let refused = false;
      try {
        decode(broken);
      } catch (error) {
        refused = error instanceof RangeError;
      }
      expect(refused, `a broken document of ${broken.length} bytes was read`);
    }
  },

  "a document with any byte changed is read or refused, and nothing else": async () => {
    const folder = fileURLToPath(new URL("../../../shared/link/fixtures/documents/", import.meta.url));
    for (const name of ["whole.hex", "several-targets.hex"]) {
      const bytes = Buffer.from(readFileSync(folder + name, "utf8").replace(/\s/g, ""), "hex");
      for (let at = 0; at < bytes.length; at += 1) {
        for (const value of [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 1]) {
          const changed = Buffer.from(bytes);
          changed[at] = value;
          try {
            decode(changed);
          } catch (error) {
            expect(error instanceof RangeError || error instanceof TypeError, `byte ${at} as ${value}: ${error.stack}`);
          }
        }
      }
    }
  },

  "page and hub mean the same statement": async () => {
    const credential = Buffer.from("a passkey"),
      document = sha256(Buffer.from("a document")),
      nonce = Buffer.alloc(16, 9),
      request = "ab".repeat(16),
      hub = "cd".repeat(32);
    for (const verdict of ["approve", "deny"]) {
      const ours = await statement({ hub, credential, request, document, verdict, nonce });
      expect(hex(ours) === hubsStatement({ hub, credential, request, document, verdict, nonce }).toString("hex"), verdict);
    }
  }
};
