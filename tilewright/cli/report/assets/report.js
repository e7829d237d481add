// -- the data, unpacked -----------------------------------------------------------------------------------

function column(packed) {
  return Array.isArray(packed) ? packed : packed.at.map((at) => packed.of[at]);
}

const PLACES = new Map([...DATA.alphabet].map((letter, at) => [letter, at]));
const FATES = { o: "ok", F: "final round", r: "rejected", c: "compile_failed", s: "spills", w: "wrong", x: "crashed",
  t: "timeout" };

const PROBLEMS = (() => {
  const names = Object.keys(DATA.problems);
  const columns = names.map((name) => column(DATA.problems[name]));
  return columns[0].map((_, at) => {
    const problem = { at };
    names.forEach((name, number) => { problem[name] = columns[number][at]; });
    problem.on = DATA.devices[problem.device];
    problem.percent = problem.bound ? 100 * problem.gflops / problem.bound : null;
    problem.ratio = problem.vendor ? problem.gflops / problem.vendor : null;
    problem.size = Math.cbrt(problem.m * problem.n * problem.k);
    problem.square = problem.m === problem.n && problem.n === problem.k;
    problem.failures = Object.values(problem.failed).reduce((sum, [number]) => sum + number, 0);
    return problem;
  });
})();

function unpacked(number, text) {
  const space = DATA.spaces[number];
  return Object.fromEntries(space.names.map((name, at) => [name, space.values[at][PLACES.get(text[at])]]));
}

function spelled(config) {
  return Object.entries(config).map(([name, value]) => name + "=" + value).join(" ");
}

// The tries of a problem: {at, space, text, speed in GF/s or 0, fate}.
function tries(problem) {
  const sweep = DATA.sweeps[problem.at];
  if (!sweep)
    return [{ at: 0, space: problem.space, text: problem.config, speed: problem.gflops, fate: "F" }];
  const found = [];
  let place = 0;
  for (const [space, length] of sweep.runs) {
    const width = DATA.spaces[space].names.length;
    for (let one = 0; one < length; one += 1, place += width) {
      const at = found.length;
      found.push({ at: sweep.at ? sweep.at[at] : at, space, text: sweep.configs.slice(place, place + width),
        speed: sweep.speeds[at], fate: sweep.what[at] });
    }
  }
  return found;
}

// The newest speed of each config that was timed, in the final round or alone, fastest first. The two are never set
// against each other: they are different protocols.
function timed(problem, final) {
  const newest = new Map();
  for (const one of tries(problem)) if (!one.speed || one.fate === (final ? "F" : "o")) newest.set(one.space + " " + one.text, one);
  return [...newest.values()].filter((one) => one.speed > 0).sort((a, b) => b.speed - a.speed);
}

function isWinner(problem, one) {
  return one.space === problem.space && one.text === problem.config;
}

// The configs of a problem that were timed in one protocol, and the winner's speed in it.
function ranking(problem) {
  const [alone, finals] = [timed(problem, false), timed(problem, true)];
  const found = alone.find((one) => isWinner(problem, one));
  return found ? { rows: alone, winner: found.speed, finals } : { rows: finals, winner: problem.gflops, finals };
}

function speed(problem, gflops) {
  return fixed(gflops === null || gflops === undefined ? null : gflops / problem.on.scale, problem.on.decimals);
}

function distinct(values) {
  return [...new Set(values)];
}

const SEVERAL = DATA.devices.length > 1;
const DEVICES = DATA.devices.map((device, at) => [String(at), device.name]);

// -- speeds against sizes ---------------------------------------------------------------------------------

const MEASURES = {
  speed: { title: (on) => on.unit, of: (problem, gflops) => gflops / problem.on.scale },
  percent: { title: () => "% of the bound", of: (problem, gflops) => problem.bound ? 100 * gflops / problem.bound : null },
  vendor: { title: (on) => "times " + on.vendor, of: (problem, gflops) => problem.vendor ? gflops / problem.vendor : null },
};

// A line is not drawn over sizes that nobody measured.
function gaps(points) {
  return points.flatMap((problem, at) => at && problem.size > 2.5 * points[at - 1].size ? [null, problem] : [problem]);
}

