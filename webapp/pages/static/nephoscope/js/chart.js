// Draws the charts that the page describes, with the library loaded after the headline.
import { count, share } from "./format.js";
import { barOption, stackOption, stepOption, swapTimes } from "./chart-options.js";

const boxes = new Map(
  [...document.querySelectorAll("[data-chart]")].map((b) => [b.dataset.chart, b]),
);
const charts = JSON.parse(document.getElementById("charts").textContent);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const drawn = new Map();
// Charts that draw what they are compared with in full.
const swapped = new Set();
const shown = (spec) => (swapped.has(spec.id) ? swapTimes(spec, { share }) : spec);

// Tokens as the browser resolves them in the theme of this moment.
function readTones() {
  const probe = document.createElement("i");
  probe.hidden = true;
  document.body.append(probe);
  const tone = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const names = [
    "paper",
    "surface",
    "sunken",
    "ink",
    "ink-2",
    "ink-3",
    "rule",
    "rule-strong",
    "accent",
    "unknown",
    "other",
    "on-hue",
    "seq-3",
    "seq-4",
    "seq-6",
    "signal",
  ];
  const css = getComputedStyle(document.documentElement);
  // `"aws=A azure=M …"`, from the stylesheet of providers
  const letters = Object.fromEntries(
    [...css.getPropertyValue("--provider-letters").matchAll(/([a-z]+)=(\S)/g)].map(
      ([, id, letter]) => [id, letter],
    ),
  );
  const tones = Object.fromEntries([...names, ...Object.keys(letters)].map((n) => [n, tone(n)]));
  probe.remove();
  return {
    ...tones,
    letters,
    sans: css.getPropertyValue("--sans"),
    mono: css.getPropertyValue("--mono"),
  };
}

const MAKERS = { bars: barOption, steps: stepOption, stack: stackOption };

function draw(spec, box, tones) {
  drawn.get(spec.id)?.dispose();
  // A folded chart has no width; it is drawn when its section is unfolded.
  if (!box.clientWidth) return;
  const chart = window.echarts.init(box, null, { renderer: "svg" });
  const width = box.clientWidth;
  chart.setOption({
    animation: !calm.matches,
    animationDuration: 160,
    textStyle: { fontFamily: tones.sans, fontSize: 12, color: tones["ink-2"] },
    tooltip: {
      className: "chart-tip",
      backgroundColor: tones.surface,
      borderColor: tones["rule-strong"],
      borderWidth: 1,
      padding: [6, 10],
      textStyle: { color: tones.ink, fontSize: 13 },
      confine: true,
      transitionDuration: 0,
    },
    ...optionOf(spec, tones, width),
  });
  drawn.set(spec.id, chart);
}

const optionOf = (spec, tones, width) =>
  MAKERS[spec.kind](shown(spec), tones, width, { count, share });

// Then and now change places in the drawn chart, so that its bars move from one to the other.
function offerTimes() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-lens]");
    const box = button?.closest(".figure").querySelector("[data-chart]");
    const spec = charts.find((c) => c.id === box?.dataset.chart);
    if (!spec) return;
    const isThen = button.dataset.lens === "then";
    if (isThen) swapped.add(spec.id);
    else swapped.delete(spec.id);
    for (const each of button.parentElement.children)
      each.setAttribute("aria-pressed", String(each === button));
    drawn.get(spec.id)?.setOption(optionOf(spec, readTones(), box.clientWidth));
  });
}

function drawAll() {
  const tones = readTones();
  for (const spec of charts) {
    const box = boxes.get(spec.id);
    if (box) draw(spec, box, tones);
  }
}

function load(url) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
}

function sayMissing() {
  for (const box of boxes.values()) {
    const note = box.querySelector(".chart__wait");
    note.textContent = "The chart could not be loaded; the table holds every figure.";
    box.classList.add("chart--missing");
    box.closest(".figure").querySelector(".figure__save")?.remove();
  }
}

function offerImages() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-image]");
    if (!button) return;
    const { save } = await import("./chart-image.js");
    await save(button.closest(".figure"), button.dataset.image);
  });
}

async function start() {
  try {
    await load(document.querySelector("script[data-library]").dataset.library);
    await document.fonts?.ready;
  } catch {
    return sayMissing();
  }
  drawAll();
  offerImages();
  offerTimes();
  document.addEventListener("themechange", drawAll);
  const widths = new Map();
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (widths.has(target) && widths.get(target) !== target.clientWidth) {
        const spec = charts.find((c) => c.id === target.dataset.chart);
        draw(spec, target, readTones());
      }
      widths.set(target, target.clientWidth);
    }
  });
  for (const box of boxes.values()) watch.observe(box);
}

if (charts.length) start();
