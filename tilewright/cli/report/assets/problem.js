// One problem: what won and why, every try, two parameters at once, the funnel; and the page's beginning.

// What the best config with another value of each parameter reaches, in percent of the winner.
function worth(problem, ranked) {
  const own = ranked.rows.filter((one) => one.space === problem.space);
  const names = DATA.spaces[problem.space].names;
  const found = names.map((name, at) => {
    const others = own.filter((one) => one.text[at] !== problem.config[at]);
    const values = distinct(own.map((one) => one.text[at])).length;
    return {
      name,
      value: DATA.spaces[problem.space].values[at][PLACES.get(problem.config[at])],
      values,
      best: others.length ? 100 * others[0].speed / ranked.winner : null,
      other: others.length ? DATA.spaces[problem.space].values[at][PLACES.get(others[0].text[at])] :
        null
    };
  });
  return found.sort((a, b) => (a.best ?? 1e9) - (b.best ?? 1e9));
}

function reasons(problem, ranked, params) {
  const told = [],
    on = problem.on,
    name = DATA.spaces[problem.space].stencil;
  const limits = { peak: "the arithmetic units", tensor: "the tensor cores" };
  const limit = limits[problem.limit] || `memory (${problem.limit})`;
  if (problem.ratio !== null && problem.ratio < 1) told.push(
    `${on.vendor} is faster here: calls run it, and not the kernel below.`);
  told.push(`${name} won with ${speed(problem, problem.gflops)} ${on.unit}` +
    (problem.percent ? `, ${fixed(problem.percent, 0)} % of what ${limit} would allow` : "") +
    (problem.ratio ? `, ${fixed(problem.ratio, 2)} times ${on.vendor}` : "") +
    (problem.ratio && problem.algorithm ? ` (${problem.algorithm})` : "") + ".");
  told.push(problem.final >= 2 ?
    `A final round in turns with the finalists decided; its median is known to ± ${problem.spread} %.` :
    `No final round was recorded: it was timed alone, its median is known to ± ${problem.spread} %.`);
  if (problem.note) told.push(`The tuner noted of it: ${problem.note}.`);
  const rivals = ranked.finals.length > 1 ? ranked.finals : ranked.rows;
  const base = rivals === ranked.finals ? problem.gflops : ranked.winner;
  const second = rivals.find((one) => !isWinner(problem, one));
  if (second) {
    const near = rivals.filter((one) => !isWinner(problem, one) && one.speed >= 0.99 * base).length;
    told.push(
      `Of ${rivals.length} configs timed ${rivals === ranked.finals ? "in the final round" : "alone"}, ` +
      `${near === 0 ? "no other" : near === 1 ? "one other" : near + " others"} came within 1 % of it; ` +
      `the next reached ${fixed(100 * second.speed / base, 1)} %.`
      );
  }
  const most = params.filter((each) => each.best !== null && each.best < 99);
  if (most.length)
    told.push("What mattered: " + most.slice(0, 3).map((each) =>
        `${each.name}=${each.value} (with ${each.other} at best ${fixed(each.best, 0)} %)`).join(", ") +
      ".");
  if (problem.default) {
    const [space, text] = problem.default;
    const own = unpacked(problem.space, problem.config),
      model = unpacked(space, text);
    const apart = Object.keys(own).filter((key) => own[key] !== model[key]);
    const tried = ranked.rows.find((one) => one.space === space && one.text === text);
    told.push(apart.length === 0 ? "It is what the cost model chooses without measuring." :
      "The cost model alone would choose " + apart.map((key) => `${key}=${model[key]}`).join(" ") +
      (tried ? `, which reached ${fixed(100 * tried.speed / ranked.winner, 0)} %.` :
        ", which was not timed in these records."));
  }
  if (problem.outside) told.push(`It is in its kernel's space no more: its config ${problem.outside}.`);
  return element("ul", {}, told.map((text) => element("li", {}, text)));
}