const POWERS = Array.from({ length: 18 }, (_, at) => 2 ** at);

function speeds() {
  const most = DATA.devices.reduce((best, device, at) => device.problems > DATA.devices[best].problems ? at : best, 0);
  const state = { device: String(most), type: null, regime: null, kind: null, measure: "speed" };
  const box = plot("Speed against size", build, true);
  function settle() {
    const on = PROBLEMS.filter((problem) => String(problem.device) === state.device);
    const pick = (name, rows) => {
      const there = distinct(rows.map((problem) => problem[name === "kind" ? "class" : name]));
      if (!there.includes(state[name]) && !(name === "kind" && state.kind === "*")) state[name] = there[0];
      return there;
    };
    const sizes = {};
    for (const problem of on) sizes[problem.type] = (sizes[problem.type] || 0) + 1;
    // The type with most problems is shown first.
    if (!(state.type in sizes)) state.type = Object.keys(sizes).sort((a, b) => sizes[b] - sizes[a])[0];
    const all = { types: pick("type", on) };
    const typed = on.filter((problem) => problem.type === state.type);
    all.regimes = pick("regime", typed);
    const rows = typed.filter((problem) => problem.regime === state.regime);
    const counts = {};
    for (const problem of rows) counts[problem.class] = (counts[problem.class] || 0) + 1;
    rows.sort((a, b) => counts[b.class] - counts[a.class]);
    all.classes = pick("kind", rows);
    return { ...all, rows };
  }
  function controls() {
    const there = settle();
    const set = (name) => (value) => { state[name] = value; controls(); box.redraw(); };
    fill("speeds-controls",
      SEVERAL ? choice("Device", DEVICES, state.device, set("device")) : [],
      choice("Type", there.types.map((name) => [name, name]), state.type, set("type")),
      choice("Regime", there.regimes.map((name) => [name, name]), state.regime, set("regime")),
      choice("Class", [...there.classes.map((name) => [name, name]), ["*", "all of them"]], state.kind, set("kind")),
      choice("Shown", [["speed", "speed"], ["percent", "% of the bound"], ["vendor", "times the vendor"]], state.measure,
        set("measure")));
  }
  function build() {
    const { rows, classes } = settle();
    const on = DATA.devices[Number(state.device)], measure = MEASURES[state.measure];
    const wanted = state.kind === "*" ? classes : [state.kind];
    const traces = [], listed = [];
    const peers = new Set();
    wanted.forEach((name, number) => {
      const own = rows.filter((problem) => problem.class === name).sort((a, b) => a.size - b.size || a.at - b.at);
      const add = (points, title, value, style) => {
        const shown = gaps(points.filter((problem) => value(problem)));
        if (!shown.length) return;
        traces.push({ x: shown.map((p) => p && p.size), y: shown.map((p) => p && measure.of(p, value(p))),
          name: title, mode: style.mode || "lines", line: { color: style.colour, dash: style.dash, width: style.width || 2 },
          marker: { color: style.colour, symbol: SYMBOLS[number % 8], size: style.dash ? 4 : 7 }, text: shown.map((p) => p && p.label),
          customdata: shown.map((p) => p && p.at), hovertemplate: "%{text}<br>%{y:.4~g} " + measure.title(on) + "<extra>%{fullData.name}</extra>" });
      };
      const squares = own.filter((problem) => problem.square), others = own.filter((problem) => !problem.square);
      const tag = wanted.length > 1 ? name : "Tilewright";
      add(squares, tag, (problem) => problem.gflops, { mode: "lines+markers", colour: colour(number), width: 3 });
      add(others, tag + ", other shapes", (problem) => problem.gflops, { mode: "markers", colour: colour(number) });
      if (wanted.length === 1) {
        const shapes = squares.length ? squares : own;
        const mode = squares.length ? "lines+markers" : "markers";
        add(shapes, "bound", (problem) => problem.bound, { mode, colour: tone("soft"), dash: DASHES.bound });
        add(shapes, on.vendor, (problem) => problem.vendor, { mode, colour: colour(1), dash: DASHES.vendor });
        for (const problem of own) Object.keys(problem.peers).forEach((peer) => peers.add(peer));
        [...peers].forEach((peer, at) =>
          add(shapes, peer, (problem) => problem.peers[peer], { mode, colour: colour(at + 2), dash: DASHES.peer }));
      }
      for (const problem of own)
        listed.push([problem.label, speed(problem, problem.gflops), speed(problem, problem.vendor), speed(problem, problem.bound),
          ...[...peers].map((peer) => speed(problem, problem.peers[peer]))]);
    });
    const known = rows.filter((problem) => wanted.includes(problem.class) && problem.ratio);
    const ahead = known.filter((problem) => problem.ratio >= 1).length;
    const heights = traces.flatMap((trace) => trace.y).filter((y) => y > 0);
    const wide = state.measure !== "percent" && Math.max(...heights) > 40 * Math.min(...heights);
    return { traces, layout: { xaxis: axis("n, or the cube root of m n k", { type: "log", tickvals: POWERS, minor: { showgrid: false } }),
      yaxis: axis(measure.title(on), wide ? { type: "log" } : { rangemode: "tozero" }) },
    told: `Type ${state.type}, regime ${state.regime}, ${state.kind === "*" ? "all classes" : state.kind}: ${listed.length} ` +
      `problems` + (known.length ? `; faster than ${on.vendor} at ${ahead} of the ${known.length} where it was timed.` : "."),
    header: ["problem", on.unit, on.vendor, "bound", ...peers], rows: listed, clicked: open };
  }
  controls();
  fill("speeds-plot", box);
}

