// One theme for every chart: direct labels, thin marks for published figures, hatching for unknown.
const hatch = (tones) => ({
  symbol: "rect",
  dashArrayX: [1, 0],
  dashArrayY: [2, 4],
  rotation: -Math.PI / 4,
  color: tones.paper,
});
const hue = (provider, tones) => tones[provider] ?? (provider ? tones.other : tones.accent);

const ruler = document.createElement("canvas").getContext("2d");

function widest(labels, tones) {
  ruler.font = `12.5px ${tones.sans}`;
  return Math.max(...labels.map((l) => ruler.measureText(l.text).width + (l.provider ? 24 : 4)));
}

function richTags(tones) {
  const made = {};
  for (const provider of Object.keys(tones.letters)) {
    made[provider] = {
      backgroundColor: hue(provider, tones),
      color: tones["on-hue"],
      width: 16,
      height: 16,
      borderRadius: 8,
      align: "center",
      verticalAlign: "middle",
      lineHeight: 16,
      fontSize: 9.5,
      fontWeight: 650,
      fontFamily: tones.sans,
    };
  }
  return {
    ...made,
    t: {
      color: tones.ink,
      fontSize: 12.5,
      fontFamily: tones.sans,
      verticalAlign: "middle",
      padding: [0, 0, 0, 6],
    },
  };
}

const tidy = (text) => text.replace(/[{}|]/g, "");
const shorten = (text, size) =>
  text.length > size ? `${text.slice(0, size - 9)}…${text.slice(-8)}` : text;

const withPlace = (label) =>
  label.place ? { ...label, text: `${label.text} (${label.place})` } : label;

function names(labels, tones, room, index) {
  const most = Math.max(12, Math.floor((room - (labels.some((l) => l.provider) ? 46 : 20)) / 6.4));
  const clipped = widest(labels, tones) + 14 > room;
  // Words of a figure break into lines; the codes of a provider are shortened.
  const breaks = clipped && !labels.some((l) => tones.letters[l.provider]);
  return {
    type: "category",
    inverse: true,
    gridIndex: index,
    data: labels.map((_, at) => String(at)),
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { show: false },
    axisLabel: {
      show: index === 0,
      interval: 0,
      margin: 10,
      rich: richTags(tones),
      ...(breaks && { width: room - 18, overflow: "break", lineHeight: 12.5, fontSize: 11.5 }),
      color: tones.ink,
      formatter: (at) => {
        const { text, provider } = labels[Number(at)];
        if (breaks) return tidy(text);
        const short = tidy(clipped ? shorten(text, most) : text);
        return tones.letters[provider]
          ? `{${provider}|${tones.letters[provider]}}{t|${short}}`
          : `{t|${short}}`;
      },
    },
  };
}

function scale(tones, extra) {
  return {
    type: "value",
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: tones.rule, width: 1 } },
    axisLabel: { color: tones["ink-3"], fontSize: 12 },
    ...extra,
  };
}

const tip = (title, ...lines) => {
  const box = document.createElement("div");
  const head = document.createElement("b");
  head.textContent = title;
  box.append(head);
  for (const line of lines.filter(Boolean)) {
    const row = document.createElement("span");
    row.textContent = line;
    box.append(row);
  }
  return box;
};

// Labels of an axis of shares; one of few things only says none and all.
const parts = (few) =>
  few
    ? (v) => ({ 0: "none", 1: "all" })[v] ?? ""
    : (v) => `${Math.round(v * 100)}${v ? "\u202f%" : ""}`;

// The end of the axis, one for all panels: all of it where shares are large, else the next round share.
function axisEnd(panels) {
  const largest = Math.max(
    ...panels.flatMap((panel) => [...panel.values, ...(panel.published ?? [])]),
  );
  return [0.05, 0.1, 0.2, 0.5].find((end) => largest * 1.04 <= end) ?? 1;
}

// A figure stands clear of a published mark that lies just beyond its bar.
function clear(panel, at, end, pixels) {
  const beyond = (((panel.published?.[at] ?? 0) - panel.values[at]) / end) * pixels;
  return beyond > -8 && beyond < 60 ? [Math.max(0, beyond), 0] : [0, 0];
}

/* Bars of shares, one or two panels beside each other */
function barSeries(panel, labels, index, end, tones, write, pixels, other) {
  return {
    type: "bar",
    xAxisIndex: index,
    yAxisIndex: index,
    barWidth: "58%",
    cursor: "default",
    emphasis: { disabled: true },
    data: panel.values.map((value, at) => ({
      value,
      label: { offset: clear(panel, at, end, pixels) },
      itemStyle: labels[at].unknown
        ? { color: tones.unknown, decal: hatch(tones) }
        : {
            color: hue(labels[at].provider ?? "other", tones),
            borderRadius: [0, 2, 2, 0],
            opacity: panel.few[at] ? 0.4 : 1,
          },
    })),
    label: {
      show: true,
      position: "right",
      distance: 7,
      color: tones.ink,
      // The paler bar of few things has a figure as dark as the others.
      opacity: 1,
      fontSize: 12.5,
      fontWeight: 500,
      formatter: ({ dataIndex: at }) => panel.texts[at],
    },
    tooltip: {
      formatter: ({ dataIndex: at }) =>
        tip(
          labels[at].text,
          `${panel.texts[at]} ${panel.title}`,
          panel.published?.[at] != null && `${write.share(panel.published[at])} ${other}`,
        ),
    },
  };
}