function sweepPlot(problem) {
  let sorted = false;
  const box = plot("Every try", () => {
    const on = problem.on,
      all = tries(problem);
    let rows = all.filter((one) => one.speed > 0);
    if (sorted) rows = rows.sort((a, b) => a.speed - b.speed).map((one, at) => ({ ...one, at }));
    const groups = distinct(rows.map((one) => DATA.spaces[one.space].stencil));
    const traces = groups.map((name, number) => {
      const own = rows.filter((one) => DATA.spaces[one.space].stencil === name);
      return {
        x: own.map((one) => one.at + 1),
        y: own.map((one) => one.speed / on.scale),
        mode: "markers",
        name,
        marker: { color: colour(number * 2), symbol: own.map((one) => one.fate === "F" ?
            "star" : SYMBOLS[number % 8]), size: 6 },
        text: own.map((one) => spelled(unpacked(one.space, one.text)).replace(/((?:\S+ ){5})/g,
          "$1<br>")),
        hovertemplate: "%{y:.4~g} " + on.unit + "<br>%{text}<extra>%{fullData.name}</extra>"
      };
    });
    const last = Math.max(...rows.map((one) => one.at)) + 1;
    if (!sorted) {
      let best = 0;
      const steps = rows.map((one) => (best = Math.max(best, one.speed)) / on.scale);
      traces.push({ x: rows.map((one) => one.at + 1), y: steps, mode: "lines", name: "best so far",
        line: { color: tone("ink"), shape: "hv", width: 1 }, hoverinfo: "skip" });
    }
    for (const [name, value, dash] of [
        ["bound", problem.bound, "dot"],
        [on.vendor, problem.vendor, "dash"]
      ])
      if (value) traces.push({ x: [1, last], y: [value / on.scale, value / on.scale], mode: "lines",
        name, line: { color: dash === "dot" ? tone("soft") : colour(1), dash } });
    const total = DATA.sweeps[problem.at] ? DATA.sweeps[problem.at].n : 1;
    return {
      traces,
      layout: { xaxis: axis(sorted ? "tries, slowest first" : "try"), yaxis: axis(on
        .unit, { rangemode: "tozero" }) },
      told: (all.length < total ?
          `${all.length} of ${total} tries, every improvement and final among them` :
          `All ${total} tries`) +
        `; ${rows.length} of them timed. Stars are final rounds.`,
      header: ["try", on.unit, "became", "config"],
      rows: all.map((one) => [one.at + 1, one.speed ? speed(problem, one.speed) : "–", FATES[one
          .fate], DATA.spaces[one.space].stencil + ": " + spelled(unpacked(one.space, one.text))])
    };
  }, true);
  const order = choice("Order", [
    ["made", "as they were made"],
    ["speed", "by speed"]
  ], "made", (value) => { sorted = value === "speed";
    box.redraw(); });
  box.children[0].after(element("div", { class: "controls" }, order));
  return box;
}

const ABOVE = "Above 100 is what was faster alone and slower in the final round.";

