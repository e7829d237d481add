// The data of a report, unpacked: problems, their tries, and which of these may be set against each other.

function column(packed) {
  return Array.isArray(packed) ? packed : packed.at.map((at) => packed.of[at]);
}

const PLACES = new Map([...DATA.alphabet].map((letter, at) => [letter, at]));
const FATES = {
  o: "ok",
  F: "final round",
  r: "rejected",
  c: "compile_failed",
  s: "spills",
  w: "wrong",
  x: "crashed",
  t: "timeout"
};

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
  return Object.fromEntries(space.names.map((name, at) => [name, space.values[at][PLACES.get(text[
    at])]]));
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
      found.push({
        at: sweep.at ? sweep.at[at] : at,
        space,
        text: sweep.configs.slice(place, place + width),
        speed: sweep.speeds[at],
        fate: sweep.what[at]
      });
    }
  }
  return found;
}

// The newest speed of each config that was timed, in the final round or alone, fastest first. The two are
// never set against each other: they are different protocols.
function timed(problem, final) {
  const newest = new Map();
  for (const one of tries(problem))
    if (!one.speed || one.fate === (final ? "F" : "o")) newest.set(one.space + " " + one.text, one);
  return [...newest.values()].filter((one) => one.speed > 0).sort((a, b) => b.speed - a.speed);
}

function isWinner(problem, one) {
  return one.space === problem.space && one.text === problem.config;
}

// The configs of a problem that were timed in one protocol, and the winner's speed in it.
function ranking(problem) {
  const [alone, finals] = [timed(problem, false), timed(problem, true)];
  const found = alone.find((one) => isWinner(problem, one));
  return found ? { rows: alone, winner: found.speed, finals } : { rows: finals, winner: problem.gflops,
    finals };
}

function speed(problem, gflops) {
  return fixed(gflops === null || gflops === undefined ? null : gflops / problem.on.scale, problem.on
    .decimals);
}

function distinct(values) {
  return [...new Set(values)];
}

const SEVERAL = DATA.devices.length > 1;
const DEVICES = DATA.devices.map((device, at) => [String(at), device.name]);
