// SPDX-License-Identifier: Apache-2.0
// The chat: which conversation is open, which answers are on their way, and what each button does.

import { announce, byId, toast, wholeNumber } from "./dom.js";
import { ChatView } from "./chat_view.js";
import { Composer } from "./composer.js";
import { Generation } from "./generation.js";
import { Sidebar } from "./sidebar.js";
import { addMessage, findMessage, newConversation, removeMessage, requestMessages } from "./conversation.js";
import { showBranch, shownBranch, siblingsOf } from "./conversation.js";
import { splitThinking } from "./thinking.js";

const kSaveEvery = 2000;  // ms, while an answer streams

export class Chat {
  // `settings` is the panel; hooks: {onNeedKey(), onOpened()}
  constructor(api, store, settings, hooks) {
    Object.assign(this, { api, store, settings, hooks });
    this.generations = new Map();  // conversation id -> Generation
    this.drafts = new Map();       // conversation id -> what is in the box, not yet sent
    this.models = [];
    this.view = new ChatView({
      generationOf: (message) => this.generationOf(message),
      onSuggest: (text) => this.send(text),
      onRegenerate: (message) => this.regenerate(message),
      onEdit: (message, text) => this.edit(message, text),
      onEditCancelled: () => this.composer.focus(),
      onDelete: (message) => this.deleteMessage(message),
      onBranch: (message, step) => this.switchBranch(message, step),
      onRetryNow: (message) => this.generationOf(message)?.retryNow(),
      onNeedKey: hooks.onNeedKey,
    });
    this.composer = new Composer({
      onSend: (text) => this.send(text),
      onStop: () => this.stop(),
      onEditLast: () => this.editLast(),
      onDraft: (text) => { if (this.conversation) this.drafts.set(this.conversation.id, text); },
    });
    this.sidebar = new Sidebar(byId("sidebar"), store, {
      onOpen: (id) => this.open(id),
      onNew: () => this.openNew(),
      onDelete: (id) => this.deleteConversation(id),
      isBusy: (id) => this.generations.has(id),
      current: () => this.conversation?.id,
    });
    const last = store.conversations.get(store.readValue("open", null));
    if (last) this.show(last);
    else this.openNew();
    addEventListener("storage", (event) => this.takeStorageEvent(event));
    addEventListener("pagehide", () => this.generations.forEach((_, id) => store.save(store.conversations.get(id))));
  }

  // --- Conversations ---

  open(id) {
    const conversation = this.store.conversations.get(id);
    if (conversation) this.show(conversation);
    this.hooks.onOpened();
  }

  openNew() {
    const isFresh = this.conversation && this.conversation.messages.length === 0;
    this.show(isFresh ? this.conversation : newConversation(this.store.readValue("system", "")));
    this.hooks.onOpened();
    this.composer.focus();
  }

  show(conversation) {
    this.conversation = conversation;
    this.store.writeValue("open", conversation.id);
    this.settings.showSystem(conversation.system);
    this.composer.setText(this.drafts.get(conversation.id) || "");
    this.draw();
  }

  draw() {
    this.view.show(this.conversation);
    this.composer.setStreaming(this.generations.has(this.conversation.id));
    this.showContext();
    this.sidebar.draw();
    document.title = this.conversation.title ? `${this.conversation.title} · ingot` : "ingot";
  }

  deleteConversation(id) {
    const conversation = this.store.conversations.get(id);
    this.generations.get(id)?.stop();
    this.store.remove(id);
    if (this.conversation.id === id) this.openNew();
    else this.sidebar.draw();
    toast("Conversation deleted.", { label: "Undo", run: () => {
      this.store.save(conversation);
      this.show(conversation);
    } });
  }

  setSystem(text) {
    this.conversation.system = text;
    this.store.writeValue("system", text);
    if (this.conversation.messages.length > 0) this.store.save(this.conversation);
  }

  takeStorageEvent(event) {
    const id = this.store.takeStorageEvent(event);
    if (!id || this.generations.has(id)) return;
    const changed = this.store.conversations.get(id);
    if (id === this.conversation.id && changed) this.show(changed);
    else this.sidebar.draw();
  }

  // --- Messages ---

  send(text) {
    if (this.generations.has(this.conversation.id)) return;
    const message = addMessage(this.conversation, this.conversation.head, "user", text);
    this.view.isPinned = true;
    this.answer(message);
    if (matchMedia("(hover: none)").matches) this.composer.area.blur();  // the keyboard makes room
    else this.composer.focus();
  }

