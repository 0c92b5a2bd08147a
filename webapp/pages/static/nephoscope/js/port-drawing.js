// The queue of a port, packet by packet: it plays while it is seen, stops on demand, and can be
// stepped from event to event. With reduced motion it only steps.
const figure = document.querySelector("[data-port-drawing]");
const SVG = "http://www.w3.org/2000/svg";
const SHORT = -1;
const [PORT_X, WIRE, BOX, STEP] = [300, 46, 14, 17];
// Simulated microseconds in a second of the reader.
const SPEED = 50;

function draw(lane, packets, now) {
  const boxes = [];
  let waiting = 0;
  let oldest = 0;
  for (const [flow, arrived, sent, left] of packets) {
    if (arrived > now || left <= now) continue;
    const box = document.createElementNS(SVG, "rect");
    const onWire = sent <= now;
    if (!onWire) waiting += 1;
    const x = onWire ? PORT_X + (WIRE * (now - sent)) / (left - sent) : PORT_X - STEP * waiting;
    const attributes = { x: x.toFixed(1), y: 8, width: BOX, height: BOX };
    for (const [name, value] of Object.entries(attributes)) box.setAttribute(name, value);
    box.setAttribute("class", `packet packet--${flow === SHORT ? "short" : `bulk-${flow}`}`);
    boxes.push(box);
    if (flow === SHORT) oldest = Math.max(oldest, now - arrived);
  }
  lane.svg.querySelector("g").replaceChildren(...boxes);
  const short = oldest > 0 ? `, a short one since ${Math.round(oldest)} µs` : "";
  lane.note.textContent = `${waiting} packets wait${short}`;
}

function start() {
  const data = JSON.parse(document.getElementById("port-data").textContent);
  const lanes = data.map(({ packets }, i) => {
    const svg = figure.querySelector(`[data-lane="${i}"]`);
    return { packets, svg, note: svg.parentElement.querySelector("[data-lane-note]") };
  });
  const find = (name) => figure.querySelector(`[data-${name}]`);
  const [controls, play, step, slider, clock] = ["controls", "play", "step", "time", "clock"].map(
    find,
  );
  const events = [...new Set(data.flatMap(({ packets }) => packets.flatMap((p) => p.slice(1))))];
  events.sort((a, b) => a - b);
  const end = Number(slider.max);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let now = Number(slider.value);
  let before = 0;
  let runs = false;
  // Who stops it does not want it to start again when the page scrolls.
  let stopped = false;

  function show(time) {
    now = time;
    slider.value = now;
    clock.textContent = `${Math.round(now)} µs`;
    for (const lane of lanes) draw(lane, lane.packets, now);
  }

  function advance(at) {
    if (!runs) return;
    // A tab that was in the background goes on where it was.
    const passed = Math.min(at - before, 100) / 1000;
    before = at;
    show((now + SPEED * passed) % end);
    requestAnimationFrame(advance);
  }

  function run(on) {
    if (on && runs) return;
    runs = on && !calm.matches;
    play.textContent = runs ? "Pause" : "Play";
    if (!runs) return;
    before = performance.now();
    requestAnimationFrame(advance);
  }

  play.hidden = calm.matches;
  calm.addEventListener("change", () => {
    play.hidden = calm.matches;
    run(false);
  });
  play.addEventListener("click", () => {
    stopped = runs;
    run(!runs);
  });
  step.addEventListener("click", () => {
    stopped = true;
    run(false);
    show(events.find((time) => time > now + 1e-9) ?? 0);
  });
  slider.addEventListener("input", () => {
    stopped = true;
    run(false);
    show(Number(slider.value));
  });
  controls.dataset.ready = "";
  new IntersectionObserver(([entry]) => run(entry.isIntersecting && !stopped), {
    threshold: 0.6,
  }).observe(figure);
}

if (figure) start();
