// What the hub serves of daemon/web: the same text without what only its readers need. Comments on lines of their own and `/** … */`
// go, and so do indentation and empty lines; of the style sheet also line ends and spaces beside its punctuation; nothing else. The page keeps to what makes that safe: no text over several lines, and
// no `/*` inside a text. A test holds it to that.

export function served(name, text) {
  if (name.endsWith(".js")) text = text.replace(/\/\*\*[^]*?\*\/ ?/g, "").replace(/^\s*\/\/.*$/gm, "");
  else if (name.endsWith(".css")) text = text.replace(/\/\*[^]*?\*\//g, "").replace(/([:;,{]) /g, "$1").replace(/ ([{}])/g, "$1");
  else return text;
  text = text.replace(/^\s+/gm, "");
  return name.endsWith(".css") ? text.replace(/;?\n/g, (end) => end.trim()).replace(/;}/g, "}") : text;
}
