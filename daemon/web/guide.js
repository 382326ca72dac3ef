// The Markdown of the set-up guides, as elements: headings, lists, paragraphs, code, `code`, **bold**, <addresses>. They are the
// hub's own texts; even so, nothing of them becomes markup.

import { copyable, h } from "./dom.js";

/** @param {string} text @returns {import("./dom.js").Kids} */
function spans(text) {
  return text.split(/(\[[^\]]+\]\([^)]+\)|`[^`]+`|\*\*[^*]+\*\*|<https?:[^>]+>)/).map((piece) => {
    if (piece.startsWith("`")) return h("code", piece.slice(1, -1));
    if (piece.startsWith("**")) return h("b", piece.slice(2, -2));
    const link = /^<(https:[^>]+)>$|^\[([^\]]+)\]\((https:[^)]+)\)$/.exec(piece);
    if (link)
      return h("a.link", { href: link[1] ?? link[3], target: "_blank", rel: "noopener noreferrer" }, link[1] ?? spans(link[2] ?? ""));
    return piece.startsWith("[") ? spans(piece.replace(/^\[([^\]]+)\].*/, "$1")) : piece;
  });
}

/** @param {string} markdown @returns {HTMLElement[]} */
export function render(markdown) {
  const lines = markdown.split("\n"),
    out = /** @type {HTMLElement[]} */ ([]);
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "",
      fence = /^(\s*)\x60{3}/.exec(line),
      heading = /^(#+) (.*)/.exec(line),
      item = /^(\s*)(?:[-*]|\d+\.) +(.*)/.exec(line);
    if (fence) {
      const end = lines.findIndex((other, place) => place > at && other.trim() === "```"),
        last = end < 0 ? lines.length : end;
      out.push(
        copyable(
          lines
            .slice(at + 1, last)
            .map((text) => text.slice(fence[1]?.length ?? 0))
            .join("\n")
        )
      );
      at = last + 1;
    } else if (heading) {
      // The page has its own h1.
      if (heading[1] !== "#") out.push(h("h2", spans(heading[2] ?? "")));
      at += 1;
    } else if (item) {
      const list = h(/\d/.test(line.trim()[0] ?? "") ? "ol" : "ul"),
        indent = item[1]?.length ?? 0,
        own = [];
      while (at < lines.length) {
        const next = /^(\s*)(?:[-*]|\d+\.) +(.*)/.exec(lines[at] ?? ""),
          deeper = (lines[at] ?? "").startsWith(" ".repeat(indent + 2));
        if (next && (next[1]?.length ?? 0) === indent) own.push([next[2] ?? ""]);
        else if (deeper && own.length) own.at(-1)?.push((lines[at] ?? "").slice(indent + (/^\s*\d/.test(line) ? 3 : 2)));
        else if ((lines[at] ?? "") === "" && (lines[at + 1] ?? "").startsWith(" ".repeat(indent + 2))) own.at(-1)?.push("");
        else break;
        at += 1;
      }
      list.append(...own.map((text) => h("li", render(text.join("\n")))));
      out.push(list);
    } else if (line.trim() === "") at += 1;
    else {
      const from = at;
      while (
        at < lines.length &&
        (lines[at] ?? "").trim() !== "" &&
        !/^\s*\x60{3}|^#|^\s*(?:[-*]|\d+\.) /.test(at === from ? "" : (lines[at] ?? ""))
      )
        at += 1;
      out.push(
        h(
          "p",
          spans(
            lines
              .slice(from, at)
              .map((text) => text.trim())
              .join(" ")
          )
        )
      );
    }
  }
  return out;
}
