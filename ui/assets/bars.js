// Draws bars of `data`: rows of which each has a bar in every chart, side by side. All text goes in as text.

const SVG = "http://www.w3.org/2000/svg";
const ROW = 27, BAR = 18, NAME = 18, FOOT = 26, GAP = 20, NARROW = 640, LETTER = 12, LEGEND = 19;
// Room behind the longest bar for its value, the same while bars move.
const VALUE_ROOM = 64;

const pen = document.createElement("canvas").getContext("2d");
const widthOf = (text, size, bold) => {
  pen.font = `${bold ? 600 : 400} ${size}px "Source Sans", sans-serif`;
  return pen.measureText(text).width;
};

function shape(kind, attributes, ...children) {
  const node = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// A picture of the page has no style sheet: what texts look like stands in their attributes.
const textAt = (x, y, text, more = {}) =>
  shape("text", { x, y, "font-size": LETTER, fill: "currentColor", ...more }, text);

// Lines that cross a value don't strike it through.
const HALO = { stroke: "var(--st-background-color)", "stroke-width": 3, "paint-order": "stroke" };

const cut = (text, size, bold, room) => {
  let kept = text;
  while (kept.length > 1 && widthOf(kept, size, bold) > room) kept = kept.slice(0, -2).trimEnd() + "…";
  return kept;
};

const nameWidth = (row) =>
  widthOf(row.name, LETTER, row.bold) + row.marks.reduce((sum, mark) => sum + 6 + widthOf(mark, 11), 0);
const tagWidth = (row) => (row.tag ? widthOf(row.tag, 11, true) + 14 : 0);

function nameOf(row, x, y, room) {
  const marks = row.marks.reduce((sum, mark) => sum + 6 + widthOf(mark, 11), 0);
  const weight = row.bold ? 600 : 400;
  const name = textAt(x, y, cut(row.name, LETTER, row.bold, room - marks), {
    "font-weight": weight, class: "name", ...HALO,
  });
  for (const mark of row.marks) {
    name.append(shape("tspan", { "font-size": 11, "font-weight": 400, "fill-opacity": 0.75 }, ` ${mark}`));
  }
  return name;
}

function tagOf(row, end, y) {
  const width = tagWidth(row), color = "var(--st-primary-color)";
  const box = shape("rect", {
    x: end - width, y: y - 12, width, height: 17, rx: 8, fill: color, "fill-opacity": 0.12, stroke: color,
    "stroke-opacity": 0.5,
  });
  return [box, textAt(end - width / 2, y, row.tag, {
    "font-size": 11, "font-weight": 600, "text-anchor": "middle", class: "tag",
  })];
}

// Round numbers up to the end, at most six.
function ticksOf(end) {
  const power = 10 ** Math.floor(Math.log10(end / 5));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => end / one <= 6);
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, number) => number * step);
}

function barOf(bar, x0, scale, y) {
  const parts = [], at = (value) => x0 + value * scale, middle = y + BAR / 2;
  const box = (from, to, more) =>
    shape("rect", { x: at(from), y, width: Math.max(0, at(to) - at(from)), height: BAR, ...more });
  const line = (x1, x2, y1, y2, more = {}) => shape("line", { x1, x2, y1, y2, stroke: "currentColor", ...more });
  if (bar.value !== null) {
    const opacity = bar.dimmed ? 0.35 : 1;
    parts.push(box(0, bar.value, { fill: bar.color, opacity, class: "bar" }));
    if (bar.waiting) parts.push(box(bar.value * (1 - bar.waiting), bar.value, { fill: "url(#waits)", class: "waits" }));
    if (bar.doubtful) parts.push(box(0, bar.value, { fill: "url(#doubtful)", class: "doubtful" }));
    if (bar.low !== null && bar.high !== null) {
      parts.push(line(at(bar.low), at(bar.high), middle, middle, { "stroke-width": 1.2 }));
      for (const end of [bar.low, bar.high]) {
        parts.push(line(at(end), at(end), middle - 3, middle + 3, { "stroke-width": 1.2 }));
      }
    }
  }
  let end = at(bar.end);
  if (bar.usual) {
    const tick = at(bar.usual);
    parts.push(line(tick, tick, y - 1, y + BAR + 1, { "stroke-width": 1.5, "stroke-opacity": 0.5, class: "usual" }));
    if (tick >= end && tick <= end + widthOf(bar.text, LETTER) + 8) end = tick;
  }
  const muted = bar.value === null ? { "fill-opacity": 0.75 } : {};
  parts.push(textAt(end + 5, middle + 4, bar.text, { class: "value", ...HALO, ...muted }));
  return parts;
}

