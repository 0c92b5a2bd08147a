// A run that waits or runs: its progress is asked for every second, and its page is loaded again when
// its state changes.
const box = document.querySelector("[data-simulation]");
const EVERY_MS = 1000;

async function poll() {
  try {
    const reply = await fetch(box.dataset.address, { headers: { Accept: "application/json" } });
    const { status, progress } = await reply.json();
    if (status !== box.dataset.simulation) return location.reload();
    const percent = Math.round(100 * progress);
    box.querySelector("progress").value = percent;
    box.querySelector("[data-percent]").textContent = `${percent} %`;
  } catch {
    // The server may be starting again; the next question finds out.
  }
  setTimeout(poll, EVERY_MS);
}

if (box) setTimeout(poll, EVERY_MS);
