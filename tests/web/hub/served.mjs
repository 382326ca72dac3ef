// What the hub serves of daemon/web: the same text without what only its readers need. Comments on lines of their own and `/** … */`
// go, and so do indentation, empty lines, line ends beside a bracket, after a comma and after a semicolon, and the spaces about some
// operators; of the style sheet all line ends, and the spaces beside its punctuation. Nothing else. The page keeps to what makes that safe: no text over several lines, every statement
// with its semicolon, no comment behind code, no operator between spaces in a text. A test holds it to that.

export function served(name, text) {
  const lines = (text) => text.replace(/^\s+/gm, "");
  if (name.endsWith(".js")) {
    const code = lines(text.replace(/\/\*\*[^]*?\*\/ ?/g, "").replace(/^\s*\/\/.*$/gm, ""));
    const tight = code.replace(/ (=>|===|!==|&&|\|\||\?\??|:) /g, "$1").replace(/\) \{/g, "){");
    return tight.replace(/([,;({[])\n/g, "$1").replace(/\n([)\]}])/g, "$1");
  }
  if (!name.endsWith(".css")) return lines(text);
  const rules = lines(
    text
      .replace(/\/\*[^]*?\*\//g, "")
      .replace(/([:;,{]) /g, "$1")
      .replace(/ ([{}])/g, "$1")
  );
  return rules.replace(/;?\n/g, (end) => end.trim()).replace(/;}/g, "}");
}
