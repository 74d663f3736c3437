// SPDX-License-Identifier: Apache-2.0
// The box where messages are written, with the button that sends and stops.

import { byId, icon } from "./dom.js";
import { fitHeight } from "./message_view.js";

export class Composer {
  // hooks: {onSend(text), onStop(), onEditLast(), onDraft(text)}
  constructor(hooks) {
    this.hooks = hooks;
    this.area = byId("input");
    this.button = byId("send");
    this.note = byId("context-note");
    this.area.addEventListener("input", () => this.changed());
    this.area.addEventListener("keydown", (event) => this.onKey(event));
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.isStreaming) hooks.onStop();
      else this.send();
    });
    this.setStreaming(false);
  }

  onKey(event) {
    if (event.isComposing) return;  // Enter ends the word of an input method, not the message
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.send();
    } else if (event.key === "ArrowUp" && this.area.value === "") {
      event.preventDefault();
      this.hooks.onEditLast();
    }
  }

  send() {
    const text = this.area.value;
    if (this.isStreaming || text.trim() === "") return;
    this.setText("");
    this.hooks.onSend(text);
  }

  changed() {
    fitHeight(this.area);
    this.button.disabled = !this.isStreaming && this.area.value.trim() === "";
    this.hooks.onDraft(this.area.value);
  }

  setText(text) {
    this.area.value = text;
    this.changed();
  }

  setStreaming(isStreaming) {
    if (isStreaming !== this.isStreaming) {
      this.isStreaming = isStreaming;
      const label = isStreaming ? "Stop (Esc)" : "Send (Enter)";
      this.button.setAttribute("aria-label", label);
      this.button.title = label;
      this.button.classList.toggle("stop", isStreaming);
      this.button.replaceChildren(icon(isStreaming ? "stop" : "send"));
    }
    this.button.disabled = !isStreaming && this.area.value.trim() === "";
  }

  setNote(text) {
    this.note.textContent = text;
  }

  focus() {
    this.area.focus();
  }
}
