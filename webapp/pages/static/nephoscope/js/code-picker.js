// Lists of names that add the code of a choice to a text field of codes, which works without them.
for (const picker of document.querySelectorAll("[data-code-picker]")) {
  const field = document.getElementById(picker.dataset.codePicker);
  const select = picker.querySelector("select");
  // Forms that follow their fields follow the text field alone.
  select.addEventListener("input", (event) => event.stopPropagation());
  picker.querySelector("button").addEventListener("click", () => {
    const code = select.value;
    if (!code) return select.focus();
    const codes = field.value.split(",").map((part) => part.trim());
    const kept = codes.filter((part) => part && part !== code);
    field.value = [...kept, code].join(", ");
    field.dispatchEvent(new Event("input", { bubbles: true }));
    const { text } = select.selectedOptions[0];
    picker.querySelector("[role=status]").textContent = `${text} is in the list.`;
    select.value = "";
    select.focus();
  });
}
