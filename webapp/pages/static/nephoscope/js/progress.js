// A running survey: counters from the event stream; where it breaks or stays silent, by asking every
// two seconds instead.
import { count, duration, share } from "./format.js";

const box = document.querySelector("[data-survey]");
const announce = document.querySelector("[data-announce]");
// The first event comes at once, later ones about once a second while something changes.
const FIRST_EVENT_MS = 5000;
const NEXT_EVENT_MS = 20000;
const EVERY_MS = 2000;
const EVERY_HIDDEN_MS = 10000;
const words = {
  TIMEOUT: "no answer in time",
  SERVFAIL: "the server failed",
  REFUSED: "the server refused",
  NETWORK: "network unreachable",
  MALFORMED: "unreadable answer",
};
let announced = 0;

function put(key, text) {
  const spot = box.querySelector(`[data-count="${key}"]`);
  if (spot && spot.textContent !== text) spot.textContent = text;
}

function reasonItem([status, number]) {
  const item = document.createElement("li");
  const code = Object.assign(document.createElement("span"), {
    className: "mono",
    textContent: status,
  });
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
  tell(done);
}

function tell(done) {
  document.title = document.title.replace(/^[^·]*·/, `${share(done)} ·`);
  if (done - announced >= 0.1) {
    announced = done;
    announce.textContent = `${share(done)} of the domains are done`;
  }
}

function showWaits(reason) {
  const spot = box.querySelector("[data-waits]");
  if (!spot) return;
  spot.hidden = !reason;
  if (reason) put("waits", reason.charAt(0).toUpperCase() + reason.slice(1));
}

// Headings and buttons depend on the state, so that a new one takes a new page; a survey of one domain
// that ended well continues with the card of its domain.
function isOver(state) {
  if (!state || state === box.dataset.state) return false;
  if (box.dataset.card && ["finished", "partial"].includes(state))
    location.assign(box.dataset.card);
  else location.reload();
  return true;
}

async function poll() {
  try {
    const answer = await fetch(box.dataset.partial, {
      headers: { Accept: "text/html" },
      cache: "no-store",
    });
    if (isOver(answer.headers.get("X-Survey-State"))) return;
    if (answer.ok) {
      box.innerHTML = await answer.text();
      tell(Number(box.querySelector("[data-done]").getAttribute("value")));
    }
  } catch {
    // The connection is away for a moment; the next round asks again.
  }
  setTimeout(poll, document.hidden ? EVERY_HIDDEN_MS : EVERY_MS);
}

function listen() {
  const stream = new EventSource(box.dataset.events);
  let watch = setTimeout(giveUp, FIRST_EVENT_MS);
  function giveUp() {
    clearTimeout(watch);
    stream.close();
    poll();
  }
  stream.addEventListener("progress", (event) => {
    clearTimeout(watch);
    watch = setTimeout(giveUp, NEXT_EVENT_MS);
    const survey = JSON.parse(event.data);
    if (isOver(survey.status)) return stream.close();
    show(survey.counters);
    showWaits(survey.waits ?? "");
  });
  stream.onerror = giveUp;
}

if (box) listen();
