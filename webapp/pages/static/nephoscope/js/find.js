// A question to a public network: the page as it is now, every second until the network has answered.
const announce = document.querySelector("[data-announce]");
const WAITING = ["waiting", "asking"];

async function poll() {
  const box = document.querySelector("[data-find]");
  try {
    const answer = await fetch(location.href, {
      headers: { Accept: "text/html" },
      cache: "no-store",
    });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("[data-find]");
    if (fresh && fresh.innerHTML !== box.innerHTML) {
      box.replaceWith(document.adoptNode(fresh));
      announce.textContent = fresh.querySelector("h1").textContent.trim();
      document.title = page.title;
    }
    if (fresh && !WAITING.includes(fresh.dataset.find)) return;
  } catch {
    // The connection is away for a moment; the next turn asks again.
  }
  setTimeout(poll, document.hidden ? 5000 : 1000);
}

setTimeout(poll, 700);