function markSeries(panel, index, tones) {
  const marks = (panel.published ?? [])
    .map((value, at) => (value == null ? null : [value, at]))
    .filter(Boolean);
  return {
    type: "scatter",
    xAxisIndex: index,
    yAxisIndex: index,
    data: marks,
    symbol: "rect",
    symbolSize: [2.5, 24],
    itemStyle: { color: tones.ink },
    silent: true,
    z: 5,
    tooltip: { show: false },
  };
}

export function barOption(spec, tones, width, write) {
  const panels = width < 720 ? spec.panels.slice(0, 1) : spec.panels;
  const labels = width < 620 ? spec.labels : spec.labels.map(withPlace);
  const room = Math.min(widest(labels, tones) + 14, width * (width < 480 ? 0.52 : 0.42));
  const rest = panels.some((p) => p.few.some((is) => is)) ? 96 : 76,
    end = axisEnd(panels);
  const each = (width - room) / panels.length;
  const top = 40,
    part = parts(panels.every((p) => p.few.every((is) => is)));
  return {
    grid: panels.map((_, i) => ({ left: room + i * each, width: each - rest, top, bottom: 30 })),
    title: panels.map((panel, i) => ({
      text: panel.title,
      left: room + i * each - 4,
      top: 4,
      textStyle: { fontSize: 12, fontWeight: 500, color: tones["ink-3"], fontFamily: tones.sans },
    })),
    xAxis: panels.map((_, i) =>
      scale(tones, {
        gridIndex: i,
        min: 0,
        max: end,
        interval: end / (width < 480 ? 2 : end === 1 ? 4 : 5),
        axisLabel: { color: tones["ink-3"], fontSize: 12, formatter: part },
      }),
    ),
    yAxis: panels.map((_, i) => names(labels, tones, room, i)),
    series: panels.flatMap((p, i) => [
      barSeries(p, labels, i, end, tones, write, each - rest, spec.then),
      markSeries(p, i, tones),
    ]),
    tooltip: {
      trigger: "item",
      className: "chart-tip",
      backgroundColor: tones.surface,
      borderColor: tones["rule-strong"],
      borderWidth: 1,
      padding: [6, 10],
      textStyle: { color: tones.ink },
      confine: true,
      transitionDuration: 0,
    },
  };
}

/* Cumulative curves */
function stepData(points, last) {
  const end = points.at(-1);
  return end && end[0] < last ? [...points, [last, end[1]]] : points;
}

function firstLabel(one, tones) {
  const name = one.name ? `${one.name} ` : "";
  return {
    show: true,
    position: [10, 14],
    color: hue(one.provider, tones),
    backgroundColor: tones.paper,
    padding: [1, 4],
    fontSize: 13,
    fontWeight: 600,
    align: "left",
    formatter: `${name}${one.texts[0]} at ${one.points[0][0]}`,
  };
}

function nameSeries(one, tones) {
  const data = [{ value: one.points[0], label: firstLabel(one, tones) }];
  return {
    type: "scatter",
    data,
    symbolSize: 9,
    itemStyle: { color: hue(one.provider, tones) },
    silent: true,
    z: 9,
    tooltip: { show: false },
  };
}

function curve(one, last, tones) {
  const data = stepData(one.points, last);
  return {
    type: "line",
    step: "end",
    name: one.name,
    data,
    symbol: "circle",
    symbolSize: 5,
    showAllSymbol: true,
    lineStyle: { width: 2.4, color: hue(one.provider, tones), opacity: one.few ? 0.5 : 1 },
    itemStyle: { color: hue(one.provider, tones) },
    emphasis: { disabled: true },
    label: { show: false },
    z: 4,
    tooltip: {
      formatter: ({ value, dataIndex: at }) =>
        tip(
          one.name || "All",
          `${one.texts[Math.min(at, one.texts.length - 1)]} at ${value[0]} or fewer`,
        ),
    },
  };
}

function thinCurve(one, last, tones) {
  return {
    type: "line",
    step: "end",
    data: stepData(one.published, last),
    symbol: "none",
    silent: true,
    z: 3,
    lineStyle: { width: 1.2, type: [4, 3], color: tones.ink },
    tooltip: { show: false },
    emphasis: { disabled: true },
  };
}