function heatMap(problem, ranked, params) {
  const own = ranked.rows.filter((one) => one.space === problem.space),
    names = DATA.spaces[problem.space].names;
  const moving = params.filter((each) => each.values > 1).map((each) => each.name);
  if (moving.length < 2) return null;
  let [first, second] = moving;
  const box = plot("Two parameters at once", () => {
    const [x, y] = [names.indexOf(first), names.indexOf(second)];
    const values = DATA.spaces[problem.space].values;
    const order = (at) => distinct(own.map((one) => one.text[at])).map((letter) => values[at][PLACES
        .get(letter)
      ])
      .sort((a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(
        b) ? -1 : 1);
    const [columns, rows] = [order(x), order(y)];
    const best = rows.map(() => columns.map(() => null));
    for (const one of own) {
      const row = rows.indexOf(values[y][PLACES.get(one.text[y])]),
        at = columns.indexOf(values[x][PLACES.get(one.text[x])]);
      best[row][at] = Math.max(best[row][at] || 0, 100 * one.speed / ranked.winner);
    }
    const cells = columns.length * rows.length;
    return {
      traces: [{
        type: "heatmap",
        x: columns.map(String),
        y: rows.map(String),
        z: best,
        zmin: Math.min(...best.flat().filter((v) => v !== null)),
        zmax: Math.max(...best.flat()),
        colorscale: "Cividis",
        hoverongaps: false,
        xgap: 1,
        ygap: 1,
        colorbar: { title: { text: "%" }, thickness: 12 },
        texttemplate: cells <= 80 ? "%{z:.0f}" : "",
        hovertemplate: `${first}=%{x}, ${second}=%{y}<br>%{z:.1f} %<extra></extra>`
      }],
      layout: { xaxis: axis(first, { type: "category" }), yaxis: axis(
      second, { type: "category" }) },
      told: `The best that was timed with each pair of ${first} and ${second}, in percent of the winner; ` +
        `pairs without a cell were not timed. ${ABOVE}`,
      header: [second + " \\ " + first, ...columns],
      rows: rows.map((value, at) => [value, ...best[at].map((v) => fixed(v, 1))])
    };
  });
  const pick = (label, chosen, set) => choice(label, moving.map((name) => [name, name]), chosen, (
    value) => { set(value);
      box.redraw(); });
  box.children[0].after(element("div", { class: "controls" },
    pick("Across", first, (value) => { first = value; }), pick("Up", second, (value) => { second =
        value; })));
  return box;
}

function funnelOf(problem) {
  const stencil = DATA.spaces[problem.space].stencil;
  const counted = DATA.funnels.find((each) => each.device === problem.device && each.stencil ===
    stencil && each.type === problem.type);
  const rows = [];
  if (counted)
    for (const [rule, kind, removed, left, why] of counted.steps) rows.push({ rule, kind, removed, left,
      why });
  let left = problem.tried;
  rows.push({ rule: "tried", kind: "records", removed: null, left, why: "of all stencils" });
  for (const fate of ["compile_failed", "spills", "rejected", "crashed", "timeout", "wrong"]) {
    const [number, message] = problem.failed[fate] || [0, -1];
    left -= number;
    if (number) rows.push({ rule: fate.replace("_", " "), kind: "records", removed: number, left,
      why: message < 0 ? "" : "for one: " + DATA.messages[message] });
  }
  rows.push({ rule: "right and timed", kind: "records", removed: null, left, why: "" });
  const most = Math.log10(Math.max(10, rows[0].left));
  return element("details", {}, element("summary", {},
      "Funnel: from all combinations to what was measured"),
    counted && counted.label !== problem.label ?
    element("p", { class: "soft" },
      `The rules were counted for ${counted.label} with the same kernel and type; other sizes differ.`
      ) : null,
    counted ? null : element("p", { class: "soft" },
      "The rules of this space could not be counted where the page was made."),
    table("Rules in the order in which they are asked; those that removed nothing are left out", [
      { name: "rule", text: true, cell: (row) => row.rule },
      { name: "kind", text: true, cell: (row) => row.kind },
      { name: "removed", cell: (row) => row.removed === null ? "–" : count(row.removed) },
      { name: "left", cell: (row) => count(row.left), bar: (row) => row.left > 0 ? 100 * Math.log10(
          row.left + 1) / most : 0 },
      { name: "why", text: true, config: true, cell: (row) => row.why },
    ], rows));
}

function detail(problem) {
  const ranked = ranking(problem),
    params = worth(problem, ranked),
    on = problem.on;
  const facts = [
    ["device", on.name],
    ["regime", problem.regime],
    ["products in a batch", count(problem.batch)],
    ["kernel", DATA.spaces[problem.space].stencil],
    ["config", spelled(unpacked(problem.space, problem.config))],
    ["measured", problem.when],
    ["driver", problem.driver],
    ["toolchain", problem.toolchain],
    ["clocks", problem.clocks]
  ];
  fill("problem-body", element("h3", {}, "What won, and why"), reasons(problem, ranked, params),
    element("dl", {}, facts.filter(([, value]) => value).map(([name, value]) => [element("dt", {},
      name), element("dd", {}, value)])),
    ranked.rows.length > 1 ? [sweepPlot(problem), heatMap(problem, ranked, params),
      element("details", {}, element("summary", {}, "What each parameter is worth"),
        table(
          "The fastest config that was timed with another value, in percent of the winner: low means that " +
          "the value mattered. " +
          ABOVE, [
            { name: "parameter", text: true, cell: (row) => row.name },
            { name: "winner", cell: (row) => String(row.value) },
            { name: "values timed", cell: (row) => String(row.values) },
            { name: "best other", cell: (row) => row.other === null ? "–" : String(row.other) },
            { name: "reached", cell: (row) => fixed(row.best, 1) + (row.best === null ? "" : " %") },
            { name: "lost", cell: (row) => row.best === null ? "–" : fixed(100 - row.best, 1) + " %",
              bar: (row) => row.best === null ? null : 100 - row.best },
          ], params))
    ] :
    element("p", { class: "soft" },
      "These records hold the winner alone: its sweep is where it was tuned."),
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
  for (const box of section.querySelectorAll("details"))
    if (box.redraw) box.redraw();
  section.scrollIntoView();
  title.focus({ preventScroll: true });
}

speeds();
rooflines();
listing();
window.addEventListener("hashchange", follow);
window.addEventListener("load", follow);