// -- roofline ---------------------------------------------------------------------------------------------

function rooflines() {
  fill("roofline-plots", DATA.devices.map((on, number) => plot("Roofline of " + on.name, () => {
    const own = PROBLEMS.filter((problem) => problem.device === number && problem.intensity);
    const letters = distinct(own.map((problem) => problem.type));
    const ceiling = (name) => on.ceilings[name + ".1"];
    const slopes = Object.keys(on.ceilings).filter((name) => /^bandwidth\.(copy|update|stream)\.1$/.test(name));
    const low = Math.min(...own.map((problem) => problem.intensity)) / 2;
    const high = Math.max(...own.map((problem) => problem.intensity)) * 2;
    const traces = [];
    letters.forEach((letter, at) => {
      const points = own.filter((problem) => problem.type === letter);
      traces.push({ x: points.map((p) => p.intensity), y: points.map((p) => p.gflops / on.scale), mode: "markers", name: letter,
        text: points.map((p) => p.label + ", " + p.regime), customdata: points.map((p) => p.at),
        marker: { color: colour(at), symbol: SYMBOLS[at % 8], size: 7, opacity: 0.8 },
        hovertemplate: "%{text}<br>%{y:.4~g} " + on.unit + " at %{x:.3~g} flop/byte<extra></extra>" });
      const peak = ceiling("tensor." + letter) || ceiling("peak." + letter);
      if (peak)
        traces.push({ x: [low, high], y: [peak / 1e9 / on.scale, peak / 1e9 / on.scale], mode: "lines", name: "peak of " + letter, showlegend: false,
          line: { color: colour(at), width: 1 }, hovertemplate: "peak of " + letter + ": %{y:.4~g} " + on.unit + "<extra></extra>" });
    });
    slopes.forEach((name, at) => {
      const rate = on.ceilings[name] / 1e9 / on.scale;
      traces.push({ x: [low, high], y: [low * rate, high * rate], mode: "lines", name: name.split(".")[1],
        line: { color: tone("soft"), dash: at ? "dashdot" : "dot" }, hovertemplate: (on.ceilings[name] / 1e9).toFixed(0) + " GB/s<extra></extra>" });
    });
    const top = Math.max(...traces.filter((t) => t.mode === "markers" || t.name.startsWith("peak")).flatMap((t) => t.y));
    const bottom = Math.min(...own.map((problem) => problem.gflops / on.scale));
    return { traces, layout: { xaxis: axis("flop/byte, each operand counted once", { type: "log" }),
      yaxis: axis(on.unit, { type: "log", range: [Math.log10(bottom / 2), Math.log10(top * 1.5)] }) },
    told: slopes.length ? `${own.length} problems under the measured rates of memory (slopes) and the peaks of the arithmetic units.`
      : `${own.length} problems. The rate of this device's memory is not in these records, so there is no slope.`,
    header: ["problem", "regime", "flop/byte", on.unit], clicked: open,
    rows: own.map((p) => [p.label, p.regime, p.intensity, speed(p, p.gflops)]) };
  }, DATA.devices.length === 1)));
}

