// SPDX-License-Identifier: Apache-2.0
// What the browser keeps: one entry a conversation, so that saving one costs the others nothing and
// two tabs do not overwrite each other's. Works on in memory, and says so, when there is no storage
// or it is full.

import { newId } from "./dom.js";
import { readConversation } from "./conversation.js";

const kPrefix = "ingot.conversation.";
const kFormat = "ingot-conversations";

export class Store {
  // `onTrouble(text)` is called when something could not be kept.
  constructor(onTrouble) {
    this.onTrouble = onTrouble;
    this.conversations = new Map();
    this.isFull = false;
    try {
      this.storage = window.localStorage;
      this.storage.getItem(kPrefix);
    } catch {
      this.storage = null;
      onTrouble("This browser keeps no data for this page: conversations last until it is closed.");
    }
    this.loadAll();
  }

  loadAll() {
    if (!this.storage) return;
    for (let i = 0; i < this.storage.length; ++i) {
      const key = this.storage.key(i);
      if (key.startsWith(kPrefix)) this.loadOne(key);
    }
  }

  loadOne(key) {
    try {
      const conversation = readConversation(JSON.parse(this.storage.getItem(key)));
      if (conversation && kPrefix + conversation.id === key) this.conversations.set(conversation.id, conversation);
      return conversation;
    } catch {
      return null;  // not ours, or damaged: left alone
    }
  }

  // Another tab changed an entry; returns the id of the conversation, or null.
  takeStorageEvent(event) {
    if (!event.key || !event.key.startsWith(kPrefix)) return null;
    const id = event.key.slice(kPrefix.length);
    if (event.newValue === null) this.conversations.delete(id);
    else this.loadOne(event.key);
    return id;
  }

  list() {
    return [...this.conversations.values()].sort((a, b) => b.updated - a.updated);
  }

  // Those whose title or messages hold every word.
  search(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return this.list().filter((conversation) => {
      const contents = conversation.messages.map((message) => message.content);
      const text = [conversation.title, ...contents].join("\n").toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  save(conversation) {
    this.conversations.set(conversation.id, conversation);
    if (!this.storage) return;
    try {
      this.storage.setItem(kPrefix + conversation.id, JSON.stringify(conversation));
      this.isFull = false;
    } catch {
      if (!this.isFull) {
        this.onTrouble("The browser's storage is full: new messages last until the page is closed. " +
          "Export or delete conversations.");
      }
      this.isFull = true;
    }
  }

  remove(id) {
    this.conversations.delete(id);
    if (this.storage) this.storage.removeItem(kPrefix + id);
  }

  exportText(conversations) {
    return JSON.stringify({ format: kFormat, version: 1, conversations }, null, 1);
  }

  // Adds the conversations of an exported file under new ids; returns how many. Throws an Error with
  // a sentence for the user.
  importText(text) {
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      throw new Error("This file is not JSON.");
    }
    const list = value && Array.isArray(value.conversations) ? value.conversations : [value];
    const read = list.map(readConversation);
    if (read.length === 0 || read.includes(null)) throw new Error("This file holds no conversations of this page.");
    for (const conversation of read) {
      if (this.conversations.has(conversation.id)) conversation.id = newId();
      this.save(conversation);
    }
    return read.length;
  }

  readValue(name, fallback) {
    try {
      const text = this.storage.getItem(`ingot.${name}`);
      return text === null ? fallback : JSON.parse(text);
    } catch {
      return fallback;
    }
  }

  writeValue(name, value) {
    try {
      this.storage.setItem(`ingot.${name}`, JSON.stringify(value));
    } catch { /* settings are a convenience */ }
  }
}
