// Two plots in SVG: stacked bars, and lines with what is below the first. The numbers are in a table beside them.

import { svg } from "./dom.js";

const WIDE = 480,
  HIGH = 100;

/** @param {string} label @param {...import("./dom.js").Kids} kids */
const frame = (label, ...kids) =>
  svg(
    "svg",
    { class: "plot", viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    [0, 50, 100].map((y) => svg("line", { class: "axis", x1: 0, x2: WIDE, y1: y, y2: y })),
    ...kids
  );

/** A round number that is not below. @param {number} most */
export function ceiling(most) {
  const step = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  return [1, 2, 5, 10].map((times) => times * step).find((round) => round >= most) ?? most;
}

/** @param {string} label @param {Record<string, number>[]} columns @param {string[]} kinds from the bottom up */
export function bars(label, columns, kinds) {
  const most = ceiling(Math.max(1, ...columns.map((column) => kinds.reduce((sum, kind) => sum + (column[kind] ?? 0), 0)))),
    step = WIDE / columns.length,
    gap = Math.min(2, step / 4);
  return frame(
    label,
    columns.map((column, at) => {
      let y = HIGH;
      return kinds
        .filter((kind) => column[kind])
        .map((kind) => {
          const height = ((column[kind] ?? 0) / most) * HIGH;
          y -= height;
          return svg("rect", {
            class: kind,
            x: (at * step + gap / 2).toFixed(1),
            y: y.toFixed(1),
            width: (step - gap).toFixed(1),
            height: height.toFixed(1),
            rx: Math.min(1.2, step / 4)
          });
        });
    })
  );
}

/** Lines that break where nothing was measured. @param {string} label @param {{kind: string, values: (number | null)[]}[]} lines */
export function lines(label, lines) {
  const most = ceiling(Math.max(1, ...lines.flatMap((line) => line.values).filter((value) => value !== null)));
  return frame(
    label,
    lines.map(({ kind, values }, which) => {
      const step = WIDE / values.length;
      /** @type {string[][]} */
      const runs = [[]];
      values.forEach((value, at) =>
        value === null
          ? runs.push([])
          : runs.at(-1)?.push(`${(at * step + step / 2).toFixed(1)},${(HIGH - (value / most) * HIGH).toFixed(1)}`)
      );
      return runs
        .filter((run) => run.length)
        .map((run) => [
          which === 0
            ? svg("polygon", {
                class: "area",
                points: `${run[0]?.split(",")[0]},${HIGH} ${run.join(" ")} ${run.at(-1)?.split(",")[0]},${HIGH}`
              })
            : null,
          svg("polyline", { class: `line ${kind}`, points: run.length === 1 ? `${run[0]} ${run[0]}` : run.join(" ") })
        ]);
    })
  );
}