  // A new answer below a message of the user.
  answer(question) {
    const conversation = this.conversation;
    const message = addMessage(conversation, question.id, "assistant", "");
    const messages = requestMessages(conversation, question.id);
    const body = { model: this.modelId(), messages, ...this.settings.requestFields() };
    let lastSave = 0;
    const generation = new Generation(this.api, message, body, () => {
      this.view.touch(message);
      if (Date.now() - lastSave < kSaveEvery) return;
      lastSave = Date.now();
      this.save(conversation);
    });
    this.generations.set(conversation.id, generation);
    this.save(conversation);
    this.draw();
    announce("Answering.");
    generation.run().then(() => this.finish(conversation, message));
  }

  finish(conversation, message) {
    this.generations.delete(conversation.id);
    conversation.updated = Date.now();
    this.save(conversation);
    if (this.conversation === conversation) {
      this.view.touchNow(message);
      this.composer.setStreaming(false);
      this.showContext();
    }
    this.sidebar.draw();
    announce(message.error ? message.error.title : `Answer: ${splitThinking(message.content).answer.slice(0, 1500)}`);
  }

  // A conversation that was deleted meanwhile is not brought back.
  save(conversation) {
    const isKnown = this.store.conversations.has(conversation.id) || conversation === this.conversation;
    if (isKnown) this.store.save(conversation);
  }

  stop() {
    const generation = this.generations.get(this.conversation.id);
    if (!generation) return false;
    generation.stop();
    return true;
  }

  regenerate(message) {
    if (this.generations.has(this.conversation.id)) return;
    const question = message.role === "user" ? message : findMessage(this.conversation, message.parent);
    if (!question) return toast("The message that this answers was deleted.");
    this.view.isPinned = true;
    this.answer(question);
  }

  edit(message, text) {
    if (this.generations.has(this.conversation.id)) return toast("Stop the answer first.");
    if (text === message.content && message.role === "assistant") return;
    const edited = addMessage(this.conversation, message.parent, message.role, text);
    if (message.role === "user") {
      this.view.isPinned = true;
      return this.answer(edited);
    }
    if (message.reasoning) edited.reasoning = message.reasoning;
    this.save(this.conversation);
    this.draw();
  }

  editLast() {
    const last = shownBranch(this.conversation).findLast((message) => message.role === "user");
    if (last) this.view.viewOf(last).startEdit();
  }

  deleteMessage(message) {
    const conversation = this.conversation;
    if (this.generations.has(conversation.id)) return toast("Stop the answer first.");
    const before = { messages: conversation.messages, head: conversation.head };
    removeMessage(conversation, message.id);
    if (conversation.messages.length > 0) this.save(conversation);
    else this.store.remove(conversation.id);
    this.draw();
    toast("Message deleted.", { label: "Undo", run: () => {
      Object.assign(conversation, before);
      this.store.save(conversation);
      this.show(conversation);
    } });
  }

  switchBranch(message, step) {
    if (this.generations.has(this.conversation.id)) return toast("Stop the answer first.");
    const siblings = siblingsOf(this.conversation, message);
    const next = siblings[siblings.indexOf(message) + step];
    if (!next) return;
    showBranch(this.conversation, next.id);
    this.save(this.conversation);
    this.view.isPinned = false;
    this.draw();
  }

  generationOf(message) {
    const generation = this.generations.get(this.conversation.id);
    return generation && generation.message === message && message.status === "streaming" ? generation : null;
  }

  // --- Model ---

  setModels(models, chosen) {
    this.models = models;
    this.chosenModel = models.some((model) => model.id === chosen) ? chosen : models[0]?.id;
    this.showContext();
  }

  modelId() {
    return this.chosenModel || "default";
  }

  // How much of the model's context the conversation fills, where the server says how long that is.
  showContext() {
    const model = this.models.find((entry) => entry.id === this.chosenModel);
    const most = model && (model.max_model_len || model.meta?.n_ctx);
    const last = shownBranch(this.conversation).findLast((message) => message.stats?.promptTokens !== undefined);
    const used = last ? last.stats.promptTokens + last.stats.tokens : 0;
    const share = most ? `${wholeNumber(used)} of ${wholeNumber(most)}` : wholeNumber(used);
    this.composer.setNote(used === 0 ? "" : `${share} tokens`);
  }
}
