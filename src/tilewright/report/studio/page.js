"use strict";
// Draws the page from the data in it. Everything that has a source line carries `data-p`, "file:line";
// pointing at one lights up all others with the same line, and a click keeps them lit.

const data = JSON.parse(document.getElementById("data").textContent);
const state = { kernel: 0, file: 0, tab: "", stage: -1, diff: false, pinned: "" };
const SVG = "http://www.w3.org/2000/svg";

// -- elements ------------------------------------------------------------------------------------

function make(name, attributes = {}, ...children) {
  const is_svg = ["svg", "g", "rect", "text", "line", "path", "circle", "title", "defs", "pattern"].includes(name);
  const element = is_svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== "" && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  return add(element, ...children);
}

/** Append children, lists of them, and nothing for what is absent. */
function add(into, ...children) {
  into.append(...children.flat(2).filter((each) => each !== null && each !== undefined));
  return into;
}

const kernel = () => data.kernels[state.kernel];
const shortPlace = (p) => {
  const [file, line] = p.split(":");
  return data.files[file] ? `${data.files[file].short}:${line}` : "";
};
const placeLink = (p) => p ? make("span", { class: "place", tabindex: 0, "data-p": p, role: "link" }, shortPlace(p)) : null;
const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

// -- lighting up ---------------------------------------------------------------------------------

function light(p) {
  for (const each of document.querySelectorAll("[data-p].lit")) each.classList.remove("lit");
  if (p) for (const each of document.querySelectorAll(`[data-p="${p}"]`)) each.classList.add("lit");
}

function pin(p) {
  for (const each of document.querySelectorAll("[data-p].pin")) each.classList.remove("pin");
  state.pinned = p;
  if (!p) return;
  const [file] = p.split(":");
  if (Number(file) !== state.file) { state.file = Number(file); drawSource(); }
  for (const each of document.querySelectorAll(`[data-p="${p}"]`)) each.classList.add("pin");
}

function reveal(p, except) {
  for (const body of document.querySelectorAll(".body")) {
    if (except && body.contains(except)) continue;
    const first = body.querySelector(`[data-p="${p}"]`);
    if (first) first.scrollIntoView({ block: "center", inline: "nearest" });
  }
}

function say(text) { foot.textContent = text || help; }

const help = "Point at a line or a box: everything that came from the same source line lights up; a click keeps it lit. "
  + "Keys: 1 to 9 tabs, [ ] passes, d difference, + - ← → timeline, Esc.";

document.addEventListener("mouseover", (event) => {
  const hit = event.target.closest("[data-p]");
  light(hit ? hit.dataset.p : "");
  const labelled = event.target.closest("[data-label]");
  say(labelled ? labelled.dataset.label : hit && hit.classList.contains("ln") ? sayOfLine(hit.dataset.p) : "");
});
document.addEventListener("focusin", (event) => {
  const labelled = event.target.closest("[data-label]");
  if (labelled) say(labelled.dataset.label);
  const hit = event.target.closest("[data-p]");
  if (hit) light(hit.dataset.p);
});
document.addEventListener("click", (event) => {
  const hit = event.target.closest("[data-p]");
  if (!hit) return;
  pin(hit.dataset.p === state.pinned ? "" : hit.dataset.p);
  if (state.pinned) reveal(state.pinned, hit.closest(".body"));
});
document.addEventListener("keydown", (event) => {
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.closest("select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && target.closest("[data-p]")) target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  else if (event.key === "Escape") { pin(""); light(""); say(""); }
  else if (/^[1-9]$/.test(event.key)) { const tab = tabs()[Number(event.key) - 1]; if (tab) openTab(tab[0]); }
  else if (event.key === "[" || event.key === "]") step(event.key === "]" ? 1 : -1);
  else if (event.key === "d") { state.diff = !state.diff; drawTab(); }
  else if (chart && ["+", "=", "-", "ArrowLeft", "ArrowRight"].includes(event.key)) {
    if (event.key === "+" || event.key === "=") chart.zoom(2);
    else if (event.key === "-") chart.zoom(0.5);
    else chart.pan(event.key === "ArrowRight" ? 0.25 : -0.25);
    event.preventDefault();
  }
});

/** What is known about a source line: remarks, findings and addresses. */
function sayOfLine(p) {
  const found = [];
  for (const each of messages()) if (each.place === p) found.push(`${each.severity}${each.code ? ` ${each.code}` : ""}: ${each.text}`);
  for (const document of data.addresses) for (const access of document.accesses)
    if (access.place === p) found.push(accessText(access));
  return [...new Set(found)].slice(0, 6).join("\n");
}

function* messages() {
  for (const each of data.findings) yield each.message;
  if (kernel()) yield* kernel().remarks;
}

function accessText(access) {
  const bytes = access.vector_bits ? `, ${access.vector_bits} bits at once` : "";
  const coalesced = access.coalesced === null ? "coalescing unknown" : access.coalesced ? "coalesced" : "not coalesced";
  return `${access.op} of ${access.base}: ${access.pattern}, ${coalesced}${bytes}, offset ${access.offset}`;
}

// -- the frame -----------------------------------------------------------------------------------

const foot = make("footer", { role: "status", "aria-live": "polite" });
const sourceBar = make("div", { class: "bar" }), sourceBody = make("div", { class: "body", tabindex: 0, "aria-label": "source" });
const tabBar = make("div", { class: "bar", role: "tablist" }), tabBody = make("div", { class: "body", tabindex: 0 });
let chart = null;

function tabs() {
  const all = [
    ["fault", "Fault", data.failed && data.findings.length > 0],
    ["overview", "Overview", true],
    ["ir", "IR", true],
    ["code", "Code", true],
    ["memory", "Memory", true],
    ["addresses", "Addresses", true],
    ["layouts", "Layouts", true],
    ["timeline", "Timeline", true],
    ["remarks", "Remarks", true],
    ["tuning", "Tuning", true],
  ];
  return all.filter((each) => each[2]);
}

function drawFrame() {
  const theme = make("button", { title: "light, dark", onclick: () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  } }, "light / dark");
  const header = make("header", {},
    make("h1", {}, data.title),
    make("span", { class: `verdict${data.failed ? " failed" : ""}` }, data.verdict),
    make("span", { class: "grow" }),
    make("span", { class: "dim command", title: `${data.command}, tilewright ${data.version}` }, data.command), theme);
  if (data.kernels.length > 1) {
    const choice = make("select", { "aria-label": "kernel", onchange: (event) => {
      state.kernel = Number(event.target.value); state.stage = -1; drawTabs(); drawTab();
    } }, data.kernels.map((each, i) => make("option", { value: String(i) }, `${each.name} · ${each.target}`)));
    header.insertBefore(choice, theme);
  }
  document.body.append(header,
    make("main", {},
      make("section", { class: "pane", id: "source" }, sourceBar, sourceBody),
      make("section", { class: "pane", id: "view" }, tabBar, tabBody)),
    foot);
  say("");
}

