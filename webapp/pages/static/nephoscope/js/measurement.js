// A running measurement: its figures every two seconds; the page anew once it has ended.
const box = document.querySelector("[data-measurement]");
const announce = document.querySelector("[data-announce]");
const FINAL = ["finished", "partial", "stopped", "failed"];
let announced = 0;

function tell() {
  const bar = box.querySelector("progress");
  if (bar && bar.value - announced >= 0.1) {
    announced = bar.value;
    announce.textContent = `${Math.round(bar.value * 100)} % of the slots are over`;
  }
}

async function poll() {
  try {
    const answer = await fetch(box.dataset.partial, { headers: { Accept: "text/html" } });
    if (FINAL.includes(answer.headers.get("X-Measurement-State"))) return location.reload();
    if (answer.ok) box.innerHTML = await answer.text();
    tell();
  } catch {
    // The connection is away for a moment; the next round asks again.
  }
  setTimeout(poll, document.hidden ? 10000 : 2000);
}

if (box) setTimeout(poll, 2000);