// Hatched: where a GPU waits for data, and bars that may not fit in memory.
const hatch = (id, slope) =>
  shape("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    shape("path", { d: slope, stroke: "currentColor", "stroke-width": 1.3 }));

function draw(box, data, isAll, ask) {
  const width = box.clientWidth, narrow = width < NARROW, charts = data.charts.length;
  const rows = isAll ? data.bars : data.bars.filter((row) => row.kept), ends = data.charts.map((one) => one.ends[+isAll]);
  const room = narrow ? 0 : Math.min(0.36 * width, Math.max(...rows.map((row) => nameWidth(row) + tagWidth(row))) + 16);
  const plot = (width - room - GAP * (charts - 1)) / charts;
  const head = (data.charts.some((chart) => chart.limit !== null) ? 40 : 30) + LEGEND * data.legend.length;
  // A row without a name belongs to the one above.
  const tops = [head];
  for (const row of rows) tops.push(tops.at(-1) + (row.name ? ROW + (narrow ? NAME : 0) : BAR + 2));
  const bottom = tops.at(-1), starts = data.charts.map((_, place) => room + place * (plot + GAP));
  const svg = shape("svg", {
    width, height: bottom + FOOT, role: "group", "aria-label": data.title, class: "main-svg",
    "font-family": '"Source Sans", sans-serif',
  });
  svg.append(shape("defs", {}, hatch("waits", "M0,6L6,0M-1,1L1,-1M5,7L7,5"),
    hatch("doubtful", "M0,0L6,6M-1,5L1,7M5,-1L7,1")));
  data.legend.forEach(([color, name], place) => {
    const y = 15 + LEGEND * (place + 1);
    svg.append(shape("rect", { x: room, y: y - 10, width: 11, height: 11, fill: color }), textAt(room + 18, y, name));
  });
  const scales = ends.map((end) => (plot - VALUE_ROOM) / end);
  data.charts.forEach((chart, place) => {
    svg.append(textAt(starts[place], 15, chart.title, { "font-size": 15, "font-weight": 600 }));
    for (const tick of ticksOf(plot / scales[place])) {
      const x = starts[place] + tick * scales[place], text = chart.prefix + tick.toLocaleString("en-US");
      svg.append(shape("line", {
        x1: x, x2: x, y1: head - 4, y2: bottom, stroke: "currentColor", "stroke-opacity": tick ? 0.1 : 0.4,
      }));
      if (x + widthOf(text, 11) / 2 > starts[place] + plot + GAP / 2) continue;
      const anchor = tick || place || room ? "middle" : "start";
      svg.append(textAt(x, bottom + 15, text, { "font-size": 11, "fill-opacity": 0.75, "text-anchor": anchor, class: "tick" }));
    }
  });
  data.charts.forEach((chart, place) => {
    if (chart.limit === null || chart.limit > ends[place]) return;
    const x = starts[place] + chart.limit * scales[place];
    svg.append(shape("line", {
      x1: x, x2: x, y1: head - 4, y2: bottom, stroke: chart.color, "stroke-width": 1.5, "stroke-dasharray": "5 4",
      "pointer-events": "none", class: "limit",
    }));
    svg.append(textAt(x, head - 6, chart.limit_name, { "font-size": 11, "text-anchor": "middle" }));
  });
  const tip = box.querySelector(".tip");
  rows.forEach((row, number) => {
    const top = tops[number], step = tops[number + 1] - top;
    const y = top + (row.name ? (narrow ? NAME : 0) + (ROW - BAR) / 2 : (BAR - ROW) / 3);
    const line = shape("g", { class: "row", "data-key": row.key });
    if (data.opens) {
      const said = [row.name, ...row.marks, row.tag].filter(Boolean).join(" ");
      const values = row.bars.map((bar) => bar.text);
      const label = `${said}: ${[...new Set(values)].join(", ")}`;
      for (const [name, value] of [["role", "button"], ["tabindex", 0], ["aria-label", label]]) {
        line.setAttribute(name, value);
      }
      line.onclick = () => ask(row.key);
      line.onkeydown = (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        ask(row.key);
      };
    }
    line.append(shape("rect", { x: 0, y: top, width, height: step, fill: "currentColor", "fill-opacity": 0, class: "back" }));
    const baseline = narrow ? top + 14 : y + BAR / 2 + 4, end = narrow ? width : room - 8;
    line.append(nameOf(row, 0, baseline, end - tagWidth(row) - 4));
    if (row.tag) line.append(...tagOf(row, narrow ? Math.min(end, nameWidth(row) + tagWidth(row) + 10) : end, baseline));
    row.bars.forEach((bar, place) => {
      const shown = shape("g", { "data-chart": data.charts[place].key });
      // What takes the pointer between bar and edge too.
      shown.append(shape("rect", { x: starts[place], y: top, width: plot, height: step, fill: "none", "pointer-events": "all" }));
      shown.append(...barOf(bar, starts[place], scales[place], y));
      shown.onpointermove = (event) => {
        if (!bar.hover) return;
        const { left, top: above } = box.getBoundingClientRect(), x = event.clientX - left;
        tip.textContent = bar.hover;
        tip.hidden = false;
        tip.style.left = `${Math.min(x + 14, width - tip.offsetWidth)}px`;
        tip.style.top = `${event.clientY - above + 18}px`;
      };
      shown.onpointerleave = () => { tip.hidden = true; };
      line.append(shown);
    });
    svg.append(line);
    if (row.first && number + 1 < rows.length && !rows[number + 1].first) {
      const y1 = top + step;
      svg.append(shape("line", { x1: 0, x2: width, y1, y2: y1, stroke: "currentColor", "stroke-opacity": 0.45 }));
    }
  });
  return svg;
}

export default function mounted({ data, parentElement, setTriggerValue }) {
  let box = parentElement.querySelector(".profet-bars");
  if (!box) {
    box = document.createElement("div");
    box.className = "profet-bars";
    const tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
    tip.setAttribute("aria-hidden", "true");
    const more = Object.assign(document.createElement("button"), { type: "button", className: "more" });
    more.onclick = () => {
      box.isAll = !box.isAll;
      box.again();
    };
    box.append(tip, more);
    parentElement.append(box);
    new ResizeObserver(() => box.clientWidth !== box.drawnAt && box.again()).observe(box);
    document.fonts.load('12px "Source Sans"').then(() => box.again());
  }
  const [tip, more] = [box.querySelector(".tip"), box.querySelector(".more")];
  box.again = () => {
    if (!box.clientWidth) return;
    const focused = box.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    const count = data.bars.length, few = data.bars.filter((row) => row.kept).length;
    tip.hidden = true;
    box.querySelector("svg")?.remove();
    const svg = draw(box, data, Boolean(box.isAll), (key) => setTriggerValue("open", key));
    box.prepend(svg);
    box.drawnAt = box.clientWidth;
    document.getElementById("first-paint")?.remove();
    more.hidden = few === count;
    more.textContent = box.isAll ? `Show ${few}` : `Show all ${count}`;
    if (focused) [...svg.querySelectorAll(".row")].find((row) => row.dataset.key === focused)?.focus();
  };
  box.again();
}