// -- the list of problems ---------------------------------------------------------------------------------

const LIST = { device: "*", type: "*", regime: "*", text: "", behind: false, shown: 50, sort: { at: -1, down: false } };

const COLUMNS = [
  { name: "problem", text: true, close: true, by: (p) => p.size,
    cell: (p) => element("button", { type: "button", onclick: () => open(p.at), "aria-label": "Details of " + p.label + ", " + p.regime }, p.label) },
  ...(SEVERAL ? [{ name: "device", text: true, by: (p) => p.device, cell: (p) => p.on.key }] : []),
  { name: "regime", text: true, by: (p) => p.regime, cell: (p) => p.regime },
  { name: "speed", close: true, by: (p) => p.gflops, cell: (p) => speed(p, p.gflops) + " " + p.on.unit },
  { name: "% of bound", by: (p) => p.percent, cell: (p) => fixed(p.percent, 0), bar: (p) => p.percent },
  { name: "× vendor", by: (p) => p.ratio,
    cell: (p) => element("span", { class: p.ratio === null ? null : p.ratio < 1 ? "bad" : "good" }, fixed(p.ratio, 2)) },
  { name: "tried", by: (p) => p.tried, cell: (p) => count(p.tried) },
  { name: "failed", by: (p) => p.failures, cell: (p) => count(p.failures) },
  { name: "winner", text: true, config: true, by: (p) => DATA.spaces[p.space].stencil,
    cell: (p) => DATA.spaces[p.space].stencil + ": " + spelled(unpacked(p.space, p.config)) },
];

function listing() {
  const set = (name) => (value) => { LIST[name] = value; LIST.shown = 50; draw(); };
  const options = (name) => [["*", "all"], ...distinct(PROBLEMS.map((problem) => problem[name])).map((value) => [value, value])];
  const search = element("input", { type: "search", placeholder: "d:nn:8x8 or tensor", oninput: () => set("text")(search.value) });
  const behind = element("input", { type: "checkbox", onchange: () => set("behind")(behind.checked) });
  fill("problems-controls",
    SEVERAL ? choice("Device", [["*", "all"], ...DEVICES], LIST.device, set("device")) : [],
    choice("Type", options("type"), LIST.type, set("type")),
    choice("Regime", options("regime"), LIST.regime, set("regime")),
    element("label", {}, "Problem or kernel", search),
    element("label", { class: "tick" }, behind, "slower than the vendor's"));
  function draw() {
    const found = PROBLEMS.filter((p) => (LIST.device === "*" || String(p.device) === LIST.device) &&
      (LIST.type === "*" || p.type === LIST.type) && (LIST.regime === "*" || p.regime === LIST.regime) &&
      (!LIST.behind || (p.ratio !== null && p.ratio < 1)) &&
      (!LIST.text || (p.label + " " + DATA.spaces[p.space].stencil).toLowerCase().includes(LIST.text.toLowerCase())));
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
    fill("problems-table", table(`${shown.length} of ${found.length} problems`, COLUMNS, shown,
      { sort: LIST.sort, sorted, chosen: (p) => location.hash === "#problem-" + p.at }));
    fill("problems-more", found.length > shown.length
      ? element("button", { type: "button", onclick: () => { LIST.shown += 200; draw(); } }, `Show more of ${found.length}`) : []);
  }
  draw();
}

// -- one problem ------------------------------------------------------------------------------------------

// What the best config with another value of each parameter reaches, in percent of the winner.
function worth(problem, ranked) {
  const own = ranked.rows.filter((one) => one.space === problem.space);
  const names = DATA.spaces[problem.space].names;
  const found = names.map((name, at) => {
    const others = own.filter((one) => one.text[at] !== problem.config[at]);
    const values = distinct(own.map((one) => one.text[at])).length;
    return { name, value: DATA.spaces[problem.space].values[at][PLACES.get(problem.config[at])], values,
      best: others.length ? 100 * others[0].speed / ranked.winner : null,
      other: others.length ? DATA.spaces[problem.space].values[at][PLACES.get(others[0].text[at])] : null };
  });
  return found.sort((a, b) => (a.best ?? 1e9) - (b.best ?? 1e9));
}

