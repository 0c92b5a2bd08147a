// Runs before the first paint: the theme that the reader chose here, if any, and a sign that
// scripts run. A classic script, since modules wait for the document.
(function () {
  var root = document.documentElement;
  root.classList.add("js");
  try {
    var chosen = localStorage.getItem("nephoscope-theme");
    if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
  } catch (refused) {
    // A browser that keeps nothing follows the system.
  }
})();