function drawTabs() {
  tabBar.replaceChildren(...tabs().map(([name, title]) => make("button", {
    role: "tab", id: `tab-${name}`, "aria-selected": String(state.tab === name), onclick: () => openTab(name),
  }, title)));
}

function openTab(name) { state.tab = name; drawTabs(); drawTab(); }

function drawTab() {
  chart = null;
  const drawers = { fault: drawFault, overview: drawOverview, ir: drawStages, code: drawStages, memory: drawMemory,
    addresses: drawAddresses, layouts: drawLayouts, timeline: drawTimeline, remarks: drawRemarks, tuning: drawTuning };
  tabBody.replaceChildren();
  tabBody.scrollTop = 0;
  drawers[state.tab](tabBody);
  if (state.pinned) pin(state.pinned);
}

const absent = (tab, otherwise) => make("p", { class: "pad dim" },
  (kernel() && kernel().absent[tab]) || data.absent[tab] || otherwise);

// -- source --------------------------------------------------------------------------------------

function drawSource() {
  sourceBar.replaceChildren(...data.files.map((each, i) => make("button", {
    "aria-pressed": String(i === state.file), title: each.name, onclick: () => { state.file = i; drawSource(); },
  }, each.short)));
  const marks = new Map();
  const mark = (message, kind) => {
    if (message.place && (kind === "bad" || !marks.has(message.place))) marks.set(message.place, kind);
    for (const note of message.notes) mark(note, "note");
  };
  for (const each of messages()) mark(each, each.severity === "error" ? "bad" : "note");
  for (const each of data.findings) for (const access of each.accesses) if (access.place) marks.set(access.place, "bad");
  const file = data.files[state.file];
  const code = make("div", { class: "code" });
  (file ? file.lines : []).forEach((text, i) => {
    const p = `${state.file}:${i + 1}`;
    add(code, make("div", { class: `ln ${marks.get(p) || ""}`, "data-p": p },
      make("span", { class: "badge" }, marks.get(p) === "bad" ? "●" : marks.has(p) ? "·" : " "),
      make("span", { class: "no" }, String(i + 1)), text));
  });
  sourceBody.replaceChildren(code);
  if (state.pinned) for (const each of code.querySelectorAll(`[data-p="${state.pinned}"]`)) each.classList.add("pin");
}

// -- messages ------------------------------------------------------------------------------------

function messageBox(message) {
  return make("div", { class: `message ${message.severity}` },
    make("div", {}, placeLink(message.place), message.place ? ": " : "",
      make("b", {}, `${message.severity}${message.code ? ` [${message.code}]` : ""}: `), message.text),
    make("div", { class: "notes" }, message.notes.map((note) =>
      make("div", {}, placeLink(note.place), note.place ? ": " : "", `${note.severity}: `,
        note.text.includes("\n") ? make("pre", {}, note.text) : note.text))));
}

