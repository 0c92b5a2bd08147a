// The list may be dropped on the field; the button says that it works.
const form = document.querySelector("[data-survey-form]");
const text = form.querySelector("textarea");
const file = form.querySelector("input[type=file]");
const field = text.closest(".field");
const button = form.querySelector("[type=submit]");
const action = button.textContent;

for (const kind of ["dragover", "dragleave", "drop"]) {
  text.addEventListener(kind, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    field.classList.toggle("is-over", kind === "dragover");
    if (kind === "drop") file.files = event.dataTransfer.files;
  });
}
form.addEventListener("submit", () => {
  setTimeout(() => {
    button.disabled = true;
    button.textContent = "Reading the list…";
  });
});
addEventListener("pageshow", () => {
  button.disabled = false;
  button.textContent = action;
});
