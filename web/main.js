// SPDX-License-Identifier: Apache-2.0
// Puts the page together.

import { byId, el, icon, toast } from "./dom.js";
import { Api, ApiError, retrySeconds } from "./api.js";
import { Chat } from "./chat.js";
import { Dashboard } from "./dashboard.js";
import { Layout, tabOfHash } from "./layout.js";
import { SettingsPanel } from "./settings_panel.js";
import { Store } from "./store.js";
import { ThemeButton } from "./theme.js";
import { SseParser } from "./sse.js";
import { MarkdownView, renderMarkdown } from "./markdown_view.js";
import { readConversation } from "./conversation.js";
import { requestFields } from "./sampling.js";
import { parseMetrics, quantileOf } from "./prometheus.js";
import { Telemetry } from "./telemetry.js";

const store = new Store(toast);
const settings = new SettingsPanel(byId("settings"), store, {
  onSystem: (text) => chat.setSystem(text),
  onKey: () => loadModels(),
  onClose: () => layout.toggle("settings", false),
});
const api = new Api(() => settings.key);
const dashboard = new Dashboard(byId("dashboard"), api);
const layout = new Layout(store, (tab) => dashboard.setShown(tab === "dashboard"));
const chat = new Chat(api, store, settings, {
  onNeedKey: () => {
    layout.toggle("settings", true);
    settings.focusKey();
  },
  onOpened: () => {
    if (layout.isDrawer("sidebar")) layout.closeDrawers();
    layout.showTab("chat");
  },
});
new ThemeButton(byId("theme"), store, () => dashboard.draw());
byId("jump").append(icon("down"));

async function loadModels() {
  const select = byId("model");
  try {
    const models = await api.models();
    chat.setModels(models, store.readValue("model", null));
    select.replaceChildren(...models.map((model) => el("option", { value: model.id }, model.id)));
    select.value = chat.modelId();
    select.hidden = models.length === 0;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const mayPass = error.kind === "unavailable" || error.kind === "network";
    if (error.kind === "key") toast(error.message, { label: "Enter it", run: () => chat.hooks.onNeedKey() });
    else if (mayPass) setTimeout(loadModels, (error.retryAfter ?? 3) * 1000);
  }
}

byId("model").addEventListener("change", () => {
  store.writeValue("model", byId("model").value);
  chat.setModels(chat.models, byId("model").value);
});

// Keys that work anywhere on the page; those of the message box are in composer.js.
addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "Escape" && !event.isComposing) {
    if (layout.closeDrawers() || chat.stop()) event.preventDefault();
  } else if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
    event.preventDefault();
    chat.openNew();
  } else if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && layout.tab === "chat") {
    event.preventDefault();
    chat.composer.focus();
  }
});

layout.showTab(tabOfHash());
loadModels();
if (layout.tab === "chat" && matchMedia("(hover: hover)").matches) chat.composer.focus();

// For tests, and for whoever is curious in the console: the parts that need no page, and what is shown.
window.ingot = {
  SseParser, MarkdownView, renderMarkdown, readConversation, requestFields, parseMetrics, quantileOf, retrySeconds,
  Telemetry, chat, store,
};
