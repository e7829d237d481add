// All problems at once: speeds against sizes, and rooflines.

const MEASURES = {
  speed: { title: (on) => on.unit, of: (problem, gflops) => gflops / problem.on.scale },
  percent: { title: () => "% of the bound", of: (problem, gflops) => problem.bound ? 100 * gflops /
      problem.bound : null },
  vendor: { title: (on) => "times " + on.vendor, of: (problem, gflops) => problem.vendor ? gflops /
      problem.vendor : null },
};

// A line is not drawn over sizes that nobody measured.
function gaps(points) {
  return points.flatMap((problem, at) => at && problem.size > 2.5 * points[at - 1].size ? [null,
    problem] : [problem]);
}

const POWERS = Array.from({ length: 18 }, (_, at) => 2 ** at);

function speeds() {
  const most = DATA.devices.reduce((best, device, at) => device.problems > DATA.devices[best].problems ?
    at : best, 0);
  const state = { device: String(most), type: null, regime: null, kind: null, measure: "speed" };
  const box = plot("Speed against size", build, true);

  function settle() {
    const on = PROBLEMS.filter((problem) => String(problem.device) === state.device);
    const pick = (name, rows) => {
      const there = distinct(rows.map((problem) => problem[name === "kind" ? "class" : name]));
      if (!there.includes(state[name]) && !(name === "kind" && state.kind === "*")) state[name] =
        there[0];
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
    const set = (name) => (value) => { state[name] = value;
      controls();
      box.redraw(); };
    fill("speeds-controls",
      SEVERAL ? choice("Device", DEVICES, state.device, set("device")) : [],
      choice("Type", there.types.map((name) => [name, name]), state.type, set("type")),
      choice("Regime", there.regimes.map((name) => [name, name]), state.regime, set("regime")),
      choice("Class", [...there.classes.map((name) => [name, name]), ["*", "all of them"]], state
        .kind, set("kind")),
      choice("Shown", [
          ["speed", "speed"],
          ["percent", "% of the bound"],
          ["vendor", "times the vendor"]
        ], state.measure,
        set("measure")));
  }

  function build() {
    const { rows, classes } = settle();
    const on = DATA.devices[Number(state.device)],
      measure = MEASURES[state.measure];
    const wanted = state.kind === "*" ? classes : [state.kind];
    const traces = [],
      listed = [];
    const peers = new Set();
    wanted.forEach((name, number) => {
      const own = rows.filter((problem) => problem.class === name).sort((a, b) => a.size - b.size ||
        a.at - b.at);
      const add = (points, title, value, style) => {
        const shown = gaps(points.filter((problem) => value(problem)));
        if (!shown.length) return;
        traces.push({
          x: shown.map((p) => p && p.size),
          y: shown.map((p) => p && measure.of(p, value(p))),
          name: title,
          mode: style.mode || "lines",
          line: { color: style.colour, dash: style.dash, width: style.width || 2 },
          marker: { color: style.colour, symbol: SYMBOLS[number % 8], size: style.dash ? 4 : 7 },
          text: shown.map((p) => p && p.label),
          customdata: shown.map((p) => p && p.at),
          hovertemplate: "%{text}<br>%{y:.4~g} " + measure.title(on) +
            "<extra>%{fullData.name}</extra>"
        });
      };
      const squares = own.filter((problem) => problem.square),
        others = own.filter((problem) => !problem.square);
      const tag = wanted.length > 1 ? name : "Tilewright";
      const ours = { mode: "lines+markers", colour: colour(number), width: 3 };
      add(squares, tag, (problem) => problem.gflops, ours);
      add(others, tag + ", other shapes", (problem) => problem.gflops, { mode: "markers",
        colour: colour(number) });
      if (wanted.length === 1) {
        const shapes = squares.length ? squares : own;
        const mode = squares.length ? "lines+markers" : "markers";
        add(shapes, "bound", (problem) => problem.bound, { mode, colour: tone("soft"), dash: DASHES.bound });
        add(shapes, on.vendor, (problem) => problem.vendor, { mode, colour: colour(1), dash: DASHES.vendor });
        for (const problem of own) Object.keys(problem.peers).forEach((peer) => peers.add(peer));
        [...peers].forEach((peer, at) =>
          add(shapes, peer, (problem) => problem.peers[peer], { mode, colour: colour(at + 2),
            dash: DASHES.peer }));
      }
      for (const problem of own)
        listed.push([problem.label, speed(problem, problem.gflops), speed(problem, problem.vendor),
          speed(problem, problem.bound),
          ...[...peers].map((peer) => speed(problem, problem.peers[peer]))
        ]);
    });
    const known = rows.filter((problem) => wanted.includes(problem.class) && problem.ratio);
    const ahead = known.filter((problem) => problem.ratio >= 1).length;
    const heights = traces.flatMap((trace) => trace.y).filter((y) => y > 0);
    const wide = state.measure !== "percent" && Math.max(...heights) > 40 * Math.min(...heights);
    return {
      traces,
      layout: {
        xaxis: axis("n, or the cube root of m n k", { type: "log", tickvals: POWERS,
          minor: { showgrid: false } }),
        yaxis: axis(measure.title(on), wide ? { type: "log" } : { rangemode: "tozero" })
      },
      told: `Type ${state.type}, regime ${state.regime}, ` +
        `${state.kind === "*" ? "all classes" : state.kind}: ${listed.length} problems` + (known.length ?
          `; faster than ${on.vendor} at ${ahead} of the ${known.length} where it was timed.` : "."),
      header: ["problem", on.unit, on.vendor, "bound", ...peers],
      rows: listed,
      clicked: open
    };
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
    const slopes = Object.keys(on.ceilings).filter((name) =>
      /^bandwidth\.(copy|update|stream)\.1$/.test(name));
    const low = Math.min(...own.map((problem) => problem.intensity)) / 2;
    const high = Math.max(...own.map((problem) => problem.intensity)) * 2;
    const traces = [];
    letters.forEach((letter, at) => {
      const points = own.filter((problem) => problem.type === letter);
      traces.push({
        x: points.map((p) => p.intensity),
        y: points.map((p) => p.gflops / on.scale),
        mode: "markers",
        name: letter,
        text: points.map((p) => p.label + ", " + p.regime),
        customdata: points.map((p) => p.at),
        marker: { color: colour(at), symbol: SYMBOLS[at % 8], size: 7, opacity: 0.8 },
        hovertemplate: "%{text}<br>%{y:.4~g} " + on.unit +
          " at %{x:.3~g} flop/byte<extra></extra>"
      });
      const peak = ceiling("tensor." + letter) || ceiling("peak." + letter);
      if (peak)
        traces.push({
          x: [low, high],
          y: [peak / 1e9 / on.scale, peak / 1e9 / on.scale],
          mode: "lines",
          name: "peak of " + letter,
          showlegend: false,
          line: { color: colour(at), width: 1 },
          hovertemplate: "peak of " + letter + ": %{y:.4~g} " + on.unit +
            "<extra></extra>"
        });
    });
    slopes.forEach((name, at) => {
      const rate = on.ceilings[name] / 1e9 / on.scale;
      traces.push({
        x: [low, high],
        y: [low * rate, high * rate],
        mode: "lines",
        name: name.split(".")[1],
        line: { color: tone("soft"), dash: at ? "dashdot" : "dot" },
        hovertemplate: (on.ceilings[name] / 1e9).toFixed(0) + " GB/s<extra></extra>"
      });
    });
    const top = Math.max(...traces.filter((t) => t.mode === "markers" || t.name.startsWith(
      "peak")).flatMap((t) => t.y));
    const bottom = Math.min(...own.map((problem) => problem.gflops / on.scale));
    return {
      traces,
      layout: {
        xaxis: axis("flop/byte, each operand counted once", { type: "log" }),
        yaxis: axis(on.unit, { type: "log", range: [Math.log10(bottom / 2), Math.log10(top *
            1.5)] })
      },
      told: slopes.length ?
        `${own.length} problems under the rates of memory (slopes) and the peaks of the arithmetic units.` :
        `${own.length} problems. The rate of this device's memory is not known here: there is no slope.`,
      header: ["problem", "regime", "flop/byte", on.unit],
      clicked: open,
      rows: own.map((p) => [p.label, p.regime, p.intensity, speed(p, p.gflops)])
    };
  }, DATA.devices.length === 1)));
}
