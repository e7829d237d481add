"use strict";
// What all pages share: the data, elements, plots that are drawn when they are opened.

const DATA = JSON.parse(document.getElementById("data").textContent);

// -- elements ---------------------------------------------------------------------------------------------

// An element with attributes and children. Texts become text nodes, so that nothing of the records is ever
// markup.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

function fill(id, ...children) {
  document.getElementById(id).replaceChildren(...children.flat(Infinity).filter((child) => child !==
    null));
}

function choice(label, options, chosen, changed) {
  const select = element("select", { onchange: () => changed(select.value) });
  for (const [value, text] of options) select.append(element("option", { value, selected: value ===
      chosen }, text));
  return element("label", {}, label, select);
}

// -- numbers ----------------------------------------------------------------------------------------------

function fixed(value, digits) {
  return value === null || value === undefined || !Number.isFinite(value) ? "–" : value.toFixed(digits);
}

function count(value) {
  return value < 1e7 ? value.toLocaleString("en") : value.toExponential(1).replace("e+", "e");
}

function times(value) {
  return value ? "× " + value.toFixed(value < 10 ? 2 : 1) : "–";
}

// -- tables -----------------------------------------------------------------------------------------------

// columns: {name, text: whether it is words, cell: (row) => text or element, by: (row) => what to sort by,
// bar: (row) => a percentage, config: long text, close: on one line}.
function table(caption, columns, rows, options = {}) {
  const head = columns.map((column, at) => {
    const sorted = options.sort && options.sort.at === at ? options.sort.down ? "descending" :
      "ascending" : null;
    const title = options.sorted && column.by ?
      element("button", { type: "button", onclick: () => options.sorted(at) }, column.name,
        sorted ? sorted === "descending" ? " ▼" : " ▲" : "") :
      column.name;
    return element("th", { scope: "col", class: column.text ? "text" : null, "aria-sort": sorted },
      title);
  });
  const body = rows.map((row) => element("tr", { class: options.chosen && options.chosen(row) ?
        "chosen" : null },
    columns.map((column) => {
      const share = column.bar ? column.bar(row) : null;
      const cell = element("td", {
          "data-label": column.name,
          class: [column.text ? "text" : "", column.config ? "config" : "", column.close ?
            "close" : "", share === null ? "" : "bar"
          ].join(" ").trim()
        },
        column.cell(row));
      if (share !== null) cell.style.setProperty("--share", Math.max(0, Math.min(100, share)) +
        "%");
      return cell;
    })));
  return element("div", { class: "scroll" }, element("table", { class: options.plain ? null : "cardy" },
    element("caption", {}, caption), element("thead", {}, element("tr", {}, head)), element(
    "tbody", {}, body)));
}

// -- plots ------------------------------------------------------------------------------------------------

const DASHES = { bound: "dot", vendor: "dash", peer: "dashdot" };
const SYMBOLS = ["circle", "square", "diamond", "cross", "triangle-up", "x", "star", "pentagon"];
const drawn = new Map();

function tone(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

function colour(number) {
  return tone("c" + (number % 8));
}

function axis(title, more = {}) {
  const line = tone("line");
  return { title: { text: title }, gridcolor: line, zerolinecolor: line, linecolor: line,
    automargin: true, ...more };
}

// A plot in a box that draws it when it is first opened. `build` gives {traces, layout, told: what it shows
// in a sentence, header and rows: the same as a table, clicked: what a click on a point with customdata
// does}.
function plot(title, build, open = false) {
  const area = element("div", { class: "plot", role: "img", "aria-label": title });
  const caption = element("figcaption", {});
  const body = element("div", {});
  const inner = element("details", { ontoggle: () => { if (inner.open) tabulate(); } },
    element("summary", {}, "The same as a table"), body);
  const box = element("details", { open }, element("summary", {}, title),
    element("figure", {}, area, caption), inner);
  let last = null;

  function tabulate() {
    if (!last) return;
    const columns = last.header.map((name, at) => ({ name, text: at === 0, cell: (row) => String(row[
        at] ?? "–") }));
    body.replaceChildren(table(title, columns, last.rows.slice(0, 500), { plain: true }));
  }

  function draw() {
    last = build();
    caption.textContent = last.told;
    area.setAttribute("aria-label", title + ". " + last.told);
    if (inner.open) tabulate();
    if (!window.Plotly) {
      // It may only not have come yet: then the page draws all again.
      if (document.readyState !== "complete") return;
      area.textContent =
        "The plotting library is not beside this page; the table below has the same figures.";
      area.style.height = "auto";
      return;
    }
    const narrow = window.innerWidth < 640;
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: tone("ink"), size: narrow ? 11 : 13 },
      margin: { l: 10, r: 10, t: 10, b: 10 },
      hovermode: "closest",
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      ...last.layout
    };
    Plotly.react(area, last.traces, layout, { responsive: true, displaylogo: false,
      displayModeBar: narrow ? false : "hover" });
    if (last.clicked && !drawn.has(area))
      area.on("plotly_click", (event) => {
        const which = event.points[0].customdata;
        if (which !== undefined && which !== null) last.clicked(which);
      });
    drawn.set(area, draw);
  }
  const show = () => { if (box.open) draw(); };
  box.addEventListener("toggle", show);
  box.redraw = show;
  return box;
}

// The library may come after this script, and the colours change with the user's.
window.addEventListener("load", () => document.querySelectorAll("details").forEach((box) => box
  .redraw && box.redraw()));
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const [area, draw] of drawn)
    if (area.isConnected && area.offsetParent) draw();
});
