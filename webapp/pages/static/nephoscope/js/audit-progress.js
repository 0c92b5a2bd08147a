// An audit that waits or runs: its page is taken anew when its state changes, by the event stream or,
// where that is cut off, every two seconds.
const box = document.querySelector("[data-audit]");
const EVERY_MS = 2000;

function listen() {
  const stream = new EventSource(box.dataset.auditEvents);
  stream.addEventListener("progress", (event) => {
    const { status } = JSON.parse(event.data);
    if (status === box.dataset.audit) return;
    stream.close();
    location.reload();
  });
  stream.onerror = () => {
    stream.close();
    setTimeout(() => location.reload(), EVERY_MS);
  };
}

if (box) listen();
