// SPDX-License-Identifier: Apache-2.0
// One message on the page. Every part has its place from the start (the numbers' row too), so nothing
// moves while an answer grows.

import { copyFrom, el, iconButton, shortNumber, shortSeconds, wholeNumber } from "./dom.js";
import { MarkdownView } from "./markdown_view.js";
import { splitThinking } from "./thinking.js";

const kBrokenOff = { title: "This answer broke off.", detail: "The text up to here is kept." };

export class MessageView {
  // hooks: {onRegenerate, onEdit(message, text), onDelete, onBranch(message, step), onRetryNow,
  //   onNeedKey(), onEditCancelled()}; all but the last two get the message
  constructor(message, hooks) {
    this.message = message;
    this.hooks = hooks;
    const isUser = message.role === "user";
    this.thinkingBody = el("div", { class: "markdown" });
    this.thinkingTitle = el("summary", {}, "Thinking");
    this.thinking = el("details", { class: "thinking", hidden: true }, this.thinkingTitle, this.thinkingBody);
    this.body = el("div", { class: isUser ? "body plain" : "body markdown" });
    this.calls = el("div", { class: "calls" });
    this.notice = el("div", { class: "notice", role: "alert", hidden: true });
    this.stats = el("span", { class: "stats" });
    this.branches = el("span", { class: "branches" });
    this.copyButton = iconButton("copy", "Copy", () => copyFrom(this.copyButton, this.message.content));
    this.actions = el("span", { class: "actions" }, this.branches, this.copyButton,
      iconButton("edit", "Edit", () => this.startEdit()),
      iconButton("redo", isUser ? "Answer again" : "Regenerate", () => hooks.onRegenerate(message)),
      iconButton("trash", "Delete", () => hooks.onDelete(message)));
    this.foot = el("footer", { class: "message-foot" }, this.stats, this.actions);
    const name = isUser ? "You" : "Answer";
    this.root = el("article", { class: `message ${message.role}`, "aria-label": name, "data-id": message.id },
      this.thinking, this.body, this.calls, this.notice, this.foot);
    this.markdown = isUser ? null : new MarkdownView(this.body);
    this.thinkingMarkdown = new MarkdownView(this.thinkingBody);
  }

  // `generation` while the answer is on its way, else null.
  update(generation) {
    const message = this.message;
    const isStreaming = generation !== null;
    this.root.classList.toggle("streaming", isStreaming);
    this.root.setAttribute("aria-busy", isStreaming);
    const hasText = message.content || message.reasoning || message.toolCalls;
    const isWaiting = isStreaming && !generation.wait;
    this.root.classList.toggle("pending", isWaiting && !hasText);
    this.root.classList.toggle("empty", !isWaiting && !message.content);
    if (this.markdown) this.updateAnswer(isStreaming);
    else if (this.body.textContent !== message.content) this.body.textContent = message.content;
    this.updateNotice(generation);
    const text = this.markdown ? statsText(message, isStreaming) : "";
    if (this.stats.textContent !== text) this.stats.textContent = text;
    this.stats.title = this.markdown ? statsTitle(message) : "";
  }

  updateAnswer(isStreaming) {
    const message = this.message;
    const { thinking, answer } = splitThinking(message.content);
    const reasoning = message.reasoning || thinking;
    this.thinking.hidden = !reasoning.trim();
    if (!this.thinking.hidden) {
      const title = isStreaming && !answer ? "Thinking…" : "Thoughts";
      if (this.thinkingTitle.textContent !== title) this.thinkingTitle.textContent = title;
      this.thinkingMarkdown.update(reasoning, !isStreaming);
    }
    this.markdown.update(answer, !isStreaming);
    this.updateCalls(message.toolCalls || []);
  }

  updateCalls(calls) {
    calls.forEach((call, i) => {
      const shown = this.calls.children[i] || this.calls.appendChild(el("div", { class: "call" },
        el("div", { class: "call-head" }, "Calls ", el("code")), el("pre", { tabindex: "0" }, el("code"))));
      shown.querySelector(".call-head code").textContent = call.name;
      shown.querySelector("pre code").textContent = prettyArguments(call.arguments);
    });
    while (this.calls.children.length > calls.length) this.calls.lastChild.remove();
  }

