// SPDX-License-Identifier: Apache-2.0
// A conversation as a tree of messages: editing or asking again adds a sibling, nothing is
// overwritten. `head` is the end of the branch that is shown. Plain data, as it is stored.
//   conversation: {id, title, created, updated, system, model, head, messages: [message]}
//   message: {id, parent, role, content, reasoning, toolCalls, status, error, stats, created}
//   status: "done" | "streaming" | "stopped" | "interrupted" | "failed"

import { newId } from "./dom.js";

const kTitleLength = 60;

export function newConversation(system) {
  const now = Date.now();
  return { id: newId(), title: "", created: now, updated: now, system, head: null, messages: [] };
}

export function addMessage(conversation, parent, role, content) {
  const message = { id: newId(), parent, role, content, status: "done", created: Date.now() };
  conversation.messages.push(message);
  conversation.head = message.id;
  conversation.updated = message.created;
  if (!conversation.title && role === "user") conversation.title = titleOf(content);
  return message;
}

export function titleOf(text) {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > kTitleLength ? line.slice(0, kTitleLength - 1).trimEnd() + "…" : line;
}

export function findMessage(conversation, id) {
  return conversation.messages.find((message) => message.id === id) || null;
}

// From the first message to the head.
export function shownBranch(conversation) {
  return branchTo(conversation, conversation.head);
}

export function branchTo(conversation, id) {
  const byId = new Map(conversation.messages.map((message) => [message.id, message]));
  const branch = [];
  for (let message = byId.get(id); message; message = byId.get(message.parent)) branch.push(message);
  return branch.reverse();
}

export function siblingsOf(conversation, message) {
  return conversation.messages.filter((other) => other.parent === message.parent);
}

// Shows the branch through this message, with the newest answers below it.
export function showBranch(conversation, id) {
  for (let child = { id }; child; child = conversation.messages.findLast((other) => other.parent === id)) id = child.id;
  conversation.head = id;
}

// Removes a message and everything below it; a sibling takes its place where there is one.
export function removeMessage(conversation, id) {
  const message = findMessage(conversation, id);
  const siblings = siblingsOf(conversation, message);
  const gone = new Set([id]);
  for (const other of conversation.messages) {  // parents stand before their children
    if (gone.has(other.parent)) gone.add(other.id);
  }
  conversation.messages = conversation.messages.filter((other) => !gone.has(other.id));
  if (!gone.has(conversation.head)) return;
  const next = siblings[siblings.indexOf(message) - 1] || siblings[siblings.indexOf(message) + 1];
  if (next) showBranch(conversation, next.id);
  else conversation.head = message.parent;
}

// What the server is asked: the branch that ends at `id`, without answers that came to nothing.
export function requestMessages(conversation, id) {
  const messages = [];
  if (conversation.system.trim()) messages.push({ role: "system", content: conversation.system });
  for (const message of branchTo(conversation, id)) {
    const calls = message.toolCalls || [];
    if (message.role === "assistant" && !message.content && calls.length === 0) continue;
    const sent = { role: message.role, content: message.content };
    if (calls.length > 0) {
      sent.tool_calls = calls.map((call, i) => ({
        id: call.id || `call_${i}`, type: "function", function: { name: call.name, arguments: call.arguments },
      }));
    }
    messages.push(sent);
  }
  return messages;
}

// A conversation from outside (a file, an older page), or null. Ids are checked so that the branch
// to any message ends: a parent stands before its children.
export function readConversation(value) {
  if (!value || typeof value !== "object" || !Array.isArray(value.messages)) return null;
  const text = (field) => typeof field === "string" ? field : "";
  const time = (field) => Number.isFinite(field) ? field : Date.now();
  const seen = new Set();
  const messages = [];
  for (const entry of value.messages) {
    if (!entry || typeof entry.id !== "string" || seen.has(entry.id)) return null;
    if (entry.role !== "user" && entry.role !== "assistant") return null;
    if (entry.parent !== null && !seen.has(entry.parent)) return null;
    seen.add(entry.id);
    messages.push({
      id: entry.id, parent: entry.parent, role: entry.role, content: text(entry.content),
      reasoning: text(entry.reasoning) || undefined, toolCalls: readCalls(entry.toolCalls),
      status: ["done", "stopped", "interrupted", "failed"].includes(entry.status) ? entry.status : "interrupted",
      error: readError(entry.error), stats: readStats(entry.stats), created: time(entry.created),
    });
  }
  return {
    id: text(value.id) || newId(), title: text(value.title).slice(0, 200), created: time(value.created),
    updated: time(value.updated), system: text(value.system),
    head: seen.has(value.head) ? value.head : messages.length > 0 ? messages[messages.length - 1].id : null, messages,
  };
}

function readCalls(value) {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const calls = value.filter((call) => call && typeof call === "object");
  const text = (field) => String(field ?? "");
  return calls.map((call) => ({ id: text(call.id), name: text(call.name), arguments: text(call.arguments) }));
}

function readError(value) {
  if (!value || typeof value !== "object") return undefined;
  return { kind: String(value.kind ?? "failed"), title: String(value.title ?? ""), detail: String(value.detail ?? "") };
}

function readStats(value) {
  if (!value || typeof value !== "object") return undefined;
  const stats = {};
  for (const [name, field] of Object.entries(value)) {
    if (Number.isFinite(field) || (name === "finish" && typeof field === "string")) stats[name] = field;
  }
  return stats;
}