function drawFault(into) {
  const pad = make("div", { class: "pad" });
  const first = data.findings[0];
  add(pad, make("h2", {}, "The fault"), messageBox(first.message));
  if (first.accesses.length) {
    const shared = first.bytes ? `, which share ${plural(first.bytes, "byte")}` : "";
    add(pad, make("h2", {}, `The two accesses${shared}`), make("table", {},
      make("tr", {}, ["access", "buffer", "source"].map((each) => make("th", {}, each))),
      first.accesses.map((each) => make("tr", { "data-p": each.place },
        make("td", {}, each.access), make("td", {}, make("code", {}, each.buffer)), make("td", {}, placeLink(each.place))))));
  }
  add(into, pad);
  if (data.timeline) { add(pad, make("h2", {}, "On the timeline")); drawChart(pad, true); }
  const names = new Set(first.accesses.map((each) => each.buffer));
  const maps = data.kernels.flatMap((each) => each.memory).filter((memory) =>
    memory.regions.some((region) => region.buffers.some((buffer) => buffer.cells.some((cell) => isNamed(names, buffer, cell)))));
  if (maps.length) { add(pad, make("h2", {}, "In memory")); memoryMaps(pad, [maps[0]], names); }
  if (data.findings.length > 1) add(pad, make("h2", {}, "Further findings"), data.findings.slice(1).map((each) => messageBox(each.message)));
}

function drawRemarks(into) {
  const pad = make("div", { class: "pad" });
  for (const each of data.findings) add(pad, messageBox(each.message));
  for (const each of kernel() ? kernel().remarks : []) add(pad, messageBox(each));
  if (!pad.childElementCount) add(pad, absent("remarks", "nothing was reported: no fault, and no faster way that was left out"));
  add(into, pad);
}

function drawOverview(into) {
  const pad = make("div", { class: "pad" });
  add(pad, make("h2", {}, "The run"), make("p", { class: data.failed ? "verdict failed" : "verdict" }, data.verdict));
  for (const each of data.kernels) {
    add(pad, make("h2", {}, `${each.name}, ${each.target}`), make("table", {},
      each.properties.map(([title, value]) => make("tr", {}, make("td", {}, title), make("td", { class: "count" }, value))),
      make("tr", {}, make("td", {}, "stages"), make("td", { class: "count" }, String(each.stages.length))),
      make("tr", {}, make("td", {}, "remarks"), make("td", { class: "count" }, String(each.remarks.length)))));
    const missing = Object.entries(each.absent);
    if (missing.length) add(pad, make("ul", {}, missing.map(([tab, why]) => make("li", {}, make("b", {}, `${tab}: `), why))));
  }
  const missing = Object.entries(data.absent);
  if (missing.length) add(pad, make("h2", {}, "Not on this page"), make("ul", {}, missing.map(([tab, why]) => make("li", {}, make("b", {}, `${tab}: `), why))));
  add(into, pad);
}

// -- stages: IR after each pass, code ----------------------------------------------------------------

function stages() { return kernel() ? kernel().stages.map((each, i) => [each, i]).filter(([each]) => (each.kind === "ir") === (state.tab === "ir")) : []; }

function step(by) {
  const list = stages();
  if (!list.length || (state.tab !== "ir" && state.tab !== "code")) return;
  const at = list.findIndex(([, i]) => i === state.stage);
  state.stage = list[Math.max(0, Math.min(list.length - 1, at + by))][1];
  drawTab();
}

function drawStages(into) {
  const list = stages();
  if (!list.length) { add(into, absent(state.tab, "no stage of this kind")); return; }
  if (!list.some(([, i]) => i === state.stage)) state.stage = state.tab === "ir" ? list[0][1] : list[0][1];
  const at = list.findIndex(([, i]) => i === state.stage);
  const [stage] = list[at];
  const before = at > 0 ? list[at - 1][0] : null;
  const choice = make("select", { "aria-label": "stage", onchange: (event) => { state.stage = Number(event.target.value); drawTab(); } },
    list.map(([each, i], n) => make("option", { value: String(i), selected: i === state.stage }, `${n + 1} of ${list.length}: ${each.name}`)));
  const bar = make("div", { class: "bar", style: "position:sticky;top:0;left:0" },
    make("button", { onclick: () => step(-1), title: "key [" }, "◀"), choice,
    make("button", { onclick: () => step(1), title: "key ]" }, "▶"),
    state.tab === "ir" ? make("button", { id: "diff", "aria-pressed": String(state.diff), title: "key d", onclick: () => { state.diff = !state.diff; drawTab(); } }, "difference to the pass before") : null,
    make("span", { class: "dim" }, plural(stage.lines.length, "line")));
  const code = make("div", { class: "code", id: "stage" });
  const rows = state.diff && before && state.tab === "ir" ? difference(before.lines, stage.lines) : stage.lines.map((id, i) => [" ", id, i + 1]);
  for (const [kind, id, number] of rows) {
    if (kind === "…") { add(code, make("div", { class: "ln skip" }, make("span", { class: "no" }, ""), `${plural(id, "line")} unchanged`)); continue; }
    const name = kind === "+" ? " added" : kind === "-" ? " removed" : "";
    add(code, make("div", { class: `ln${name}`, "data-p": data.places[id] }, make("span", { class: "no" }, String(number || "")), data.texts[id]));
  }
  add(into, bar, code);
}