  updateNotice(generation) {
    const wait = generation && generation.wait;
    clearInterval(this.countdown);
    if (wait) {
      this.showWait(generation);
      return;
    }
    const text = this.message.error || (this.message.status === "interrupted" ? kBrokenOff : null);
    this.notice.hidden = generation !== null || !text;
    if (this.notice.hidden || this.noticeShown === text.title + text.detail) return;
    this.noticeShown = text.title + text.detail;  // an alert that is made anew is read out anew
    const button = text.kind === "key"
      ? el("button", { type: "button", onclick: () => this.hooks.onNeedKey() }, "Enter the key")
      : el("button", { type: "button", onclick: () => this.hooks.onRegenerate(this.message) }, "Try again");
    this.notice.replaceChildren(el("div", {}, el("strong", {}, text.title), detailLine(text.detail)), button);
  }

  showWait(generation) {
    const line = el("div", { class: "notice-detail" });
    const tick = () => {
      if (!generation.wait) return clearInterval(this.countdown);
      const seconds = Math.max(0, Math.ceil((generation.wait.until - Date.now()) / 1000));
      line.textContent = `Your message waits its turn; next try in ${seconds} s.`;
    };
    tick();
    this.countdown = setInterval(tick, 250);
    const { error } = generation.wait;
    this.noticeShown = null;
    this.notice.hidden = false;
    this.notice.replaceChildren(
      el("div", {}, el("strong", {}, error.message), detailLine(error.detail), line),
      el("button", { type: "button", onclick: () => this.hooks.onRetryNow(this.message) }, "Try now"));
  }

  showBranches(index, count) {
    if (count < 2) {
      this.branches.replaceChildren();
      return;
    }
    const move = (step) => () => this.hooks.onBranch(this.message, step);
    this.branches.replaceChildren(
      iconButton("left", "Earlier version", move(-1), { disabled: index === 0 }),
      el("span", { "aria-label": `Version ${index + 1} of ${count}` }, `${index + 1}/${count}`),
      iconButton("right", "Later version", move(1), { disabled: index === count - 1 }));
  }

  startEdit() {
    if (this.editor) return this.editor.querySelector("textarea").focus();
    const isUser = this.message.role === "user";
    const area = el("textarea", {
      "aria-label": "Edit the message", value: this.message.content, oninput: () => fitHeight(area),
    });
    const finish = (isKept) => {
      const text = area.value;
      this.editor.remove();
      this.editor = null;
      this.root.classList.remove("editing");
      if (isKept && text.trim()) this.hooks.onEdit(this.message, text);
      else this.hooks.onEditCancelled();
    };
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        finish(false);
      } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing && isUser) {
        event.preventDefault();
        finish(true);
      }
    });
    this.editor = el("div", { class: "editor" }, area, el("div", { class: "editor-actions" },
      el("button", { type: "button", onclick: () => finish(false) }, "Cancel"),
      el("button", { type: "button", class: "primary", onclick: () => finish(true) }, isUser ? "Send" : "Save")));
    this.root.classList.add("editing");
    this.body.before(this.editor);
    fitHeight(area);
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }
}

function detailLine(text) {
  return text ? el("div", { class: "notice-detail" }, text) : null;
}

export function fitHeight(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + area.offsetHeight - area.clientHeight}px`;
}

function prettyArguments(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;  // still arriving
  }
}

function statsText(message, isStreaming) {
  const stats = message.stats;
  if (!stats) return "";
  const parts = [];
  if (stats.tokens > 0) parts.push(`${wholeNumber(stats.tokens)} tokens`);
  if (stats.speed !== undefined) parts.push(`${shortNumber(stats.speed)} tok/s`);
  if (stats.firstToken !== undefined) parts.push(`first after ${shortSeconds(stats.firstToken)}`);
  if (!isStreaming && message.status === "stopped") parts.push("stopped");
  if (!isStreaming && stats.finish === "length") parts.push("cut at the token limit");
  return parts.join(" · ");
}

function statsTitle(message) {
  const stats = message.stats || {};
  const parts = [];
  if (stats.promptTokens !== undefined) {
    parts.push(`Prompt: ${wholeNumber(stats.promptTokens)} tokens` +
      (stats.cachedTokens > 0 ? `, ${wholeNumber(stats.cachedTokens)} of them from the cache` : "") +
      (stats.promptSpeed !== undefined ? `, ${shortNumber(stats.promptSpeed)} tok/s` : ""));
  }
  if (stats.tokens > 0) parts.push(`Answer: ${wholeNumber(stats.tokens)} tokens`);
  return parts.join("\n");
}
