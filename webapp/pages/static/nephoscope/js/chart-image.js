// A chart as a picture that says what it shows: its headline above, id, n, date and address below.
const NS = "http://www.w3.org/2000/svg";
const MARGIN = 24;
const HEAD_PX = 22;
const FOOT_PX = 11.5;
const SHARPNESS = 2;
const ruler = document.createElement("canvas").getContext("2d");

// Breaks at spaces, and where a part of an address ends.
function wrap(text, font, room) {
  ruler.font = font;
  const lines = [""];
  for (const part of text.match(/[^ /]+[ /]*|[ /]+/g)) {
    const longer = lines.at(-1) + part;
    if (ruler.measureText(longer.trimEnd()).width <= room || !lines.at(-1))
      lines[lines.length - 1] = longer;
    else lines.push(part);
  }
  return lines.map((line) => line.trimEnd());
}

// The page's own fonts go along, so that the picture looks the same everywhere.
async function readFonts() {
  const links = [...document.querySelectorAll("link[rel=preload][as=font]")];
  const rules = links.map(async ({ href }) => {
    const blob = await (await fetch(href)).blob();
    const data = await new Promise((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.readAsDataURL(blob);
    });
    const family = href.includes("newsreader") ? "Newsreader Variable" : "Inter Variable";
    return `@font-face { font-family: "${family}"; font-weight: 100 900; src: url("${data}") format("woff2"); }`;
  });
  return (await Promise.all(rules)).join("\n");
}

function element(name, attributes, text = "") {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function write(lines, top, size, family, colour) {
  return lines.map((line, at) =>
    element(
      "text",
      {
        x: MARGIN,
        y: top + (at + 1) * size * 1.3,
        "font-family": family,
        "font-size": size,
        fill: colour,
      },
      line,
    ),
  );
}

function compose(figure, fonts) {
  const style = getComputedStyle(document.body);
  const heading = getComputedStyle(document.querySelector("h1"));
  const chart = figure.querySelector("[data-chart] svg");
  const { width, height } = chart.getBoundingClientRect();
  const head = wrap(figure.dataset.headline, `${HEAD_PX}px ${heading.fontFamily}`, width);
  const address = new URL(`?snapshot=${figure.dataset.snapshot}`, location.href).href.split("#")[0];
  const foot = [figure.dataset.stamp, address].flatMap((t) =>
    wrap(t, `${FOOT_PX}px ${style.fontFamily}`, width),
  );
  const top = MARGIN / 2 + head.length * HEAD_PX * 1.3 + 14;
  const size = {
    width: width + 2 * MARGIN,
    height: top + height + 14 + foot.length * FOOT_PX * 1.3 + MARGIN,
  };
  const picture = element("svg", {
    xmlns: NS,
    ...size,
    viewBox: `0 0 ${size.width} ${size.height}`,
  });
  const inner = chart.cloneNode(true);
  inner.setAttribute("x", MARGIN);
  inner.setAttribute("y", top);
  inner.removeAttribute("style");
  picture.append(
    element("title", {}, figure.dataset.headline),
    element("style", {}, fonts),
    element("rect", { width: "100%", height: "100%", fill: style.backgroundColor }),
    ...write(head, MARGIN / 2, HEAD_PX, heading.fontFamily, style.color),
    inner,
    ...write(foot, top + height + 8, FOOT_PX, style.fontFamily, style.color),
  );
  return { text: new XMLSerializer().serializeToString(picture), ...size };
}

async function paint({ text, width, height }) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), {
    width: width * SHARPNESS,
    height: height * SHARPNESS,
  });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

export async function save(figure, kind) {
  // Whoever meets the picture later finds these figures: asking for the snapshot keeps it.
  fetch(`?snapshot=${figure.dataset.snapshot}`, { method: "HEAD" }).catch(() => {});
  const picture = compose(figure, await readFonts());
  const blob =
    kind === "png" ? await paint(picture) : new Blob([picture.text], { type: "image/svg+xml" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${figure.dataset.stamp.split(" · ").slice(0, 2).join("-")}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
