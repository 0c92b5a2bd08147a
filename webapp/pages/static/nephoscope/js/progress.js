// A running survey: counters from the event stream, or by asking every two seconds without it.
import { count, duration, share } from "./format.js";

const box = document.querySelector("[data-survey]");
const announce = document.querySelector("[data-announce]");
const FINAL = ["finished", "partial", "failed", "cancelled"];
const words = {
  TIMEOUT: "no answer in time", SERVFAIL: "the server failed", REFUSED: "the server refused",
  NETWORK: "network unreachable", MALFORMED: "unreadable answer",
};
let announced = 0;

function put(key, text) {
  const spot = box.querySelector(`[data-count="${key}"]`);
  if (spot && spot.textContent !== text) spot.textContent = text;
}

function reasonItem([status, number]) {
  const item = document.createElement("li");
  const code = Object.assign(document.createElement("span"), { className: "mono", textContent: status });
  const why = Object.assign(document.createElement("span"), { textContent: words[status] ?? "" });
  const sum = Object.assign(document.createElement("b"), { textContent: count(number) });
  item.append(code, " ", why, " ", sum);
  return item;
}

function show(counters) {
  const failed = counters.failed ?? {};
  for (const key of ["domains_done", "queries", "found", "resolved", "cloud", "rate_qps"]) {
    put(key, count(counters[key] ?? null));
  }
  put("failed_sum", count(Object.values(failed).reduce((a, b) => a + b, 0)));
  box.querySelector("[data-reasons]").replaceChildren(...Object.entries(failed).map(reasonItem));
  const done = counters.domains ? counters.domains_done / counters.domains : 0;
  box.querySelector("[data-done]").value = done;
  const eta = box.querySelector("[data-eta]");
  if (counters.eta_s) eta.textContent = `about ${duration(counters.eta_s)} left`;
  else if (done >= 1) eta.textContent = "writing the report";
  document.title = document.title.replace(/^[^·]*·/, `${share(done)} ·`);
  if (done - announced >= 0.1) {
    announced = done;
    announce.textContent = `${share(done)} of the domains are done`;
  }
}

function take(document_) {
  if (document_.counters) show(document_.counters);
  if (FINAL.includes(document_.status ?? document_.state)) location.reload();
}

async function poll() {
  try {
    const answer = await fetch(box.dataset.partial, { headers: { Accept: "text/html" } });
    if (FINAL.includes(answer.headers.get("X-Survey-State"))) return location.reload();
    if (answer.ok) box.innerHTML = await answer.text();
  } catch {
    // The connection is away for a moment; the next round asks again.
  }
  setTimeout(poll, 2000);
}

function listen() {
  const stream = new EventSource(box.dataset.events);
  let heard = false;
  stream.addEventListener("progress", (event) => {
    heard = true;
    take(JSON.parse(event.data));
  });
  stream.addEventListener("end", () => {
    stream.close();
    location.reload();
  });
  stream.onerror = () => {
    if (heard && stream.readyState === EventSource.CONNECTING) return;
    stream.close();
    poll();
  };
}

if (box) listen();