/** Lines of two stages as [kind, line, number], runs of equal lines shortened. Myers' algorithm on line ids. */
function difference(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let tail = 0;
  while (tail < before.length - start && tail < after.length - start && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const a = before.slice(start, before.length - tail), b = after.slice(start, after.length - tail);
  const edits = myers(a, b);
  const rows = after.slice(0, start).map((id, i) => [" ", id, i + 1]);
  let number = start;
  for (const [kind, id] of edits) { if (kind !== "-") number += 1; rows.push([kind, id, kind === "-" ? 0 : number]); }
  for (let i = after.length - tail; i < after.length; i += 1) rows.push([" ", after[i], i + 1]);
  const shown = rows.map(() => false);
  rows.forEach((row, i) => { if (row[0] !== " ") for (let j = Math.max(0, i - 3); j <= Math.min(rows.length - 1, i + 3); j += 1) shown[j] = true; });
  const short = [];
  for (let i = 0; i < rows.length; i += 1) {
    if (shown[i]) { short.push(rows[i]); continue; }
    let end = i;
    while (end < rows.length && !shown[end]) end += 1;
    short.push(["…", end - i, 0]);
    i = end - 1;
  }
  return short;
}

function myers(a, b) {
  const most = a.length + b.length;
  if (most > 12000) return [...a.map((id) => ["-", id]), ...b.map((id) => ["+", id])];
  let frontier = new Map([[1, 0]]);
  const trace = [];
  for (let d = 0; d <= most; d += 1) {
    trace.push(new Map(frontier));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (frontier.get(k - 1) ?? -1) < (frontier.get(k + 1) ?? -1));
      let x = down ? frontier.get(k + 1) : frontier.get(k - 1) + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) { x += 1; y += 1; }
      frontier.set(k, x);
      if (x >= a.length && y >= b.length) return walk(trace, a, b);
    }
  }
  return [];
}

