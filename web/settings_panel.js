// SPDX-License-Identifier: Apache-2.0
// The panel at the right: system prompt, sampling, API key, shortcuts.

import { el, iconButton } from "./dom.js";
import { kSamplingFields, readExtra, readField, requestFields } from "./sampling.js";

const kKeyName = "ingot.key";
const kShortcuts = [
  ["Enter", "send"], ["Shift Enter", "new line"], ["Esc", "stop the answer"], ["Ctrl K", "new chat"],
  ["↑", "edit your last message"], ["/", "go to the message box"],
];

export class SettingsPanel {
  // hooks: {onSystem(text), onKey(), onClose()}
  constructor(root, store, hooks) {
    this.root = root;
    this.store = store;
    this.hooks = hooks;
    const values = store.readValue("sampling", {});
    this.values = values && typeof values === "object" ? values : {};
    this.key = readKey();
    root.append(
      el("header", { class: "panel-head" },
        el("h2", {}, "Settings"), iconButton("close", "Close settings", hooks.onClose)),
      el("div", { class: "panel-body" }, this.systemPart(), this.samplingPart(), this.keyPart(), shortcutPart()));
  }

  requestFields() {
    return requestFields(this.values);
  }

  showSystem(text) {
    if (this.system !== document.activeElement || this.system.value !== text) this.system.value = text;
  }

  focusKey() {
    this.keyInput.focus();
    this.keyInput.scrollIntoView({ block: "center" });
  }

  systemPart() {
    this.system = el("textarea", { id: "system-prompt", rows: 4, placeholder: "None", "aria-describedby": "system-hint",
      oninput: () => this.hooks.onSystem(this.system.value) });
    return el("section", {},
      el("label", { class: "section-title", for: "system-prompt" }, "System prompt"), this.system,
      el("p", { class: "hint", id: "system-hint" },
        "Kept with this conversation; new ones begin with what you wrote last."));
  }

  samplingPart() {
    this.rows = kSamplingFields.map((field) =>
      new FieldRow(field, this.values[field.name], (text) => this.set(field.name, text)));
    const stop = el("textarea", { id: "setting-stop", rows: 2, placeholder: "None", value: this.values.stop ?? "",
      oninput: () => this.set("stop", stop.value) });
    const extraError = el("p", { class: "field-error", id: "extra-error", role: "alert" });
    const checkExtra = () => {
      try {
        readExtra(extra.value);
        extraError.textContent = "";
      } catch (error) {
        extraError.textContent = `Not sent: ${error.message}`;
      }
      extra.setAttribute("aria-invalid", extraError.textContent !== "");
    };
    const extra = el("textarea", { id: "setting-extra", rows: 2, spellcheck: "false", class: "mono",
      placeholder: '{"dry_multiplier": 0.8}', value: this.values.extra ?? "", "aria-describedby": "extra-error",
      oninput: () => {
        this.set("extra", extra.value);
        checkExtra();
      } });
    checkExtra();
    const reset = el("button", { type: "button", class: "link-button", onclick: () => {
      this.values = {};
      this.store.writeValue("sampling", {});
      this.rows.forEach((row) => row.show(""));
      stop.value = extra.value = "";
      checkExtra();
    } }, "Reset");
    return el("section", { "aria-label": "Sampling" },
      el("div", { class: "section-title" }, "Sampling", reset),
      el("p", { class: "hint" }, "Empty fields leave the choice to the model."),
      this.rows.map((row) => row.root),
      el("label", { class: "field-label", for: "setting-stop" }, "Stop texts, one a line"), stop,
      el("label", { class: "field-label", for: "setting-extra" }, "More request fields, as JSON"), extra, extraError);
  }

  set(name, text) {
    if (text === "") delete this.values[name];
    else this.values[name] = text;
    this.store.writeValue("sampling", this.values);
  }

  keyPart() {
    this.keyInput = el("input", { id: "api-key", type: "password", autocomplete: "off", spellcheck: "false",
      placeholder: "None", value: this.key, "aria-describedby": "key-hint", oninput: () => this.saveKey() });
    this.keepKey = el("input",
      { id: "keep-key", type: "checkbox", checked: isKeyKept(), onchange: () => this.saveKey() });
    this.keyInput.addEventListener("change", () => this.hooks.onKey());
    return el("section", {}, el("label", { class: "section-title", for: "api-key" }, "API key"), this.keyInput,
      el("label", { class: "check" }, this.keepKey, "Remember on this device"),
      el("p", { class: "hint", id: "key-hint" },
        "Otherwise forgotten when this tab is closed. Sent to this server only."));
  }

  saveKey() {
    this.key = this.keyInput.value.trim();
    const keep = this.keepKey.checked;
    for (const [name, isChosen] of [["sessionStorage", !keep], ["localStorage", keep]]) {
      try {
        if (isChosen && this.key) window[name].setItem(kKeyName, this.key);
        else window[name].removeItem(kKeyName);
      } catch { /* kept in memory until the page is closed */ }
    }
  }
}

function readKey() {
  for (const name of ["sessionStorage", "localStorage"]) {
    try {
      const key = window[name].getItem(kKeyName);
      if (key) return key;
    } catch { /* no storage */ }
  }
  return "";
}

function isKeyKept() {
  try {
    return window.localStorage.getItem(kKeyName) !== null;
  } catch {
    return false;
  }
}

// Label, slider and number of one field. The slider of an unset field is dim.
class FieldRow {
  constructor(field, text, onInput) {
    this.field = field;
    this.onInput = onInput;
    const id = `setting-${field.name}`;
    const inputmode = field.step === 1 ? "numeric" : "text";  // "decimal" has no minus on some phones
    this.number = el("input", { id, type: "text", inputmode, autocomplete: "off", placeholder: "auto",
      "aria-describedby": `${id}-error`, oninput: () => this.take(this.number.value) });
    this.slider = field.max === undefined ? null : el("input", { type: "range",
      min: field.min, max: field.max, step: field.step, tabindex: "-1", "aria-hidden": "true",
      oninput: () => {
        this.number.value = this.slider.value;
        this.take(this.slider.value);
      } });
    this.error = el("p", { class: "field-error", id: `${id}-error`, role: "alert" });
    this.root = el("div", { class: "field", title: field.hint },
      el("label", { for: id }, field.label), this.slider, this.number, this.error);
    this.show(text ?? "");
  }

  show(text) {
    this.number.value = text;
    this.check(text);
  }

  take(text) {
    this.check(text);
    this.onInput(text.trim());
  }

  check(text) {
    let message = "";
    let value = null;
    try {
      value = readField(this.field, text);
    } catch (error) {
      message = `Not sent: ${error.message}`;
    }
    this.error.textContent = message;
    this.number.setAttribute("aria-invalid", message !== "");
    if (!this.slider) return;
    this.slider.classList.toggle("unset", value === null);
    const { name, min, max } = this.field;
    const rest = name === "repetition_penalty" ? 1 : (min + max) / 2;
    this.slider.value = value ?? rest;
  }
}

function shortcutPart() {
  return el("section", {}, el("div", { class: "section-title" }, "Keys"),
    el("dl", { class: "shortcuts" }, kShortcuts.map(([keys, what]) => [
      el("dt", {}, keys.split(" ").map((key) => el("kbd", {}, key))), el("dd", {}, what)])));
}
