// SPDX-License-Identifier: Apache-2.0
// The list of conversations: search, rename, delete, export, import.

import { el, icon, iconButton, toast } from "./dom.js";
import { titleOf } from "./conversation.js";

const kMostImport = 64 * 1024 * 1024;

export class Sidebar {
  // hooks: {onOpen(id), onNew(), onDelete(id), isBusy(id), current()}
  constructor(root, store, hooks) {
    this.store = store;
    this.hooks = hooks;
    this.query = el("input", { type: "search", id: "search", placeholder: "Search",
      "aria-label": "Search conversations", oninput: () => this.draw() });
    this.list = el("div", { class: "conversations", id: "conversations" });
    this.file = el("input", { type: "file", accept: "application/json,.json", class: "offscreen", tabindex: "-1",
      "aria-label": "File to import", onchange: () => this.importFile() });
    root.append(
      el("div", { class: "side-head" },
        el("button",
          { type: "button", id: "new-chat", class: "wide", title: "New chat (Ctrl K)", onclick: hooks.onNew },
          icon("plus"), "New chat"),
        el("div", { class: "search" }, icon("search"), this.query)),
      this.list,
      el("div", { class: "side-foot" },
        el("button", { type: "button", id: "export-all", onclick: () => this.save(store.list(), "conversations") },
          icon("save"), "Export"),
        el("button", { type: "button", id: "import", onclick: () => this.file.click() }, icon("load"), "Import"),
        this.file));
  }

  draw() {
    const query = this.query.value.trim();
    const matching = query ? this.store.search(query) : this.store.list();
    const found = matching.filter((conversation) => conversation.messages.length > 0);
    const nodes = [];
    let day = null;
    let items = null;
    for (const conversation of found) {
      const name = dayName(conversation.updated);
      if (name !== day) {
        day = name;
        items = el("ul", { "aria-label": name });
        nodes.push(el("h2", {}, name), items);
      }
      items.append(this.item(conversation));
    }
    const emptyText = query ? "Nothing found." : "Conversations appear here. They stay in this browser.";
    if (found.length === 0) nodes.push(el("p", { class: "hint" }, emptyText));
    this.list.replaceChildren(...nodes);
  }

  item(conversation) {
    const isCurrent = this.hooks.current() === conversation.id;
    const title = conversation.title || "Untitled";
    const open = el("button", { type: "button", class: "open", "aria-current": isCurrent ? "page" : null, title,
      onclick: () => this.hooks.onOpen(conversation.id), ondblclick: () => this.rename(conversation, item) },
      el("span", {}, title),
      this.hooks.isBusy(conversation.id) ? el("span", { class: "busy", "aria-label": "answering" }) : null);
    const item = el("li", { class: isCurrent ? "current" : null, "data-id": conversation.id }, open,
      el("span", { class: "item-actions" },
        iconButton("edit", `Rename ${title}`, () => this.rename(conversation, item)),
        iconButton("save", `Export ${title}`, () => this.save([conversation], title)),
        iconButton("trash", `Delete ${title}`, () => this.hooks.onDelete(conversation.id))));
    return item;
  }

  rename(conversation, item) {
    const input = el("input",
      { type: "text", class: "rename", "aria-label": "Title", value: conversation.title, maxlength: 200 });
    let isOver = false;
    const finish = (isKept) => {
      if (isOver) return;  // removing the input takes its focus, which ends here again
      isOver = true;
      const title = input.value.trim();
      if (isKept && title) {
        conversation.title = title;
        this.store.save(conversation);
      }
      this.draw();
    };
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") finish(true);
      if (event.key === "Escape") {
        event.stopPropagation();
        finish(false);
      }
    });
    input.addEventListener("blur", () => finish(true));
    item.replaceChildren(input);
    input.select();
  }

  save(conversations, name) {
    const blob = new Blob([this.store.exportText(conversations)], { type: "application/json" });
    const url = URL.createObjectURL(blob);
    const file = titleOf(name).replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").toLowerCase() || "conversation";
    el("a", { href: url, download: `ingot-${file}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  async importFile() {
    const file = this.file.files[0];
    this.file.value = "";
    if (!file) return;
    try {
      if (file.size > kMostImport) throw new Error("This file is too large.");
      const count = this.store.importText(await file.text());
      toast(`Imported ${count} conversation${count === 1 ? "" : "s"}.`);
      this.draw();
    } catch (error) {
      toast(error.message);
    }
  }
}

function dayName(time) {
  const midnight = new Date().setHours(0, 0, 0, 0);
  if (time >= midnight) return "Today";
  if (time >= midnight - 86400e3) return "Yesterday";
  if (time >= midnight - 6 * 86400e3) return "This week";
  return new Date(time).toLocaleDateString("en", { month: "long", year: "numeric" });
}