export function stepOption(spec, tones) {
  const all = spec.series;
  const every = all.flatMap((s) => [...s.points, ...s.published]);
  const lowest = Math.min(...every.map((p) => p[1]));
  const few = all.every((s) => s.few);
  const [start, interval] = few
    ? [0, 1]
    : ([
        [0.9, 0.02],
        [0.8, 0.05],
        [0.5, 0.1],
        [0, 0.2],
      ].find(([from]) => lowest >= from + 0.01) ?? [0, 0.2]);
  const part = parts(few);
  const [first, last] = [
    Math.min(...every.map((p) => p[0])),
    Math.max(...every.map((p) => p[0])) + 0.5,
  ];
  return {
    grid: { left: 52, right: 18, top: 34, bottom: 58 },
    title: {
      text: spec.y_label + (start ? `; axis starts at ${part(start)}` : ""),
      left: 0,
      top: 4,
      textStyle: { fontSize: 12, fontWeight: 500, color: tones["ink-3"], fontFamily: tones.sans },
    },
    xAxis: scale(tones, {
      min: first,
      max: last,
      minInterval: 1,
      splitNumber: 6,
      splitLine: { show: false },
      name: spec.x_label,
      nameLocation: "middle",
      nameGap: 32,
      nameTextStyle: { color: tones["ink-3"], fontSize: 12 },
      axisLabel: { color: tones["ink-3"], fontSize: 12, showMaxLabel: false },
      axisLine: { show: true, lineStyle: { color: tones["rule-strong"] } },
    }),
    yAxis: scale(tones, {
      min: start,
      max: 1,
      interval,
      axisLabel: { color: tones["ink-3"], fontSize: 12, formatter: part },
    }),
    series: [
      ...all.filter((s) => s.published.length).map((s) => thinCurve(s, last, tones)),
      ...all.filter((s) => s.points.length).map((s) => curve(s, last, tones)),
      ...all.filter((s) => s.points.length).map((s) => nameSeries(s, tones)),
    ],
  };
}

/* Counts that add up */
export function stackOption(spec, tones, width, write) {
  const room = Math.min(widest(spec.labels, tones) + 14, width * 0.42);
  const levels = [tones["seq-3"], tones.accent, tones["seq-6"]];
  const tone = (s) =>
    "level" in s ? levels[s.level] : s.provider ? hue(s.provider, tones) : tones["rule-strong"];
  const sums = spec.labels.map((_, at) => spec.series.reduce((sum, s) => sum + s.values[at], 0));
  return {
    grid: { left: room, right: 60, top: 44, bottom: 30 },
    legend: {
      left: room - 5,
      top: 2,
      itemWidth: 12,
      itemHeight: 12,
      icon: "roundRect",
      selectedMode: false,
      textStyle: { color: tones["ink-2"], fontSize: 12.5 },
    },
    xAxis: scale(tones, {
      minInterval: 1,
      splitNumber: 5,
      axisLabel: { color: tones["ink-3"], fontSize: 12, formatter: (v) => write.count(v) },
    }),
    yAxis: names(spec.labels, tones, room, 0),
    series: spec.series.map((one, index) => ({
      type: "bar",
      stack: "all",
      name: one.name,
      data: one.values,
      barWidth: "58%",
      itemStyle: one.unknown ? { color: tones.unknown, decal: hatch(tones) } : { color: tone(one) },
      emphasis: { disabled: true },
      cursor: "default",
      label:
        index < spec.series.length - 1
          ? { show: false }
          : {
              show: true,
              position: "right",
              color: tones.ink,
              fontSize: 12.5,
              fontWeight: 500,
              formatter: ({ dataIndex: at }) => write.count(sums[at]),
            },
      tooltip: {
        formatter: ({ dataIndex: at, value }) =>
          tip(
            spec.labels[at].text,
            `${write.count(value)} ${one.name}`,
            `${write.count(sums[at])} in all`,
          ),
      },
    })),
  };
}

/* The same chart with what it is compared with in full, and its own figures as thin marks */
export function swapTimes(spec, write) {
  const textOf = (value) => (value == null ? "no data" : write.share(value));
  const isCompared = (list) => list?.some((value) => value != null);
  return {
    ...spec,
    then: "now",
    panels: spec.panels?.map((panel) =>
      isCompared(panel.published)
        ? {
            ...panel,
            values: panel.published.map((value) => value ?? 0),
            published: panel.values,
            texts: panel.published.map(textOf),
            few: panel.published.map(() => false),
          }
        : panel,
    ),
    series: spec.series?.map((one) =>
      isCompared(one.published)
        ? {
            ...one,
            points: one.published,
            published: one.points,
            texts: one.published.map((point) => textOf(point[1])),
            few: false,
          }
        : one,
    ),
  };
}
