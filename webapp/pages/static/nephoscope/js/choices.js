// Many boxes at once: all or none of a group.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-choose]");
  if (!button) return;
  for (const box of button.closest("[data-choices]").querySelectorAll("input[type=checkbox]")) {
    box.checked = button.dataset.choose === "all";
  }
});