function walk(trace, a, b) {
  const edits = [];
  let x = a.length, y = b.length;
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const frontier = trace[d], k = x - y;
    const down = k === -d || (k !== d && (frontier.get(k - 1) ?? -1) < (frontier.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1;
    const px = frontier.get(from), py = px - from;
    while (x > px && y > py) { edits.push([" ", a[x - 1]]); x -= 1; y -= 1; }
    if (d > 0) { if (x === px) { edits.push(["+", b[y - 1]]); y -= 1; } else { edits.push(["-", a[x - 1]]); x -= 1; } }
  }
  return edits.reverse();
}

// -- memory --------------------------------------------------------------------------------------

const isNamed = (names, buffer, cell) => names.has(`${buffer.name}[${cell.index}]`) || (names.has(buffer.name) && buffer.cells.length === 1);

/** One colour for a buffer wherever it is drawn: by the order in which its kernel allocates them. */
const colours = new Map();
function colourOf(name) {
  if (!colours.has(name)) colours.set(name, data.fills[colours.size % data.fills.length]);
  return colours.get(name);
}

function placeOfSource(source) {
  const found = /([^/\\]+):(\d+)$/.exec(source || "");
  const file = found ? data.files.findIndex((each) => each.short === found[1]) : -1;
  return file < 0 ? "" : `${file}:${found[2]}`;
}

function drawMemory(into) {
  const maps = kernel() ? kernel().memory : [];
  const names = new Set(data.failed ? data.findings.flatMap((each) => each.accesses.map((access) => access.buffer)) : []);
  if (!maps.some((each) => each.regions.length)) { add(into, absent("memory", "the kernel allocates no shared or tensor memory")); return; }
  const pad = make("div", { class: "pad" });
  memoryMaps(pad, maps, names);
  add(into, pad);
}

function memoryMaps(into, maps, faulty) {
  const label = 170, row = 24, width = Math.max(420, (tabBody.clientWidth || 900) - label - 60);
  for (const memory of maps) {
    const limit = memory.capacity === null ? "" : ` of ${memory.capacity.toLocaleString("en")} on ${memory.target}, ${memory.free.toLocaleString("en")} free`;
    add(into, make("h3", {}, `${memory.memory}${memory.kernel ? ` of ${memory.kernel}` : ""}${memory.title ? `, ${memory.title}` : ""}: ${memory.used.toLocaleString("en")} ${memory.unit}${limit}`));
    const names = memory.regions.flatMap((region) => region.buffers.map((buffer) => buffer.name));
    add(into, make("p", { class: "legend" }, [...new Set(names)].map((name) => make("span", {}, make("i", { class: "swatch", style: `background:${colourOf(name)}` }), name)),
      make("span", {}, make("i", { class: "swatch", style: "background:repeating-linear-gradient(45deg,#999 0 2px,#fff 2px 5px)" }), "bytes of no buffer"),
      faulty.size ? make("span", {}, make("i", { class: "swatch", style: "border:3px solid var(--bad);background:none" }), "bytes of the fault") : null));
    for (const region of memory.regions) {
      const height = 34 + row * region.buffers.length;
      const svg = make("svg", { viewBox: `0 0 ${label + width + 20} ${height}`, width: label + width + 20, height, role: "group", "aria-label": `region ${region.name}` });
      add(svg, hatch("unused", "#999"));
      const x = (at) => label + (region.extent ? at / region.extent : 0) * width;
      add(svg, make("text", { x: 0, y: 14, style: "font-weight:700" }, region.name),
        [0, 0.25, 0.5, 0.75, 1].map((part) => make("text", { class: "tick", x: label + part * width, y: 14, "text-anchor": part === 1 ? "end" : "start" }, String(Math.round(region.extent * part)))));
      for (const [start, end] of region.dead) add(svg, make("rect", { x: x(start), y: 20, width: x(end) - x(start), height: row * region.buffers.length, fill: "url(#unused)" }));
      region.buffers.forEach((buffer, i) => {
        const y = 20 + i * row, p = placeOfSource(buffer.source);
        add(svg, make("text", { x: 0, y: y + 16 }, buffer.name.length > 22 ? `${buffer.name.slice(0, 21)}…` : buffer.name));
        for (const cell of buffer.cells) {
          const others = sharersOf(region, buffer, cell);
          const text = `${buffer.name}[${cell.index}]: ${memory.unit} ${cell.start}..${cell.end}`
            + (buffer.source ? `\n${buffer.source}` : "") + (buffer.path ? `, ${buffer.path}` : "")
            + (others.length ? `\nshares bytes with ${others.slice(0, 8).join(", ")}` : "");
          add(svg, make("g", { class: `cell${isNamed(faulty, buffer, cell) ? " fault" : ""}`, tabindex: 0, "data-p": p, "data-label": text, role: "img", "aria-label": text,
            "data-start": String(cell.start), "data-end": String(cell.end), "data-region": region.name,
            onmouseenter: (event) => markSharing(svg, event.currentTarget), onmouseleave: () => markSharing(svg, null) },
            make("title", {}, text),
            make("rect", { x: x(cell.start), y: y + 2, width: Math.max(x(cell.end) - x(cell.start), 1), height: row - 4, fill: colourOf(buffer.name) }),
            x(cell.end) - x(cell.start) > 18 ? make("text", { x: (x(cell.start) + x(cell.end)) / 2, y: y + 16, "text-anchor": "middle" }, String(cell.index)) : null));
        }
      });
      add(into, svg);
      if (region.notes) add(into, make("ul", {}, region.notes.map((each) => make("li", {}, each))));
    }
  }
}

function sharersOf(region, buffer, cell) {
  return region.buffers.flatMap((other) => other.cells.filter((each) =>
    !(other === buffer && each.index === cell.index) && each.start < cell.end && cell.start < each.end).map((each) => `${other.name}[${each.index}]`));
}

function markSharing(svg, cell) {
  for (const other of svg.querySelectorAll(".cell")) other.classList.toggle("sharing", cell !== null && other !== cell
    && Number(other.dataset.start) < Number(cell.dataset.end) && Number(cell.dataset.start) < Number(other.dataset.end));
}

function hatch(id, colour) {
  return make("defs", {}, make("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    make("line", { x1: 0, y1: 0, x2: 0, y2: 6, stroke: colour, "stroke-width": 2 })));
}

// -- addresses -----------------------------------------------------------------------------------

function drawAddresses(into) {
  const pad = make("div", { class: "pad" });
  const heads = ["source", "op", "pointer", "pattern", "by program", "by lane", "coalesced", "bits", "alignment", "mask", "found"];
  for (const document of data.addresses) {
    add(pad, make("h2", {}, document.title));
    add(pad, make("table", {}, make("tr", {}, heads.map((each) => make("th", {}, each))), document.accesses.map((each) => {
      const found = document.findings.filter((one) => one.accesses.includes(each.index) && one.verdict !== "proved");
      const proved = document.findings.filter((one) => one.accesses.includes(each.index) && one.verdict === "proved").map((one) => one.check);
      const strides = Object.entries(each.pid_strides).map(([axis, value]) => `pid${axis}: ${value ?? "?"}`).join(", ");
      return make("tr", { "data-p": each.place, "data-label": `${accessText(each)}${each.reason ? `\n${each.reason}` : ""}` },
        make("td", {}, placeLink(each.place)), make("td", {}, each.op), make("td", {}, make("code", {}, each.base)), make("td", {}, each.pattern),
        make("td", {}, strides), make("td", {}, each.lane_strides.map((one) => one ?? "?").join(", ")),
        make("td", {}, each.coalesced === null ? "unknown" : each.coalesced ? "yes" : "no"), make("td", { class: "count" }, String(each.vector_bits ?? "–")),
        make("td", { class: "count" }, String(each.align_bytes ?? "–")), make("td", {}, each.masked ? "yes" : "no"),
        make("td", {}, proved.length ? `proved: ${proved.join(", ")}` : "", found.map((one) => make("div", { "data-label": one.message, title: one.message }, `${one.check} ${one.verdict}`))));
    })));
    for (const each of document.not_analysed) add(pad, make("p", {}, placeLink(each.place), ` ${each.op}: not analysed: ${each.reason}`));
  }
  if (!data.addresses.length) add(pad, absent("addresses", "no kernel was launched, so no address was analysed"));
  add(into, pad);
}

// -- layouts -------------------------------------------------------------------------------------

function drawLayouts(into) {
  const pad = make("div", { class: "pad" });
  for (const group of kernel() ? kernel().layouts : []) {
    add(pad, make("h2", {}, `${group.kernel}: ${group.threads} threads`), group.gemms.map((each) => make("p", {}, `GEMM, ${each}`)));
    for (const each of group.drawings) {
      const p = placeOfSource(each.source);
      add(pad, make("h3", { "data-p": p }, each.heading), make("p", {}, placeLink(p), " ", each.properties.join("; ")));
      if (!each.svg) { add(pad, make("p", { class: "dim" }, `the same as ${each.like}`)); continue; }
      // Each diagram has a style sheet of its own.
      const holder = make("div", { class: "drawing" });
      holder.attachShadow({ mode: "open" }).innerHTML = each.svg;
      add(pad, holder);
    }
  }
  if (!pad.childElementCount) add(pad, absent("layouts", "the kernel has no layouts of fragments"));
  add(into, pad);
}

// -- timeline ------------------------------------------------------------------------------------

const LETTERS = { arrive: "A", expect: "E", fence: "F", phase: "|", read: "r", write: "W" };
const KINDS = [["task", "Tasks"], ["engine", "Asynchronous units"], ["barrier", "Barriers"], ["buffer", "Buffers"]];

function drawTimeline(into) {
  if (!data.timeline) { add(into, absent("timeline", "no kernel with tasks ran, so there is no order of events to draw")); return; }
  const pad = make("div", { class: "pad" });
  drawChart(pad, data.timeline.missing.length > 0);
  add(into, pad);
}

function naturally(a, b) { return a.name.localeCompare(b.name, "en", { numeric: true }); }

/** Buffers whose bytes overlap, by the names of their lanes. */
function aliases() {
  const found = new Map();
  for (const memory of data.kernels.flatMap((each) => each.memory)) for (const region of memory.regions)
    for (const buffer of region.buffers) for (const cell of buffer.cells) {
      const others = sharersOf(region, buffer, cell);
      if (others.length) found.set(`${buffer.name}[${cell.index}]`, others);
    }
  return found;
}

function drawChart(into, atFault) {
  const timeline = data.timeline, shared = aliases();
  const label = 230, row = 24, bar = 7, top = 22;
  const rows = [];
  for (const [kind, title] of KINDS) {
    const lanes = timeline.lanes.map((each, index) => ({ ...each, index })).filter((each) => each.kind === kind);
    if (kind === "barrier" || kind === "buffer") lanes.sort(naturally);
    if (lanes.length) rows.push({ title, height: 26 });
    for (const lane of lanes) {
      const depths = depthsOf(lane.spans);
      rows.push({ lane, depths, height: Math.max(row, 2 * bar + (1 + Math.max(0, ...depths)) * (bar + 1)) });
    }
  }
  let y = top;
  for (const each of rows) { each.y = y; y += each.height; }
  const height = y + 10;
  const svg = make("svg", { class: "chart", height, role: "group", tabindex: 0, "aria-label": `timeline of ${timeline.title}` });
  const view = { from: 0, to: timeline.length + 2 };
  const width = () => Math.max(svg.clientWidth || 900, 500) - label - 12;
  const x = (at) => label + ((at - view.from) / (view.to - view.from)) * width();

  function draw() {
    const parts = [hatch("hatch", "#8a5a00")];
    const step = niceStep((view.to - view.from) / (width() / 90));
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step)
      parts.push(make("line", { class: "gridline", x1: x(at), x2: x(at), y1: top - 4, y2: height }), make("text", { class: "tick", x: x(at) + 2, y: 12 }, String(at)));
    parts.push(make("text", { class: "tick", x: 4, y: 12 }, "event"));
    for (const each of rows) {
      if (each.title) { parts.push(make("text", { x: 4, y: each.y + 18, style: "font-weight:700" }, each.title)); continue; }
      parts.push(lane(each));
    }
    for (const edge of timeline.missing) parts.push(...missing(edge));
    svg.replaceChildren(...parts);
    if (state.pinned) for (const each of svg.querySelectorAll(`[data-p="${state.pinned}"]`)) each.classList.add("pin");
  }

  function lane(each) {
    const { lane, depths } = each, middle = each.y + each.height / 2;
    const others = shared.get(lane.name) || [];
    const text = lane.name + (others.length ? `: shares bytes with ${others.slice(0, 8).join(", ")}` : "");
    const group = make("g", { class: "lane", "data-name": lane.name });
    add(group, make("text", { class: "name", x: 4, y: middle + 4, "data-label": text }, lane.name + (others.length ? " ∩" : "")),
      make("line", { class: "gridline", x1: label, x2: label + width(), y1: middle, y2: middle }));
    const single = (lane.kind === "task" || lane.kind === "buffer") && depths.every((each) => each === 0);
    lane.spans.forEach(([from, to, title, style, p], i) => {
      if (to < view.from || from > view.to) return;
      const a = Math.max(x(from), label), b = Math.min(x(to), label + width());
      const fill = style === "wait" ? "url(#hatch)" : lane.kind === "buffer" ? colourOf(lane.name.replace(/\[\d+\]$/, "").replace(/^CTA \d+ /, "")) : "#9bd3f4";
      const at = single ? each.y + 4 : each.y + bar + depths[i] * (bar + 1);
      const name = `${title} (events ${from} to ${to})`;
      add(group, make("g", { class: `op ${style}`, tabindex: 0, role: "img", "aria-label": name, "data-label": name, "data-p": p }, make("title", {}, name),
        make("rect", { x: a, y: at, width: Math.max(b - a, 2), height: single ? each.height - 8 : bar, fill, stroke: "#1a1a1a", "stroke-width": 0.5 })));
    });
    for (const [at, title, style, p] of lane.marks) {
      if (at < view.from || at > view.to) continue;
      const name = `${title} (event ${at})`;
      const shape = style === "finding" ? make("circle", { cx: x(at), cy: middle, r: 9 }) : make("text", { x: x(at), y: middle + 4, "text-anchor": "middle" }, LETTERS[style] || "•");
      add(group, make("g", { class: style, tabindex: 0, role: "img", "aria-label": name, "data-label": name, "data-p": p }, make("title", {}, name), shape));
    }
    return group;
  }

  function missing(edge) {
    const ends = [edge.from, edge.to].map(([index, at]) => {
      const found = rows.find((each) => each.lane && each.lane.index === index);
      return found && [x(at), found.y + found.height / 2];
    });
    if (!ends[0] || !ends[1]) return [];
    const [[ax, ay], [bx, by]] = ends;
    return [make("g", { class: "missing", "data-label": edge.label, role: "img", "aria-label": edge.label }, make("title", {}, edge.label),
      make("path", { class: "edge", d: `M${ax} ${ay} Q${(ax + bx) / 2 + 40} ${(ay + by) / 2} ${bx} ${by}` }))];
  }

  const api = {
    show(from, to) {
      const span = Math.min(Math.max(to - from, 4), timeline.length + 2);
      view.from = Math.max(0, Math.min(from, timeline.length + 2 - span));
      view.to = view.from + span;
      draw();
    },
    zoom(by, at = (view.from + view.to) / 2) { api.show(at - (at - view.from) / by, at + (view.to - at) / by); },
    pan(by) { const span = view.to - view.from; api.show(view.from + by * span, view.to + by * span); },
    fit() { api.show(0, timeline.length + 2); },
    fault() {
      const times = timeline.missing.flatMap((each) => [each.from[1], each.to[1]]).concat(timeline.lanes.flatMap((lane) => lane.marks.filter((each) => each[2] === "finding").map((each) => each[0])));
      if (!times.length) return api.fit();
      const first = timeline.missing[0] ? [timeline.missing[0].from[1], timeline.missing[0].to[1]] : times.slice(0, 2);
      const middle = (Math.min(...first) + Math.max(...first)) / 2, half = Math.max(12, Math.max(...first) - Math.min(...first));
      api.show(middle - half, middle + half);
    },
    view,
  };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = view.from + ((event.offsetX - label) / width()) * (view.to - view.from);
    if (event.shiftKey) api.pan(event.deltaY > 0 ? 0.1 : -0.1); else api.zoom(event.deltaY > 0 ? 0.8 : 1.25, at);
  }, { passive: false });
  let drag = null;
  svg.addEventListener("pointerdown", (event) => { drag = [event.clientX, view.from, view.to]; });
  svg.addEventListener("pointermove", (event) => {
    if (!drag || Math.abs(event.clientX - drag[0]) < 4) return;
    const by = ((drag[0] - event.clientX) / width()) * (drag[2] - drag[1]);
    api.show(drag[1] + by, drag[2] + by);
  });
  for (const name of ["pointerup", "pointerleave"]) svg.addEventListener(name, () => { drag = null; });
  svg.addEventListener("mouseover", (event) => {
    const hit = event.target.closest(".lane"), names = new Set(hit ? shared.get(hit.dataset.name) || [] : []);
    for (const each of svg.querySelectorAll(".lane")) each.classList.toggle("sharing", names.has(each.dataset.name));
  });
  add(into, make("div", { class: "bar" },
    make("button", { onclick: () => api.zoom(2), title: "key +" }, "zoom in"), make("button", { onclick: () => api.zoom(0.5), title: "key -" }, "zoom out"),
    make("button", { onclick: () => api.pan(-0.5), title: "key ←" }, "◀"), make("button", { onclick: () => api.pan(0.5), title: "key →" }, "▶"),
    make("button", { onclick: () => api.fit() }, "all"),
    timeline.missing.length ? make("button", { onclick: () => api.fault() }, "fault") : null,
    make("span", { class: "dim" }, `${timeline.title}, ${plural(timeline.length, "event")}${timeline.cut ? " (the run went on)" : ""}`)),
    svg,
    make("p", { class: "dim" }, "A arrival, E expect-tx, F fence, | phase completion, W write, r read; hatched: a task waits; ∩ shares bytes with another buffer; red: accesses that nothing orders, and the missing edge. Wheel zooms, shift and wheel or dragging pans."),
    timeline.notes.map((each) => make("p", {}, each)));
  chart = api;
  requestAnimationFrame(() => { if (atFault) api.fault(); else api.fit(); });
  if (atFault) api.fault(); else draw();
}