function reasons(problem, ranked, params) {
  const told = [], on = problem.on, name = DATA.spaces[problem.space].stencil;
  const limits = { peak: "the arithmetic units", tensor: "the tensor cores" };
  if (problem.ratio !== null && problem.ratio < 1) told.push(`${on.vendor} is faster here: calls run it, and not the kernel below.`);
  told.push(`${name} won with ${speed(problem, problem.gflops)} ${on.unit}` +
    (problem.percent ? `, ${fixed(problem.percent, 0)} % of what ${limits[problem.limit] || "memory (" + problem.limit + ")"} would allow` : "") +
    (problem.ratio ? `, ${fixed(problem.ratio, 2)} times ${on.vendor}` + (problem.algorithm ? ` (${problem.algorithm})` : "") : "") + ".");
  told.push(problem.final >= 2
    ? `A final round in turns with the other finalists decided; its median is known to ± ${problem.spread} %.`
    : `No final round was recorded: it was timed alone, its median is known to ± ${problem.spread} %.`);
  if (problem.note) told.push(`The tuner noted of it: ${problem.note}.`);
  const rivals = ranked.finals.length > 1 ? ranked.finals : ranked.rows;
  const base = rivals === ranked.finals ? problem.gflops : ranked.winner;
  const second = rivals.find((one) => !isWinner(problem, one));
  if (second) {
    const near = rivals.filter((one) => !isWinner(problem, one) && one.speed >= 0.99 * base).length;
    told.push(`Of ${rivals.length} configs that were timed ${rivals === ranked.finals ? "in the final round" : "alone"}, ` +
      `${near === 0 ? "no other" : near === 1 ? "one other" : near + " others"} came within 1 % of it; the next reached ${fixed(100 * second.speed / base, 1)} %.`);
  }
  const most = params.filter((each) => each.best !== null && each.best < 99);
  if (most.length)
    told.push("What mattered: " + most.slice(0, 3).map((each) => `${each.name}=${each.value} (with ${each.other} at best ${fixed(each.best, 0)} %)`).join(", ") + ".");
  if (problem.default) {
    const [space, text] = problem.default;
    const own = unpacked(problem.space, problem.config), model = unpacked(space, text);
    const apart = Object.keys(own).filter((key) => own[key] !== model[key]);
    const tried = ranked.rows.find((one) => one.space === space && one.text === text);
    told.push(apart.length === 0 ? "It is what the cost model chooses without measuring." :
      "The cost model alone would choose " + apart.map((key) => `${key}=${model[key]}`).join(" ") +
      (tried ? `, which reached ${fixed(100 * tried.speed / ranked.winner, 0)} %.` : ", which was not timed in these records."));
  }
  if (problem.outside) told.push(`It is in its kernel's space no more: its config ${problem.outside}.`);
  return element("ul", {}, told.map((text) => element("li", {}, text)));
}

