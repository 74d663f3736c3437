// SPDX-License-Identifier: Apache-2.0
// Tabs, and the sidebar and settings that are columns on a wide screen and drawers on a narrow one. A
// closed drawer is inert: neither the Tab key nor a screen reader gets lost in it.

import { byId, icon } from "./dom.js";

export class Layout {
  constructor(store, onTab) {
    this.store = store;
    this.onTab = onTab;
    this.app = byId("app");
    this.parts = {
      sidebar: makePart("sidebar", "(min-width: 840px)", true),
      settings: makePart("settings", "(min-width: 1180px)", store.readValue("settingsOpen", false) === true),
    };
    byId("open-sidebar").append(icon("menu"));
    byId("open-settings").append(icon("sliders"));
    byId("scrim").addEventListener("click", () => this.closeDrawers());
    for (const [name, part] of Object.entries(this.parts)) {
      part.button.title = name === "sidebar" ? "Conversations" : "Settings";
      part.button.setAttribute("aria-label", part.button.title);
      part.button.addEventListener("click", () => this.toggle(name));
      part.wide.addEventListener("change", () => this.draw());
    }
    this.startTabs();
    this.draw();
  }

  isOpen(name) {
    const part = this.parts[name];
    return part.wide.matches ? part.opensWide : part.isOpen;
  }

  isDrawer(name) {
    return !this.parts[name].wide.matches;
  }

  toggle(name, isOpen = !this.isOpen(name)) {
    const part = this.parts[name];
    if (part.wide.matches) {
      part.opensWide = isOpen;
      if (name === "settings") this.store.writeValue("settingsOpen", isOpen);
    } else {
      this.closeDrawers();
      part.isOpen = isOpen;
    }
    this.draw();
    if (isOpen && this.isDrawer(name)) part.node.querySelector("button, input").focus();
    else if (!isOpen) part.button.focus();
  }

  // Returns whether one was open.
  closeDrawers() {
    const open = Object.values(this.parts).filter((part) => part.isOpen && !part.wide.matches);
    for (const part of open) {
      part.isOpen = false;
      if (part.node.contains(document.activeElement)) part.button.focus();
    }
    this.draw();
    return open.length > 0;
  }

  draw() {
    let hasScrim = false;
    for (const [name, part] of Object.entries(this.parts)) {
      const isOpen = this.isOpen(name);
      this.app.classList.toggle(`has-${name}`, isOpen);
      part.node.inert = !isOpen;
      part.button.setAttribute("aria-expanded", isOpen);
      hasScrim ||= isOpen && this.isDrawer(name);
    }
    this.app.classList.toggle("has-scrim", hasScrim);
  }

  startTabs() {
    this.tabs = ["chat", "dashboard"];
    for (const name of this.tabs) {
      const tab = byId(`tab-${name}`);
      tab.addEventListener("click", () => this.showTab(name));
      tab.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        const other = this.tabs.find((entry) => entry !== name);
        this.showTab(other);
        byId(`tab-${other}`).focus();
      });
    }
    addEventListener("hashchange", () => this.showTab(tabOfHash()));
  }

  showTab(name) {
    this.tab = name;
    for (const entry of this.tabs) {
      const isShown = entry === name;
      byId(entry).hidden = !isShown;
      byId(`tab-${entry}`).setAttribute("aria-selected", isShown);
      byId(`tab-${entry}`).tabIndex = isShown ? 0 : -1;
    }
    const address = name === "chat" ? location.pathname + location.search : `#${name}`;
    if (tabOfHash() !== name) history.replaceState(null, "", address);
    this.onTab(name);
  }
}

// `isOpen` is the drawer's state, `opensWide` the column's.
function makePart(name, wide, opensWide) {
  return { node: byId(name), button: byId(`open-${name}`), wide: matchMedia(wide), isOpen: false, opensWide };
}

export function tabOfHash() {
  return location.hash === "#dashboard" ? "dashboard" : "chat";
}
