"use strict";
// The page's behaviour: the roofline, the samples of each point, tables that sort and filter, and the search of claims.
// Data are shown as texts and attributes that this file names, never as markup.
(() => {
const $ = (query, at = document) => at.querySelector(query);
const all = (query, at = document) => [...at.querySelectorAll(query)];
const put = (element, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter(child => child !== null && child !== ""));
  return element;
};
const make = (tag, attributes = {}, ...children) => put(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) => put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const once = work => { let made; return () => made ??= work(); };

async function unpacked(id) {
  const bytes = Uint8Array.from(atob($(`#${id}`).textContent), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}
const theModel = once(async () => {
  const model = await unpacked("model");
  (model.samples || []).forEach((sample, i) => { sample.r ??= sample.p === undefined ? i : undefined; });
  return model;
});
const theRows = once(() => unpacked("rows"));

function save(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  make("a", {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// ---- Light and dark ----

const root = document.documentElement, themeButton = $("#theme"), prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
const nameTheme = () => { themeButton.textContent = isDark() ? "Light" : "Dark"; };
themeButton.hidden = false;
themeButton.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
prefersDark.addEventListener("change", nameTheme);
nameTheme();
if (matchMedia("(max-width: 1100px)").matches) $("#contents details").open = false;
$("#contents").addEventListener("click", e => {
  if (e.target.closest("a") && matchMedia("(max-width: 1100px)").matches) $("#contents details").open = false;
});

// ---- CSV files and tables ----

const merged = (base, lines) => lines.map((line, i) => line === "\u0001" ? base[i] : line);
const quoted = value => /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
async function columnsOf(name) {
  const {files, columns} = await theRows();
  const column = i => typeof columns[i] === "string" ? columns[i].split("\n") : merged(column(columns[i][0]), columns[i][1].split("\n"));
  return (files[name] || []).map(column);
}
async function saveCsv(name) {
  const columns = await columnsOf(name), lines = (columns[0] || [""]).map((_, i) => columns.map(c => quoted(c[i])).join(","));
  save(`${name.split("/")[1]}.csv`, lines.map(line => (columns.length === 1 && line === "" ? '""' : line) + "\n").join(""), "text/csv");
}
document.addEventListener("click", e => {
  const link = e.target.closest("button[data-csv]");
  if (link) saveCsv(link.dataset.csv);
});

/// The rows of a table, each with those that belong to it: a claim with its further machines.
const unitsOf = body => [...body.rows].reduce((made, row) => {
  if (row.hasAttribute("data-same") && made.length) made[made.length - 1].push(row);
  else made.push([row]);
  return made;
}, []);
const words = text => text.toLowerCase().split(/\s+/).filter(Boolean);
const textOf = unit => unit.text ??= unit.map(row => row.textContent).join(" ").toLowerCase().replaceAll("\u00a0", " ");

for (const figure of all("figure.fig[data-csv]")) {
  $("figcaption", figure).append(make("span", {class: "tools"}, make("button", {"data-csv": figure.dataset.csv}, "CSV")));
}
for (const figure of all("figure.table")) {
  const table = $("table", figure), body = table.tBodies[0], units = unitsOf(body), name = figure.dataset.csv;
  units.forEach((unit, i) => { unit.index = i; });
  const tools = make("span", {class: "tools"});
  if (units.length > 7) {
    const box = make("input", {type: "search", placeholder: "filter", "aria-label": "Rows with these words", input: () => {
      const wanted = words(box.value);
      for (const unit of units) for (const row of unit) row.classList.toggle("no-word", !wanted.every(word => textOf(unit).includes(word)));
    }});
    tools.append(box);
  }
  tools.append(make("button", {"data-csv": name}, "CSV"));
  $("figcaption", figure).append(tools);
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.replaceChildren(make("button", {click: () => sort(column)}, ...head.childNodes));
  });
  async function sort(column) {
    const was = heads[column].getAttribute("aria-sort"), now = {ascending: "descending", descending: null}[was];
    const direction = was ? now : "ascending", values = (await columnsOf(name)).find(c => c[0] === heads[column].dataset.k);
    heads.forEach(head => head.removeAttribute("aria-sort"));
    if (direction) heads[column].setAttribute("aria-sort", direction);
    const row = new Map();
    let number = 0;
    for (const unit of [...units].sort((a, b) => a.index - b.index)) { row.set(unit, number); number += unit.length; }
    const value = unit => values ? values[row.get(unit) + 1] : unit[0].cells[column].textContent;
    const sign = direction === "descending" ? -1 : 1;
    const sorted = [...units].sort((a, b) => !direction ? a.index - b.index : compared(value(a), value(b), sign) || a.index - b.index);
    body.append(...sorted.flat());
  }
  theRows().then(({more}) => {
    const rest = more[name.split("/")[1]];
    if (!rest) return;
    const button = make("button", {click: () => {
      for (const cells of rest) {
        const added = [make("tr", {}, cells.map(cell => make("td", {}, cell)))];
        added.index = units.length;
        units.push(added);
        body.append(...added);
      }
      button.remove();
    }}, `all ${units.length + rest.length} rows`);
    tools.prepend(button);
  });
}
/// Numbers by size, texts by their letters, missing values last.
function compared(a, b, sign) {
  if (a === "" || b === "" || a === undefined || b === undefined) return (a ? 0 : 1) - (b ? 0 : 1);
  const x = Number(a), y = Number(b);
  return sign * (Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, "en", {numeric: true}) : x - y);
}

// ---- The search of claims ----

async function searchClaims(place) {
  const {verdicts, documents} = await theModel(), figures = all("figure.claims").map(figure => [figure, unitsOf($("tbody", figure))]);
  const list = (label, values) => make("select", {"aria-label": label, change: search},
    make("option", {value: ""}, label), values.map((value, i) => make("option", {value: i}, value)));
  const box = make("input", {type: "search", placeholder: "words in a claim, its values or kernels", "aria-label": "Search the claims", input: search});
  const document_ = list("every document", documents), verdict = list("every verdict", verdicts), count = make("output");
  place.append(make("h3", {}, "Search the claims"), make("div", {class: "controls"}, box, document_, verdict, count));
  function search() {
    const wanted = words(box.value);
    let found = 0, every = 0;
    for (const [figure, units] of figures) {
      let here = 0;
      for (const unit of units) {
        const fits = (document_.value === "" || unit[0].dataset.d === document_.value)
          && (verdict.value === "" || unit.some(row => row.dataset.v === verdict.value)) && wanted.every(word => textOf(unit).includes(word));
        for (const row of unit) row.classList.toggle("no-claim", !fits);
        here += fits;
      }
      figure.hidden = !here;
      found += here;
      every += units.length;
    }
    count.textContent = `${found} of ${every} claims`;
  }
  search();
}
if ($("#claims")) searchClaims($("#claims"));

// ---- The roofline ----

const LEVELS = ["requested", "L1", "L2", "L3", "DRAM"], ROOFS = {L1: ["L1", "SHARED"], L2: ["L2"], L3: ["L3"], DRAM: ["DRAM"]};
const SHAPES = {requested: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", L1: "M0-4.6L4.4 3.4H-4.4z", L2: "M-3.6-3.6H3.6V3.6H-3.6z",
  L3: "M0 4.6L4.4-3.4H-4.4z", DRAM: "M0-5L5 0L0 5L-5 0z"};
const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "opacity",
  "font-size", "font-weight", "font-family", "text-anchor"];
const decade = (value, round) => 10 ** round(Math.log10(value) + (round === Math.floor ? 1e-9 : -1e-9));
const withPrefix = giga => {
  const [scale, prefix] = [[1e6, "P"], [1e3, "T"], [1, "G"], [1e-3, "M"], [1e-6, "k"]].find(([s]) => giga >= s * 0.9995) || [1e-6, "k"];
  return `${Number((giga / scale).toPrecision(3))} ${prefix}`;
};
const short = value => `${Number(value.toPrecision(3))}`;
const raised = n => String(n).replace(/[-0-9]/g, c => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
const numeral = n => n >= 1e-3 && n < 1e5 ? short(n) : `10${raised(Math.round(Math.log10(n)))}`;

async function roofline(place) {
  const model = await theModel(), {machines, groups, marks} = model;
  marks.forEach((mark, i) => { mark.key = `k${i}`; });
  machines.forEach((machine, m) => machine.roofs.forEach((roof, i) => { roof.key = `r${m}-${i}`; roof.m = m; }));
  const state = {group: Math.max(0, groups.findIndex(g => g.first)), levels: new Set(["requested", "DRAM"]), types: new Set(), machines: new Set(),
    only: new Set()};
  const also = () => groups[state.group].also || [];
  const everyMark = () => marks.filter(mark => mark.g === state.group || also().some(([g, type]) => mark.g === g && mark.type === type));
  const shownMarks = () => everyMark().filter(mark => state.machines.has(mark.m) && state.types.has(mark.type));
  const roofsOf = () => machines.flatMap((machine, m) => state.machines.has(m) ? machine.roofs : []);
  const shownRoofs = () => roofsOf().filter(roof => roof.level
    ? [...state.levels].some(level => (ROOFS[level] || []).includes(roof.level)) : state.types.has(roof.type));
  const [controls, plot, legend] = ["controls", "plot", "legend"].map(name => make("div", {class: name})), out = make("p", {class: "out"});
  const panel = make("div", {id: "detail", class: "detail", "aria-live": "polite", hidden: true});
  place.append(make("h2", {class: "title"}, "Roofline"), controls, plot, out, panel, legend);
  const views = [...new Set(groups.map(g => g.view))];
  const choice = make("select", {"aria-label": "Kernels", change: () => { state.group = Number(choice.value); begin(); }}, views.map(view =>
    make("optgroup", {label: view}, groups.filter(g => g.view === view).map(g => make("option", {value: g.id}, g.title)))));
  choice.value = state.group;

  /// A row of switches for the members of a set.
  function switches(label, values, set, texts = values) {
    const swatch = value => set === hues() && set.has(value) ? make("span", {class: `swatch ${hue(value)}`}) : "";
    return make("span", {class: "switches", role: "group", "aria-label": label}, make("span", {class: "soft"}, label), values.map((value, i) =>
      make("button", {"aria-pressed": `${set.has(value)}`, click: () => { if (!set.delete(value)) set.add(value); update(); }}, swatch(value), texts[i])));
  }
  function begin(levels = state.levels) {
    const mine = everyMark(), number = {};
    state.only.clear();
    state.machines = new Set(mine.length ? [mine[0].m] : [0]);
    for (const mark of mine) if (state.machines.has(mark.m)) number[mark.type] = (number[mark.type] || 0) + 1;
    const most = Object.keys(number).sort((a, b) => number[b] - number[a])[0];
    state.types = new Set(most ? [most] : machines[0].roofs.filter(r => r.type).slice(0, 1).map(r => r.type));
    const known = LEVELS.filter(level => shownMarks().some(mark => mark.x[level])), isSome = known.some(level => new Set(levels).has(level));
    state.levels = new Set(isSome ? levels : known);
    update();
  }
  function update() {
    const types = [...new Set([...everyMark().map(mark => mark.type), ...roofsOf().filter(r => r.type).map(r => r.type)])].sort();
    const levels = LEVELS.filter(level => everyMark().some(mark => mark.x[level]) || roofsOf().some(r => (ROOFS[level] || []).includes(r.level)));
    const focused = document.activeElement && controls.contains(document.activeElement) ? document.activeElement.textContent : null;
    controls.replaceChildren(choice, switches("bytes of", levels, state.levels), switches("precision", types, state.types),
      machines.length > 1 ? switches("machine", machines.map((_, m) => m), state.machines, machines.map(m => m.name)) : "",
      make("span", {class: "switches"}, make("button", {click: () => begin(["requested", "DRAM"])}, "Reset"), make("button", {click: exportSvg}, "SVG"),
        make("button", {click: exportPng}, "PNG")));
    if (focused) (all("button", controls).find(b => b.textContent === focused) || controls).focus();
    paint();
  }

  /// The axes depend on the roofs alone and end at decades, so that reports can be laid side by side.
  function axes() {
    const slopes = roofsOf().filter(r => Object.values(ROOFS).flat().includes(r.level)).map(r => r.y);
    const peaks = roofsOf().filter(r => state.types.has(r.type)).map(r => r.y);
    const flat = peaks.length ? peaks : [1000], steep = slopes.length ? slopes : [100];
    const x0 = decade(Math.min(...flat) / Math.max(...steep), Math.floor) / 10;
    const x1 = decade(Math.max(...flat) / Math.min(...steep), Math.ceil) * 10;
    return {x0, x1, y0: decade(Math.min(...steep) * x0, Math.floor), y1: decade(Math.max(...flat), Math.ceil)};
  }
  /// Colours tell machines apart, else precisions, else libraries from our kernels.
  const hues = () => [state.machines, state.types].find(set => set.size > 1);
  const hue = value => `m${[...hues()].sort().indexOf(value) % 6}`;
  const colour = mark => !hues() ? (mark.n === null ? "peer" : "own") : hue(hues() === state.machines ? mark.m : mark.type);
  let svg = null;
  function paint() {
    const active = document.activeElement && document.activeElement.closest("[data-key]"), isOfPlot = active && plot.contains(active);
    const width = Math.max(320, Math.min(place.clientWidth || 640, 980)), height = Math.round(Math.max(300, Math.min(width * 0.6, 520)));
    const box = {left: 58, right: width - 20, top: 20, bottom: height - 40}, {x0, x1, y0, y1} = axes();
    const px = x => box.left + (box.right - box.left) * Math.log(x / x0) / Math.log(x1 / x0);
    const py = y => box.bottom - (box.bottom - box.top) * Math.log(y / y0) / Math.log(y1 / y0);
    const taken = [], parts = [], outside = [], roofs = shownRoofs(), points = shownMarks();
    for (let x = x0; x <= x1 * 1.01; x *= 10) {
      parts.push(draw("path", {class: "grid", d: `M${px(x)} ${box.top}V${box.bottom}`}),
        draw("text", {class: "tick middle", x: px(x), y: box.bottom + 15}, numeral(x)));
    }
    for (let y = y0; y <= y1 * 1.01; y *= 10) {
      parts.push(draw("path", {class: "grid", d: `M${box.left} ${py(y)}H${box.right}`}),
        draw("text", {class: "tick end", x: box.left - 6, y: py(y) + 4}, withPrefix(y)));
    }
    parts.push(draw("text", {class: "tick middle", x: (box.left + box.right) / 2, y: height - 6}, "operations per byte"),
      draw("text", {class: "tick middle", transform: `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`}, "operations per second"));
    /// Whether a label's box is free, which it takes then.
    const free = (x, y, w, h = 12) => {
      const isOut = x < box.left || x + w > box.right + 8 || y - h < 2 || y > box.bottom;
      if (isOut || taken.some(b => x < b[2] && x + w > b[0] && y - h < b[3] && y > b[1])) return false;
      taken.push([x, y - h, x + w, y]);
      return true;
    };
    for (const mark of points) for (const level of LEVELS) {
      const [x, y] = [px(mark.x[level]), py(mark.y)];
      if (mark.x[level] && state.levels.has(level)) taken.push([x - 4, y - 4, x + 4, y + 4]);
    }
    const onlyRoofs = roofs.some(r => state.only.has(r.key)), onlyMarks = points.some(p => state.only.has(p.key));
    for (const roof of roofs) {
      const mine = roofs.filter(r => r.m === roof.m), top = Math.max(...mine.filter(r => r.type && !r.sheet).map(r => r.y), 0) || y1;
      const fastest = Math.max(...mine.filter(r => r.level).map(r => r.y), 0);
      const [a, b] = roof.level ? [Math.max(x0, y0 / roof.y), Math.min(x1, top / roof.y)]
        : [fastest ? Math.max(x0, roof.y / fastest) : x0, x1];
      if (!(b > a)) continue;
      const at = x => roof.level ? roof.y * x : roof.y, d = `M${px(a)} ${py(at(a))}L${px(b)} ${py(at(b))}`;
      const name = `${roof.level === "SHARED" ? "shared memory" : roof.level || roof.label} ${roof.text}`, length = 6.1 * name.length;
      const turn = Math.atan2(py(at(b)) - py(at(a)), px(b) - px(a)), [cos, sin] = [Math.cos(turn), Math.sin(turn)], end = box.right - 4;
      const start = 10 + (length + 12) * roofs.filter(r => r.level && r.level === roof.level).indexOf(roof);
      const along = `translate(${px(a) + start * cos + 5 * sin} ${py(at(a)) + start * sin - 5 * cos}) rotate(${turn * 180 / Math.PI})`;
      const spots = [0, 1, 2].flatMap(n => [-5, 15].map(up => [end - n * (length + 14), py(roof.y) + up]));
      const [lx, ly] = roof.level ? [] : spots.find(([x, y]) => free(x - length, y, length)) || spots[0];
      const label = roof.level ? {transform: along, class: "label"} : {x: lx, y: ly, class: "label end"};
      const dash = state.machines.size > 1 ? [...state.machines].sort().indexOf(roof.m) % 4 : 0;
      parts.push(draw("g", {class: `roof dash${dash}${roof.sheet ? " sheet" : ""}${onlyRoofs && !state.only.has(roof.key) ? " dim" : ""}`,
        "data-key": roof.key, tabindex: 0, role: "button", "aria-label": `Roof ${name}`},
        draw("path", {class: "hit", d}), draw("path", {class: "line", d}), draw("text", label, name)));
    }
    const inFrame = (x, y) => x >= x0 && x <= x1 && y >= y0 && y <= y1;
    for (const mark of [...points].sort((a, b) => state.only.has(a.key) - state.only.has(b.key))) {
      const places = LEVELS.filter(level => mark.x[level] && state.levels.has(level)).map(level => [level, mark.x[level]]);
      if (!places.length) continue;
      const shown = places.filter(([, x]) => inFrame(x, mark.y)), isOnly = state.only.has(mark.key), dim = onlyMarks && !isOnly;
      const y = py(Math.min(Math.max(mark.y, y0), y1)), inside = x => px(Math.min(Math.max(x, x0), x1)), ends = places.map(([, x]) => inside(x));
      const left = Math.min(...ends), right = Math.max(...ends);
      const g = draw("g", {class: `mark ${colour(mark)}${dim ? " dim" : ""}`, "data-key": mark.key, tabindex: 0, role: "button",
        "aria-label": `${mark.t}: ${mark.told[0]}`});
      if (places.length > 1 && mark.y >= y0 && mark.y <= y1) g.append(draw("path", {class: "join", d: `M${left} ${y}H${right}`}));
      for (const [level, x] of places) {
        if (inFrame(x, mark.y)) {
          if (mark.low) g.append(draw("path", {class: "interval", d: `M${px(x)} ${py(mark.low)}V${py(mark.high)}`}));
          g.append(draw("path", {class: `spot ${level}`, d: SHAPES[level], transform: `translate(${px(x)} ${y})`}));
        } else {
          const turn = x > x1 ? 90 : x < x0 ? -90 : mark.y > y1 ? 0 : 180;
          g.append(draw("path", {class: "badge", d: "M0-7L6 4H-6z", transform: `translate(${inside(x)} ${y}) rotate(${turn})`}));
          outside.push(`${mark.t} (${level}: ${short(x)} OP/B, ${withPrefix(mark.y)}OP/s)`);
        }
      }
      const text = isOnly || mark.n === null ? `${mark.n ?? ""} ${mark.t}`.trim() : `${mark.n}`, w = 6.2 * text.length + 2;
      const spots = [[right + 7, y + 4], [left - 7 - w, y + 4], [(left + right - w) / 2, y - 7], [(left + right - w) / 2, y + 17],
        [right + 6, y - 7], [left - w - 6, y + 15], [right + 6, y + 15]];
      const spot = dim || !shown.length ? null : spots.find(([a, b]) => free(a, b, w)) || (isOnly ? [Math.min(right + 7, box.right - w), y + 17] : null);
      if (spot) g.append(draw("text", {class: "name", x: spot[0], y: spot[1]}, text));
      parts.push(g);
    }
    const title = `${groups[state.group].title}; ${[...state.machines].map(m => machines[m].name).join(", ")}`;
    svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `Roofline. ${title}`}, parts);
    plot.replaceChildren(svg);
    const elsewhere = [...state.types].filter(type => !points.some(p => p.type === type) && everyMark().some(p => p.type === type))
      .map(type => `Kernels in ${type} are of ${[...new Set(everyMark().filter(p => p.type === type).map(p => machines[p.m].name))].join(", ")}.`);
    const unknown = points.filter(p => !LEVELS.some(level => p.x[level] && state.levels.has(level))).map(p => `${p.t} (${withPrefix(p.y)}OP/s)`);
    const nowhere = unknown.length && state.levels.size ? `Not drawn, since their bytes of these levels are not known: ${unknown.join(", ")}.` : "";
    out.textContent = [...elsewhere, nowhere, outside.length ? `Out of the frame: ${outside.join("; ")}.` : ""].filter(Boolean).join(" ");
    const entry = (item, name, more, text, look) => make("button", {class: look, "data-key": item.key, "aria-pressed": `${state.only.has(item.key)}`,
      "aria-label": `${name}${more}: ${text}`},
      make("span", {class: "swatch"}), make("span", {class: "what"}, name), make("span", {class: "value"}, text));
    const where = m => state.machines.size > 1 ? `, ${machines[m].name}` : "", what = type => state.types.size > 1 ? `, ${type}` : "";
    const kernels = points.map(p => entry(p, `${p.n === null ? "" : `${p.n} `}${p.t}`, `${what(p.type)}${where(p.m)}`, p.told[0].split(/ \[|,/)[0], colour(p)));
    legend.replaceChildren(make("div", {role: "group", "aria-label": "Kernels"}, kernels), make("div", {role: "group", "aria-label": "Roofs"},
      roofs.map(r => entry(r, `${r.label}${r.sheet ? " (data sheet)" : ""}`, where(r.m), r.text, "roof"))));
    if (active) refocus(active.dataset.key, isOfPlot);
  }

  const byKey = new Map([...marks, ...machines.flatMap(machine => machine.roofs)].map(item => [item.key, item]));
  function isolate(key, several) {
    const was = state.only.has(key), alone = state.only.size === 1;
    if (!several) state.only.clear();
    if (was && (several || alone)) state.only.delete(key);
    else state.only.add(key);
    paint();
    if (state.only.has(key)) detail(byKey.get(key), model, panel);
    else panel.hidden = true;
  }
  function refocus(key, isSvg) {
    const again = $(`[data-key="${key}"]`, isSvg ? plot : legend);
    if (again) again.focus({preventScroll: true});
  }
  place.addEventListener("click", e => {
    const hit = e.target.closest("[data-key]");
    if (hit) {
      isolate(hit.dataset.key, e.ctrlKey || e.metaKey || e.shiftKey);
      refocus(hit.dataset.key, hit.ownerSVGElement);
      tip.hidden = true;
    } else if (e.target.closest("svg") && state.only.size) { state.only.clear(); panel.hidden = true; paint(); }
  });
  place.addEventListener("keydown", e => {
    const hit = e.target.closest("[data-key]"), step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key];
    if (e.key === "Escape") { state.only.clear(); panel.hidden = true; tip.hidden = true; paint(); }
    else if (hit && hit.ownerSVGElement && (e.key === "Enter" || e.key === " ")) {
      e.preventDefault();
      isolate(hit.dataset.key, e.ctrlKey || e.metaKey || e.shiftKey);
      refocus(hit.dataset.key, true);
    } else if (hit && step) {
      e.preventDefault();
      const near = all("[data-key]", hit.ownerSVGElement || legend);
      near[(near.indexOf(hit) + step + near.length) % near.length].focus();
    }
  });
  const tip = $("#tip");
  function hint(e) {
    const hit = e.target.closest && e.target.closest("[data-key]"), item = hit && byKey.get(hit.dataset.key);
    if (!item) { tip.hidden = true; return; }
    const places = item.x && Object.keys(item.x).length ? [`${Object.entries(item.x).map(([level, x]) => `${level} ${short(x)}`).join(", ")} OP/B`] : [];
    tip.replaceChildren(make("b", {}, item.t ? `${item.t}, ${item.type}` : item.label), make("span", {class: "soft"}, machines[item.m].name),
      ...[...item.told, ...places, ...caps(item)].map(line => make("span", {}, line)));
    tip.hidden = false;
    const at = hit.getBoundingClientRect(), x = e.clientX ?? at.right, y = e.clientY ?? at.bottom;
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, y + 16 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 12 : y + 16)}px`;
  }
  /// The peaks that a slope caps, each below an intensity.
  const caps = item => !item.level ? [] : machines[item.m].roofs.filter(r => state.types.has(r.type) && !r.sheet)
    .map(r => `caps ${r.label} below ${short(r.y / item.y)} OP/B`);
  for (const kind of ["pointermove", "focusin"]) place.addEventListener(kind, hint);
  for (const kind of ["pointerleave", "focusout"]) place.addEventListener(kind, () => { tip.hidden = true; });

  /// The present view as a file of its own, with a title and the list of kernels.
  function standalone() {
    const copy = svg.cloneNode(true), from = [svg, ...all("*", svg)], to = [copy, ...all("*", copy)];
    from.forEach((element, i) => {
      const style = getComputedStyle(element);
      for (const look of LOOKS) to[i].setAttribute(look, style.getPropertyValue(look));
      for (const name of ["class", "tabindex", "role", "data-key"]) to[i].removeAttribute(name);
    });
    const width = Number(svg.getAttribute("width")), height = Number(svg.getAttribute("height")), style = getComputedStyle(document.body);
    const texts = [svg.getAttribute("aria-label"), ...all("button", legend).filter(b => !state.only.size || b.getAttribute("aria-pressed") === "true")
      .map(b => b.getAttribute("aria-label")), out.textContent].filter(Boolean);
    const columns = Math.max(1, Math.floor(width / 300)), lines = Math.ceil((texts.length - 1) / columns), tall = height + 30 + 15 * lines;
    copy.prepend(draw("rect", {width, height: tall, fill: style.backgroundColor}));
    texts.forEach((text, i) => copy.append(draw("text", {x: 12 + (i && Math.floor((i - 1) / lines) * width / columns),
      y: height + 14 + (i && 18 + (i - 1) % lines * 15), fill: style.color, "font-size": i ? 11 : 12, "font-weight": i ? 400 : 600,
      "font-family": "sans-serif"}, text)));
    put(copy, {width, height: tall, viewBox: `0 0 ${width} ${tall}`}, []);
    return new XMLSerializer().serializeToString(copy);
  }
  function exportSvg() { save("roofline.svg", standalone(), "image/svg+xml"); }
  function exportPng() {
    const url = URL.createObjectURL(new Blob([standalone()], {type: "image/svg+xml"})), image = new Image();
    image.onload = () => {
      const canvas = make("canvas", {width: 2 * image.width, height: 2 * image.height}), context = canvas.getContext("2d");
      context.scale(2, 2);
      context.drawImage(image, 0, 0);
      URL.revokeObjectURL(url);
      canvas.toBlob(blob => save("roofline.png", blob));
    };
    image.src = url;
  }
  let known = 0;
  new ResizeObserver(() => { if (place.clientWidth !== known) { known = place.clientWidth; paint(); } }).observe(place);
  begin();
}

// ---- A point: its samples, its source, its row ----

const named = (sample, columns) => (columns.find(column => column[0] === "point") || [])[sample.r + 1];
async function detail(item, model, place) {
  const kernel = model.kernels[item.k], sample = model.samples[item.s], columns = await columnsOf("tables/samples");
  const pair = (name, value) => value ? [make("dt", {}, name), make("dd", {}, value)] : [];
  const close = make("button", {click: () => { place.hidden = true; }}, "Close");
  const about = make("dl", {}, pair("machine", item.where || model.machines[item.m].name), pair("kernel", item.k), pair("idea", kernel && kernel.idea),
    pair("from", kernel && kernel.by), pair("source", kernel && kernel.at), pair("point", sample && (sample.p || named(sample, columns))),
    pair("run", sample && `${sample.f}${sample.v ? `, commit ${sample.v}` : ""}`));
  place.replaceChildren(make("h2", {class: "title"}, item.t ? `${item.t}, ${item.type}` : item.label, " ", close),
    make("div", {class: "two"}, make("div", {}, make("ul", {}, item.told.map(line => make("li", {}, line))), about), sample ? strips(sample) : ""));
  place.hidden = false;
  if (sample && sample.r !== undefined) {
    place.append(make("details", {}, make("summary", {}, "Its row in samples.csv"),
      make("dl", {class: "row"}, columns.map(c => pair(c[0], c[sample.r + 1]))), make("button", {"data-csv": "tables/samples"}, "CSV")));
  }
}

/// The samples over their rounds: time, and clock and power where each sample has them.
function strips(sample) {
  const width = 380, left = 64, right = width - 10, turns = sample.u || sample.t.map((_, i) => i), last = Math.max(...turns), first = Math.min(...turns);
  const x = turn => left + 8 + (right - left - 16) * (turn - first) / Math.max(1, last - first);
  const percent = t => `${t >= 0 ? "+" : "−"}${short(Math.abs(t) / 1000)} %`;
  const times = sample.t.map(t => t * (sample.q || 1));
  const rows = [["time", times, percent, 110], ...(sample.c ? [["clock", sample.c, c => `${c} MHz`, 62]] : []),
    ...(sample.w ? [["power", sample.w, w => `${w} W`, 62]] : [])];
  const parts = [];
  let top = 6;
  for (const [name, values, text, height] of rows) {
    const low = Math.min(...values), high = Math.max(...values), bottom = top + height - 14;
    const y = value => high === low ? (top + bottom) / 2 : bottom - 6 - (bottom - top - 12) * (value - low) / (high - low);
    parts.push(draw("path", {class: "grid", d: `M${left} ${top}H${right}V${bottom}H${left}z`}),
      draw("text", {class: "tick end", x: left - 5, y: y(high) + 4}, text(high)));
    if (high !== low) parts.push(draw("text", {class: "tick end", x: left - 5, y: y(low) + 4}, text(low)));
    if (name === "time" && low < 0 && high > 0) parts.push(draw("path", {class: "median", d: `M${left} ${y(0)}H${right}`}));
    values.forEach((value, i) => parts.push(draw("circle", {class: `dot ${name}`, cx: x(turns[i]), cy: y(value), r: 3},
      draw("title", {}, `round ${turns[i] + 1}: ${rows.map(([, all_, as]) => as(all_[i])).join(", ")}`))));
    top += height;
  }
  parts.push(draw("text", {class: "tick", x: left, y: top + 4}, `round ${first + 1}`),
    draw("text", {class: "tick end", x: right, y: top + 4}, `round ${last + 1}`));
  const names = rows.map(([name]) => name), more = names.length > 1 ? `; ${names.slice(1).join(" and ")} of each` : "";
  const missing = sample.out ? `; ${sample.out} disturbed ones are left out` : "";
  return make("figure", {class: "strips"},
    draw("svg", {viewBox: `0 0 ${width} ${top + 10}`, role: "img", "aria-label": `Samples over rounds: ${names.join(", ")}`}, parts),
    make("figcaption", {}, `${sample.t.length} samples over their rounds: time relative to the median, ${sample.m}${more}${missing}.`));
}

// ---- The search of samples ----

async function searchSamples(place) {
  const model = await theModel(), columns = await columnsOf("tables/samples"), box = make("input", {type: "search", input: search,
    placeholder: "words in the name of a point, its experiment or machine", "aria-label": "Search the samples"});
  const column = name => (columns.find(c => c[0] === name) || [""]).slice(1), [points, experiments, places, modes, counts] =
    ["point", "experiment", "machine", "mode", "samples"].map(column), panel = make("div", {class: "detail", hidden: true});
  const texts = points.map((_, i) => [points[i], experiments[i], places[i], modes[i]].join(" ").toLowerCase());
  const found = make("div", {class: "found"}), count = make("output");
  place.append(make("h3", {}, "Search the samples"), make("div", {class: "controls"}, box, count), found, panel);
  function search() {
    const wanted = words(box.value), rows = texts.flatMap((text, i) => wanted.every(word => text.includes(word)) ? [i] : []);
    count.textContent = `${rows.length} of ${points.length} points${wanted.length && rows.length > 60 ? ", the first 60:" : ""}`;
    found.replaceChildren(...rows.slice(0, wanted.length ? 60 : 0).map(i => make("button", {click: () => show(i)}, points[i])));
  }
  function show(row) {
    const s = model.samples.findIndex(sample => sample.r === row), k = points[row].split("/").slice(0, 3).join("/");
    detail({t: points[row], type: modes[row], told: [`${counts[row]} samples, median ${model.samples[s].m}`], where: places[row], k, s}, model, panel);
  }
  search();
}
if ($("#samples")) searchSamples($("#samples"));
if ($("#roofline")) roofline($("#roofline")).catch(error => $("#roofline").append(make("p", {}, `The roofline cannot be drawn: ${error.message}.`)));
})();
