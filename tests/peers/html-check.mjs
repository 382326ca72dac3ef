// Judges HTML fragments with an HTML5 parser that is not ours (parse5, the one jsdom stands on).
//
// Standard input: one JSON string a line. Standard output: for each, one line with a JSON array of what is wrong.
// Two judges: the tree builder's parse errors, and a strict stack over the tokens, because HTML5 lets a browser close
// elements by itself without calling that an error, and a chat platform's parser rejects it.

import { createInterface } from "node:readline";
import { parseFragment, Tokenizer, TokenizerMode } from "parse5";

const VOID = new Set(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]);

function parseErrors(html) {
  const errors = [];
  parseFragment(html, {
    sourceCodeLocationInfo: true,
    onParseError: (error) => errors.push(`${error.code} at ${error.startOffset}`),
  });
  return errors;
}

function unbalanced(html) {
  const errors = [];
  const open = [];
  const ignore = () => {};
  const tokenizer = new Tokenizer({ sourceCodeLocationInfo: true }, {
    onStartTag(token) {
      if (!VOID.has(token.tagName)) open.push(token);
    },
    onEndTag(token) {
      const at = token.location.startOffset;
      const expected = open.at(-1)?.tagName;
      if (expected === token.tagName) {
        open.pop();
      } else if (expected === undefined) {
        errors.push(`</${token.tagName}> at ${at} closes nothing`);
      } else {
        errors.push(`</${token.tagName}> at ${at} while <${expected}> is open`);
        const index = open.findLastIndex((start) => start.tagName === token.tagName);
        if (index >= 0) open.length = index;
      }
    },
    onComment: ignore,
    onDoctype: ignore,
    onEof: ignore,
    onCharacter: ignore,
    onNullCharacter: ignore,
    onWhitespaceCharacter: ignore,
  });
  tokenizer.state = TokenizerMode.DATA;
  tokenizer.write(html, true);
  for (const start of open) errors.push(`<${start.tagName}> at ${start.location.startOffset} is never closed`);
  return errors;
}

for await (const line of createInterface({ input: process.stdin })) {
  const html = JSON.parse(line);
  console.log(JSON.stringify([...parseErrors(html), ...unbalanced(html)]));
}
