// What the stand-in hub answers: the first call that fits. `*` in a path is one piece of it.

import machines from "./calls/machines.mjs";
import messages from "./calls/messages.mjs";
import person from "./calls/person.mjs";

const CALLS = [...person, ...messages, ...machines];

/** Answers, or says nothing if there is no such call. */
export async function answer(hub, call) {
  const given = `${call.method} ${call.path}`.split("/");
  for (const [pattern, make] of CALLS) {
    const pieces = pattern.split("/");
    if (pieces.length !== given.length || !pieces.every((piece, at) => piece === "*" || piece === given[at])) continue;
    const rest = given.filter((_, at) => pieces[at] === "*").map(decodeURIComponent);
    return make(hub, { ...call, rest });
  }
  return undefined;
}