function sweepPlot(problem) {
  let sorted = false;
  const box = plot("Every try", () => {
    const on = problem.on, all = tries(problem);
    let rows = all.filter((one) => one.speed > 0);
    if (sorted) rows = rows.sort((a, b) => a.speed - b.speed).map((one, at) => ({ ...one, at }));
    const groups = distinct(rows.map((one) => DATA.spaces[one.space].stencil));
    const traces = groups.map((name, number) => {
      const own = rows.filter((one) => DATA.spaces[one.space].stencil === name);
      return { x: own.map((one) => one.at + 1), y: own.map((one) => one.speed / on.scale), mode: "markers", name,
        marker: { color: colour(number * 2), symbol: own.map((one) => one.fate === "F" ? "star" : SYMBOLS[number % 8]), size: 6 },
        text: own.map((one) => spelled(unpacked(one.space, one.text)).replace(/((?:\S+ ){5})/g, "$1<br>")),
        hovertemplate: "%{y:.4~g} " + on.unit + "<br>%{text}<extra>%{fullData.name}</extra>" };
    });
    const last = Math.max(...rows.map((one) => one.at)) + 1;
    if (!sorted) {
      let best = 0;
      const steps = rows.map((one) => (best = Math.max(best, one.speed)) / on.scale);
      traces.push({ x: rows.map((one) => one.at + 1), y: steps, mode: "lines", name: "best so far", line: { color: tone("ink"), shape: "hv", width: 1 }, hoverinfo: "skip" });
    }
    for (const [name, value, dash] of [["bound", problem.bound, "dot"], [on.vendor, problem.vendor, "dash"]])
      if (value) traces.push({ x: [1, last], y: [value / on.scale, value / on.scale], mode: "lines", name, line: { color: dash === "dot" ? tone("soft") : colour(1), dash } });
    const total = DATA.sweeps[problem.at] ? DATA.sweeps[problem.at].n : 1;
    return { traces, layout: { xaxis: axis(sorted ? "tries, slowest first" : "try"), yaxis: axis(on.unit, { rangemode: "tozero" }) },
      told: (all.length < total ? `${all.length} of ${total} tries, every improvement and final among them` : `All ${total} tries`) +
        `; ${rows.length} of them timed. Stars are final rounds.`,
      header: ["try", on.unit, "became", "config"],
      rows: all.map((one) => [one.at + 1, one.speed ? speed(problem, one.speed) : "–", FATES[one.fate], DATA.spaces[one.space].stencil + ": " + spelled(unpacked(one.space, one.text))]) };
  }, true);
  const order = choice("Order", [["made", "as they were made"], ["speed", "by speed"]], "made", (value) => { sorted = value === "speed"; box.redraw(); });
  box.children[0].after(element("div", { class: "controls" }, order));
  return box;
}

const ABOVE = "Above 100 is what was faster alone and slower in the final round.";

