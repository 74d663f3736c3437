// SPDX-License-Identifier: Apache-2.0
// Runs before anything is painted, so that the page does not flash in the other theme.
{
  let choice = null;
  try {
    choice = JSON.parse(localStorage.getItem("ingot.theme"));
  } catch { /* no storage: as the system wishes */ }
  const isDark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}
