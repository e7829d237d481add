// Two sets of records beside each other: the ratios as a curve, and the list, worst first.

const UNITS = (gflops) => gflops >= 1e4 ? fixed(gflops / 1e3, 2) + " TF/s" : fixed(gflops, 1) + " GF/s";
const VERDICTS = ["regression", "unsure", "same", "faster"];
const LIST = { verdict: DATA.counts.regression ? "regression" : "*", text: "", shown: 100 };

const COLUMNS = [
  { name: "problem", text: true, close: true, cell: (row) => row.label },
  { name: "regime", text: true, cell: (row) => row.regime },
  { name: "before", close: true, cell: (row) => UNITS(row.before_gflops) },
  { name: "after", close: true, cell: (row) => UNITS(row.after_gflops) },
  { name: "after / before", cell: (row) => element("b", { class: row.verdict === "regression" ?
        "bad" : row.verdict === "faster" ? "good" : null }, fixed(row.ratio, 3)) },
  { name: "vendor's", cell: (row) => fixed(row.vendor_ratio, 3) },
  { name: "verdict", text: true, cell: (row) => row.verdict },
  { name: "kernels", text: true, config: true, cell: (row) => row.before === row.after ? row.after :
      row.before + " → " + row.after },
];

function listing() {
  const search = element("input", { type: "search", placeholder: "d:nn:8x8", oninput: () => { LIST
        .text = search.value;
      draw(); } });
  fill("list-controls",
    choice("Verdict", [
        ["*", `all (${DATA.rows.length})`], ...VERDICTS.map((name) => [name,
          `${name} (${DATA.counts[name]})`
        ])
      ], LIST.verdict,
      (value) => { LIST.verdict = value;
        LIST.shown = 100;
        draw(); }),
    element("label", {}, "Problem or kernel", search));

  function draw() {
    const found = DATA.rows.filter((row) => (LIST.verdict === "*" || row.verdict === LIST.verdict) &&
      (row.label + " " + row.before + " " + row.after).toLowerCase().includes(LIST.text.toLowerCase())
      );
    const shown = found.slice(0, LIST.shown);
    fill("list-table", table(`${shown.length} of ${found.length} problems`, COLUMNS, shown));
    fill("list-more", found.length > shown.length ?
      element("button", { type: "button", onclick: () => { LIST.shown += 300;
          draw(); } }, `Show more of ${found.length}`) : []);
  }
  draw();
}

fill("ratio-plot", plot("Speed after over speed before, worst first", () => ({
  traces: VERDICTS.map((name, number) => {
    const own = DATA.rows.map((row, at) => ({ ...row, at })).filter((row) => row.verdict ===
      name);
    return {
      x: own.map((row) => row.at + 1),
      y: own.map((row) => row.ratio),
      mode: "markers",
      name: `${name} (${own.length})`,
      text: own.map((row) => row.label),
      marker: { color: [tone("bad"), colour(3), tone("soft"), tone("good")][number],
        symbol: SYMBOLS[number], size: 7 },
      hovertemplate: "%{text}<br>%{y:.3f}<extra></extra>"
    };
  }).filter((trace) => trace.x.length),
  layout: { xaxis: axis("problems"), yaxis: axis("after / before", { type: "log" }), shapes: [
    { type: "line", xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1, line: { color: tone("soft"),
        width: 1 } }] },
  told: `${DATA.problems} problems: ${VERDICTS.map((name) => DATA.counts[name] + " " + name).join(", ")}; ` +
    `geometric mean ${DATA.geometric_mean.toFixed(3)}.`,
  header: ["problem", "regime", "after / before", "verdict"],
  rows: DATA.rows.map((row) => [row.label, row.regime, fixed(row.ratio, 3), row.verdict]),
}), true));
listing();