function heatMap(problem, ranked, params) {
  const own = ranked.rows.filter((one) => one.space === problem.space), names = DATA.spaces[problem.space].names;
  const moving = params.filter((each) => each.values > 1).map((each) => each.name);
  if (moving.length < 2) return null;
  let [first, second] = moving;
  const box = plot("Two parameters at once", () => {
    const [x, y] = [names.indexOf(first), names.indexOf(second)];
    const values = DATA.spaces[problem.space].values;
    const order = (at) => distinct(own.map((one) => one.text[at])).map((letter) => values[at][PLACES.get(letter)])
      .sort((a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : 1);
    const [columns, rows] = [order(x), order(y)];
    const best = rows.map(() => columns.map(() => null));
    for (const one of own) {
      const row = rows.indexOf(values[y][PLACES.get(one.text[y])]), at = columns.indexOf(values[x][PLACES.get(one.text[x])]);
      best[row][at] = Math.max(best[row][at] || 0, 100 * one.speed / ranked.winner);
    }
    const cells = columns.length * rows.length;
    return { traces: [{ type: "heatmap", x: columns.map(String), y: rows.map(String), z: best, zmin: Math.min(...best.flat().filter((v) => v !== null)), zmax: Math.max(...best.flat()),
      colorscale: "Cividis", hoverongaps: false, xgap: 1, ygap: 1, colorbar: { title: { text: "%" }, thickness: 12 },
      texttemplate: cells <= 80 ? "%{z:.0f}" : "", hovertemplate: `${first}=%{x}, ${second}=%{y}<br>%{z:.1f} %<extra></extra>` }],
    layout: { xaxis: axis(first, { type: "category" }), yaxis: axis(second, { type: "category" }) },
    told: `The best that was timed with each pair of ${first} and ${second}, in percent of the winner; pairs without a cell were not timed. ${ABOVE}`,
    header: [second + " \\ " + first, ...columns], rows: rows.map((value, at) => [value, ...best[at].map((v) => fixed(v, 1))]) };
  });
  const pick = (label, chosen, set) => choice(label, moving.map((name) => [name, name]), chosen, (value) => { set(value); box.redraw(); });
  box.children[0].after(element("div", { class: "controls" },
    pick("Across", first, (value) => { first = value; }), pick("Up", second, (value) => { second = value; })));
  return box;
}

function funnelOf(problem) {
  const stencil = DATA.spaces[problem.space].stencil;
  const counted = DATA.funnels.find((each) => each.device === problem.device && each.stencil === stencil && each.type === problem.type);
  const rows = [];
  if (counted)
    for (const [rule, kind, removed, left, why] of counted.steps) rows.push({ rule, kind, removed, left, why });
  let left = problem.tried;
  rows.push({ rule: "tried", kind: "records", removed: null, left, why: "of all stencils" });
  for (const fate of ["compile_failed", "spills", "rejected", "crashed", "timeout", "wrong"]) {
    const [number, message] = problem.failed[fate] || [0, -1];
    left -= number;
    if (number) rows.push({ rule: fate.replace("_", " "), kind: "records", removed: number, left, why: message < 0 ? "" : "for one: " + DATA.messages[message] });
  }
  rows.push({ rule: "right and timed", kind: "records", removed: null, left, why: "" });
  const most = Math.log10(Math.max(10, rows[0].left));
  return element("details", {}, element("summary", {}, "Funnel: from all combinations to what was measured"),
    counted && counted.label !== problem.label
      ? element("p", { class: "soft" }, `The rules were counted for ${counted.label} with the same kernel and type; other sizes differ.`) : null,
    counted ? null : element("p", { class: "soft" }, "The rules of this space could not be counted where the page was made."),
    table("Rules in the order in which they are asked; those that removed nothing are left out", [
      { name: "rule", text: true, cell: (row) => row.rule },
      { name: "kind", text: true, cell: (row) => row.kind },
      { name: "removed", cell: (row) => row.removed === null ? "–" : count(row.removed) },
      { name: "left", cell: (row) => count(row.left), bar: (row) => row.left > 0 ? 100 * Math.log10(row.left + 1) / most : 0 },
      { name: "why", text: true, config: true, cell: (row) => row.why },
    ], rows));
}

function detail(problem) {
  const ranked = ranking(problem), params = worth(problem, ranked), on = problem.on;
  const facts = [["device", on.name], ["regime", problem.regime], ["products in a batch", count(problem.batch)], ["kernel", DATA.spaces[problem.space].stencil],
    ["config", spelled(unpacked(problem.space, problem.config))], ["measured", problem.when], ["driver", problem.driver], ["toolchain", problem.toolchain], ["clocks", problem.clocks]];
  fill("problem-body", element("h3", {}, "What won, and why"), reasons(problem, ranked, params),
    element("dl", {}, facts.filter(([, value]) => value).map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    ranked.rows.length > 1 ? [sweepPlot(problem), heatMap(problem, ranked, params),
      element("details", {}, element("summary", {}, "What each parameter is worth"),
        table("The fastest config that was timed with another value, in percent of the winner: low means that the value mattered. " + ABOVE, [
          { name: "parameter", text: true, cell: (row) => row.name },
          { name: "winner", cell: (row) => String(row.value) },
          { name: "values timed", cell: (row) => String(row.values) },
          { name: "best other", cell: (row) => row.other === null ? "–" : String(row.other) },
          { name: "reached", cell: (row) => fixed(row.best, 1) + (row.best === null ? "" : " %") },
          { name: "lost", cell: (row) => row.best === null ? "–" : fixed(100 - row.best, 1) + " %", bar: (row) => row.best === null ? null : 100 - row.best },
        ], params))]
      : element("p", { class: "soft" }, "These records hold the winner alone: its sweep is where it was tuned."),
    funnelOf(problem));
}

function open(at) {
  location.hash = "#problem-" + at;
}

// The address says which problem is open, so that it can be sent to somebody.
function follow() {
  const found = /^#problem-(\d+)$/.exec(location.hash);
  const problem = found ? PROBLEMS[Number(found[1])] : null;
  const section = document.getElementById("problem");
  if (!problem) return;
  section.hidden = false;
  const title = document.getElementById("problem-title");
  title.textContent = `${problem.label}, ${problem.regime}` + (SEVERAL ? `, ${problem.on.name}` : "");
  detail(problem);
  for (const box of section.querySelectorAll("details")) if (box.redraw) box.redraw();
  section.scrollIntoView();
  title.focus({ preventScroll: true });
}

speeds();
rooflines();
listing();
window.addEventListener("hashchange", follow);
window.addEventListener("load", follow);
