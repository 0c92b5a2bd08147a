// The number formats of the pages, once more for what scripts write.
const THIN = "\u202f";
const whole = new Intl.NumberFormat("en-GB");

export const count = (value) => (value === null || value === undefined ? "–" : whole.format(value));

export function share(value) {
  if (value === null || value === undefined) return "–";
  const percent = value * 100;
  if (percent === 0) return `0${THIN}%`;
  if (percent < 0.01) return `<0.01${THIN}%`;
  if (percent >= 99.95 && percent < 100) return `>99.9${THIN}%`;
  return `${percent.toFixed(percent < 0.995 ? 2 : 1)}${THIN}%`;
}

export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return s >= 1 ? `${s}${THIN}s` : `under 1${THIN}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m}${THIN}min` + (s % 60 && m < 10 ? ` ${s % 60}${THIN}s` : "");
  return `${Math.floor(m / 60)}${THIN}h ${m % 60}${THIN}min`;
}
