// SPDX-License-Identifier: Apache-2.0
// Light, dark, or as the system wishes; theme_boot.js has applied the choice before.

import { icon } from "./dom.js";

const kNext = { auto: "light", light: "dark", dark: "auto" };
const kIcons = { auto: "auto", light: "sun", dark: "moon" };

export class ThemeButton {
  constructor(button, store, onChange) {
    const system = matchMedia("(prefers-color-scheme: dark)");
    let choice = store.readValue("theme", "auto");
    if (!kNext[choice]) choice = "auto";
    const apply = () => {
      const isDark = choice === "dark" || (choice === "auto" && system.matches);
      document.documentElement.dataset.theme = isDark ? "dark" : "light";
      const label = `Theme: ${choice === "auto" ? "as the system" : choice}`;
      button.setAttribute("aria-label", label);
      button.title = label;
      button.replaceChildren(icon(kIcons[choice]));
      onChange();
    };
    button.addEventListener("click", () => {
      choice = kNext[choice];
      store.writeValue("theme", choice);
      apply();
    });
    system.addEventListener("change", apply);
    apply();
  }
}
