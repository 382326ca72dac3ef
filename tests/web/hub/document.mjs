// Writes an approval document as the hub does (`gatepost_link::document`, postcard), for the page to read.

const utf8 = new TextEncoder();

function number(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return [...bytes, value];
}
const text = (value) => [...number(utf8.encode(value).length), ...utf8.encode(value)];
const option = (value, write) => (value === null || value === undefined ? [0] : [1, ...write(value)]);
const list = (values, write) => [...number(values.length), ...values.flatMap(write)];
const hex = (value) => [...Buffer.from(value, "hex")];
const target = (of) => [
  ...text(of.channel),
  ...text(of.account),
  ...text(of.address),
  ...option(of.known_as, text),
  ...option(of.thread, text)
];

export function encode(document) {
  const { request, audit_head, agent, origin, action, reply_to, options = [], parts, attachments = [], also = [] } = document;
  return Uint8Array.from([
    ...hex(request),
    ...hex(audit_head),
    ...text(agent),
    ...option(origin, text),
    ...text(action),
    ...target(document),
    ...option(reply_to, text),
    ...list(options, text),
    ...list(parts, (part) => [...text(part.text), ...hex(part.wire), ...option(part.wire_alt, hex)]),
    ...list(attachments, (file) => [...text(file.name), ...text(file.kind), ...number(file.size), ...hex(file.digest)]),
    ...(also.length ? list(also, (one) => [...target(one), ...hex(one.wires)]) : [])
  ]);
}
