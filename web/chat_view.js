// SPDX-License-Identifier: Apache-2.0
// The messages of the conversation that is shown. Draws at most once a frame, and less often when
// drawing is slow; follows the end of the text until the reader scrolls up.

import { byId, el } from "./dom.js";
import { shownBranch, siblingsOf } from "./conversation.js";
import { MessageView } from "./message_view.js";

const kSuggestions = [
  "Tell me a story about a little lighthouse.",
  "Write a short tale with a brave cat.",
  "What happens when it snows in the forest?",
];

export class ChatView {
  // hooks: those of MessageView, generationOf(message) and onSuggest(text).
  constructor(hooks) {
    this.hooks = hooks;
    this.scroller = byId("scroller");
    this.list = byId("messages");
    this.jump = byId("jump");
    this.views = new Map();
    this.isPinned = true;
    this.lastTop = 0;
    this.scroller.addEventListener("scroll", () => this.onScroll(), { passive: true });
    this.jump.addEventListener("click", () => this.scrollToEnd(true));
    // Fonts, images, the keyboard of a phone: whatever changes the height, the end stays in sight.
    new ResizeObserver(() => this.follow()).observe(this.list);
    new ResizeObserver(() => this.follow()).observe(this.scroller);
  }

  // Shows a conversation's current branch; views of messages that stay are kept.
  show(conversation) {
    if (this.conversation !== conversation) {
      this.views.clear();
      this.isPinned = true;
    }
    this.conversation = conversation;
    const branch = shownBranch(conversation);
    const views = new Map();
    for (const message of branch) {
      const known = this.views.get(message.id);
      const view = known && known.message === message ? known : new MessageView(message, this.hooks);
      const siblings = siblingsOf(conversation, message);
      view.showBranches(siblings.indexOf(message), siblings.length);
      view.update(this.hooks.generationOf(message));
      views.set(message.id, view);
    }
    this.views = views;
    const nodes = branch.length > 0 ? [...views.values()].map((view) => view.root) : [this.welcome()];
    if (!sameNodes(this.list, nodes)) this.list.replaceChildren(...nodes);
    this.follow();
  }

  welcome() {
    return el("div", { class: "welcome" }, el("h1", {}, "What shall we talk about?"),
      el("div", { class: "suggestions" }, kSuggestions.map((text) =>
        el("button", { type: "button", onclick: () => this.hooks.onSuggest(text) }, text))));
  }

  viewOf(message) {
    return this.views.get(message.id) || null;
  }

  // Draws a message soon.
  touch(message) {
    const view = this.viewOf(message);
    if (!view || view.isQueued) return;
    view.isQueued = true;
    const draw = () => {
      view.isQueued = false;
      const begin = performance.now();
      view.update(this.hooks.generationOf(message));
      this.follow();
      view.cost = performance.now() - begin;
    };
    const delay = Math.min(300, (view.cost || 0) * 5);  // at most a fifth of the time goes into drawing
    if (delay < 20) requestAnimationFrame(draw);
    else setTimeout(draw, delay);
  }

  touchNow(message) {
    const view = this.viewOf(message);
    if (view) view.update(this.hooks.generationOf(message));
    this.follow();
  }

  distance() {
    return this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight;
  }

  onScroll() {
    const top = this.scroller.scrollTop;
    if (top < this.lastTop - 1 && this.distance() > 4) this.isPinned = false;
    else if (this.distance() < 24) this.isPinned = true;
    this.lastTop = top;
    this.showJump();
  }

  follow() {
    if (this.isPinned) {
      this.scroller.scrollTop = this.scroller.scrollHeight;
      this.lastTop = this.scroller.scrollTop;
    }
    this.showJump();
  }

  showJump() {
    this.jump.hidden = this.isPinned || this.distance() < 80;
  }

  scrollToEnd(isSmooth) {
    this.isPinned = true;
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (isSmooth && !isCalm && this.distance() < 4000) {
      this.scroller.scrollTo({ top: this.scroller.scrollHeight, behavior: "smooth" });
    } else {
      this.follow();
    }
  }
}

function sameNodes(parent, nodes) {
  return parent.children.length === nodes.length && nodes.every((node, i) => parent.children[i] === node);
}
