// Light or dark before anything is drawn: what the reader chose on any page of the site, else as their
// system is. The button of each page (data-theme-button) goes through light, dark and system.
"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const modes = ["auto", "light", "dark"];
  const kept = () => {
    try { return localStorage.getItem("mode"); } catch { return null; } // storage may be forbidden
  };
  let mode = modes.includes(kept()) ? kept() : "auto";

  function apply() {
    root.dataset.mode = mode;
    root.dataset.theme = mode === "auto" ? (dark.matches ? "dark" : "light") : mode;
    for (const button of document.querySelectorAll("[data-theme-button]"))
      button.textContent = `Colours: ${mode === "auto" ? "system" : mode}`;
  }

  dark.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-theme-button]")) return;
    mode = modes[(modes.indexOf(mode) + 1) % modes.length];
    try {
      localStorage.setItem("mode", mode);
      localStorage.setItem("theme", mode);
    } catch { /* then it holds for this page alone */ }
    apply();
  });
  apply();
})();