function depthsOf(spans) {
  const ends = [], order = spans.map((each, i) => i).sort((a, b) => spans[a][0] - spans[b][0] || spans[a][1] - spans[b][1]);
  const depths = spans.map(() => 0);
  for (const i of order) {
    let line = ends.findIndex((end) => end <= spans[i][0]);
    if (line < 0) { line = ends.length; ends.push(0); }
    ends[line] = spans[i][1];
    depths[i] = line;
  }
  return depths;
}

function niceStep(raw) {
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
  return Math.max(1, [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw));
}

// -- tuning --------------------------------------------------------------------------------------

function drawTuning(into) {
  const pad = make("div", { class: "pad" });
  for (const each of data.tuning) {
    add(pad, make("h2", {}, each.kernel), make("table", {}, make("tr", {}, ["configuration", "ms", ""].map((one) => make("th", {}, one))),
      each.trials.map(([configuration, time, chosen]) => make("tr", {}, make("td", {}, make("code", {}, configuration)),
        make("td", { class: "count" }, time === null ? "not measured" : time.toFixed(4)), make("td", {}, chosen ? "chosen" : "")))));
  }
  if (!data.tuning.length) add(pad, absent("tuning", "the script has no autotuned kernel, or tuned none"));
  add(into, pad);
}

// -- begin ---------------------------------------------------------------------------------------

