// The list of problems, filtered and sorted.

const LIST = {
  device: "*", type: "*", regime: "*", text: "", behind: false, shown: 50, sort: { at: -1, down: false }
};

function opener(p) {
  const label = `Details of ${p.label}, ${p.regime}`;
  return element("button", { type: "button", onclick: () => open(p.at), "aria-label": label }, p.label);
}

function against(p) {
  const tone = p.ratio === null ? null : p.ratio < 1 ? "bad" : "good";
  return element("span", { class: tone }, fixed(p.ratio, 2));
}

const COLUMNS = [
  { name: "problem", text: true, close: true, by: (p) => p.size, cell: opener },
  ...(SEVERAL ? [{ name: "device", text: true, by: (p) => p.device, cell: (p) => p.on.key }] : []),
  { name: "regime", text: true, by: (p) => p.regime, cell: (p) => p.regime },
  { name: "speed", close: true, by: (p) => p.gflops, cell: (p) => `${speed(p, p.gflops)} ${p.on.unit}` },
  { name: "% of bound", by: (p) => p.percent, cell: (p) => fixed(p.percent, 0), bar: (p) => p.percent },
  { name: "× vendor", by: (p) => p.ratio, cell: against },
  { name: "tried", by: (p) => p.tried, cell: (p) => count(p.tried) },
  { name: "failed", by: (p) => p.failures, cell: (p) => count(p.failures) },
  { name: "winner", text: true, config: true, by: (p) => DATA.spaces[p.space].stencil,
    cell: (p) => DATA.spaces[p.space].stencil + ": " + spelled(unpacked(p.space, p.config)) },
];

function listing() {
  const set = (name) => (value) => {
    LIST[name] = value;
    LIST.shown = 50;
    draw();
  };
  const options = (name) => [
    ["*", "all"], ...distinct(PROBLEMS.map((problem) => problem[name])).map((value) => [value, value])
  ];
  const search = element("input", { type: "search", placeholder: "d:nn:8x8 or tensor", oninput: () =>
      set("text")(search.value) });
  const behind = element("input", { type: "checkbox", onchange: () => set("behind")(behind.checked) });
  fill("problems-controls",
    SEVERAL ? choice("Device", [
      ["*", "all"], ...DEVICES
    ], LIST.device, set("device")) : [],
    choice("Type", options("type"), LIST.type, set("type")),
    choice("Regime", options("regime"), LIST.regime, set("regime")),
    element("label", {}, "Problem or kernel", search),
    element("label", { class: "tick" }, behind, "slower than the vendor's"));

  function draw() {
    const found = PROBLEMS.filter((p) => (LIST.device === "*" || String(p.device) === LIST.device) &&
      (LIST.type === "*" || p.type === LIST.type) && (LIST.regime === "*" || p.regime === LIST.regime) &&
      (!LIST.behind || (p.ratio !== null && p.ratio < 1)) &&
      (!LIST.text || (p.label + " " + DATA.spaces[p.space].stencil).toLowerCase().includes(LIST.text
        .toLowerCase())));
    const { at, down } = LIST.sort;
    if (at >= 0) {
      const by = COLUMNS[at].by;
      // What has no value comes last, whichever way it is sorted.
      found.sort((a, b) => {
        const [x, y] = [by(a), by(b)];
        if (x === null || y === null) return (x === null) - (y === null) || a.at - b.at;
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1) || a.at - b.at;
      });
    }
    const shown = found.slice(0, LIST.shown);
    const sorted = (which) => {
      LIST.sort = { at: which, down: LIST.sort.at === which ? !LIST.sort.down : false };
      draw();
      document.querySelectorAll("#problems-table th button")[which].focus();
    };
    fill("problems-table", table(`${shown.length} of ${found.length} problems`, COLUMNS,
    shown, { sort: LIST.sort, sorted, chosen: (p) => location.hash === "#problem-" + p.at }));
    fill("problems-more", found.length > shown.length ?
      element("button", { type: "button", onclick: () => { LIST.shown += 200;
          draw(); } }, `Show more of ${found.length}`) : []);
  }
  draw();
}
