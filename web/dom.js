// SPDX-License-Identifier: Apache-2.0
// Building elements. Text always enters as text nodes: nothing on this page is parsed as HTML.

const kIconPaths = {
  menu: "M4 7h16M4 12h16M4 17h16",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  search: "M11 5a6 6 0 1 0 0 12a6 6 0 1 0 0-12M20 20l-4.5-4.5",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  copy: "M9 9h10v10H9zM5 15V5h10",
  check: "M5 12.5l4.5 4.5L19 7.5",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  redo: "M19 5v5h-5M19 10a7 7 0 1 0 1 5",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  sliders: "M4 8h8M18 8h2M4 16h2M12 16h8M15 5.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5" +
    "M9 13.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5",
  sun: "M12 8a4 4 0 1 0 0 8a4 4 0 1 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19" +
    "M19 5l-1.5 1.5M6.5 17.5L5 19",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  auto: "M12 4a8 8 0 1 0 0 16a8 8 0 1 0 0-16M12 4v16M15 5v14M18 7v10",
  down: "M12 5v14M6 13l6 6 6-6",
  left: "M14 6l-6 6 6 6",
  right: "M10 6l6 6-6 6",
  save: "M12 4v11M7 10.5l5 5 5-5M5 20h14",
  load: "M12 16V5M7 9.5l5-5 5 5M5 20h14",
};

// el("button", {class: "x", onclick: f, "aria-label": "y"}, child, "text"): null children are skipped.
export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("aria-")) node.setAttribute(name, value);  // where "false" says something
    else if (value === false) continue;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", kIconPaths[name]);
  svg.append(path);
  return svg;
}

// A button that shows only an icon; its label is what screen readers and the tooltip say.
export function iconButton(name, label, onclick, extra) {
  return el("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick, ...extra },
    icon(name));
}

export function byId(id) {
  return document.getElementById(id);
}

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(9));  // randomUUID() needs HTTPS or localhost
  return Array.from(bytes, (byte) => byte.toString(36).padStart(2, "0")).join("");
}

// The clipboard API exists on secure origins only; a page served over plain HTTP in a local
// network uses the old way.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "offscreen", value: text, "aria-hidden": "true" });
    const focused = document.activeElement;
    document.body.append(area);
    area.select();
    let isDone = false;
    try {
      isDone = document.execCommand("copy");
    } catch { /* nothing is left to try */ }
    area.remove();
    if (focused) focused.focus();
    return isDone;
  }
}

// Shows for a moment on the button itself whether copying worked.
export async function copyFrom(button, text) {
  const isDone = await copyText(text);
  const before = [...button.childNodes];
  if (button.dataset.busy) return;
  button.dataset.busy = "1";
  button.replaceChildren(isDone ? icon("check") : "!");
  setTimeout(() => {
    button.replaceChildren(...before);
    delete button.dataset.busy;
  }, 1200);
}

const kWhole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function wholeNumber(value) {
  return kWhole.format(value);
}

// Three significant digits, without exponents: 0.123, 4.56, 78.9, 1,234.
export function shortNumber(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return (value / 1e6).toFixed(size >= 1e7 ? 1 : 2) + " M";
  if (size >= 100) return kWhole.format(value);
  if (size >= 10) return value.toFixed(1);
  if (size === 0) return "0";
  return value.toFixed(size >= 1 ? 2 : 3);
}

export function shortSeconds(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds === 0) return "0";
  if (seconds >= 60) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds >= 1) return `${seconds.toFixed(seconds >= 10 ? 1 : 2)} s`;
  const ms = seconds * 1000;
  return `${ms.toFixed(ms >= 10 ? 0 : 1)} ms`;
}

// A line at the bottom that leaves by itself; `action` is {label, run}.
export function toast(text, action) {
  const box = byId("toasts");
  const line = el("div", { class: "toast", role: "status" }, el("span", {}, text));
  const timer = setTimeout(() => line.remove(), action ? 8000 : 5000);
  if (action) {
    line.append(el("button", { type: "button", class: "link-button", onclick: () => {
      clearTimeout(timer);
      line.remove();
      action.run();
    } }, action.label));
  }
  box.append(line);
  while (box.children.length > 3) box.firstChild.remove();
}

// Tells screen readers, and nobody else.
export function announce(text) {
  byId("live").textContent = text;
}