for (const each of data.kernels) for (const memory of each.memory) for (const region of memory.regions) for (const buffer of region.buffers) colourOf(buffer.name);
const faulty = data.kernels.findIndex((each) => each.memory.some((memory) => memory.regions.some((region) => region.buffers.some((buffer) =>
  data.findings.some((finding) => finding.accesses.some((access) => access.buffer.startsWith(buffer.name)))))));
if (data.failed && faulty >= 0) state.kernel = faulty;
drawFrame();
drawSource();
openTab(data.failed && data.findings.length ? "fault" : data.kernels.length ? "ir" : "overview");
if (data.failed && data.findings.length) { const p = data.findings[0].message.place; if (p) { pin(p); reveal(p, null); } }
else if (kernel()) {
  const first = kernel().stages[0].lines.map((id) => data.places[id]).filter((each) => each.startsWith("0:"));
  const line = Math.min(...first.map((each) => Number(each.split(":")[1])));
  const element = sourceBody.querySelector(`[data-p="0:${line}"]`);
  if (element) sourceBody.scrollTop = Math.max(0, element.offsetTop - sourceBody.offsetTop - 60);
}
window.addEventListener("resize", () => { if (chart) chart.show(chart.view.from, chart.view.to); });
document.documentElement.dataset.ready = "true";
