// SPDX-License-Identifier: Apache-2.0
// The server as this page sees it. Every failure leaves as an ApiError that says what to tell the user.

import { SseParser } from "./sse.js";

export class ApiError extends Error {
  // kind: "key" | "busy" | "unavailable" | "network" | "interrupted" | "refused" | "failed"
  constructor(kind, title, detail, retryAfter) {
    super(title);
    this.kind = kind;
    this.detail = detail || "";
    this.retryAfter = retryAfter ?? null;  // seconds
  }
}

export class Api {
  // `readKey()` returns the API key, or "".
  constructor(readKey) {
    this.readKey = readKey;
  }

  headers(more) {
    const key = this.readKey();
    return { ...more, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  }

  async get(path, signal) {
    const reply = await this.fetch(path, { headers: this.headers(), signal, cache: "no-store" });
    return reply;
  }

  async fetch(path, options) {
    let reply;
    try {
      reply = await fetch(path, options);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError("network", "The server cannot be reached.", "Is it still running? Nothing you wrote is lost.");
    }
    if (!reply.ok) throw await replyError(reply);
    return reply;
  }

  async models() {
    const reply = await this.get("v1/models");
    const value = await reply.json();
    return (Array.isArray(value.data) ? value.data : []).filter((model) => model && typeof model.id === "string");
  }

  async metricsText(signal) {
    return (await this.get("metrics", signal)).text();
  }

  // Streams an answer; `onChunk(chunk)` gets every chunk as the server sent it. Returns when the
  // stream has ended as it should.
  async streamChat(body, signal, onChunk) {
    const reply = await this.fetch("v1/chat/completions", {
      method: "POST", headers: this.headers({ "Content-Type": "application/json" }),
      body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }), signal,
    });
    const parser = new SseParser();
    const decoder = new TextDecoder();
    const reader = reply.body.getReader();
    let isFinished = false;
    for (;;) {
      let part;
      try {
        part = await reader.read();
      } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new ApiError("interrupted", "The connection was lost.", "The text up to here is kept.");
      }
      const events = parser.push(part.done ? decoder.decode() : decoder.decode(part.value, { stream: true }));
      for (const event of events) {
        if (event.data === "[DONE]") return;
        const chunk = parseChunk(event);
        if ((chunk.choices || []).some((choice) => choice.finish_reason)) isFinished = true;
        onChunk(chunk);
      }
      if (part.done) break;
    }
    if (isFinished) return;
    throw new ApiError("interrupted", "The answer broke off.",
      "The server closed the connection early. The text up to here is kept.");
  }
}

function parseChunk(event) {
  let chunk;
  try {
    chunk = JSON.parse(event.data);
  } catch {
    throw new ApiError("interrupted", "The server sent something unreadable.", event.data.slice(0, 200));
  }
  if (chunk && chunk.error) {
    throw new ApiError("interrupted", "The server stopped this answer.", messageOf(chunk) || "It gave no reason.");
  }
  if (chunk === null || typeof chunk !== "object" || event.event === "error") {
    throw new ApiError("interrupted", "The server stopped this answer.", event.data.slice(0, 200));
  }
  return chunk;
}

function messageOf(value) {
  const error = value && value.error;
  return typeof error === "string" ? error : error && typeof error.message === "string" ? error.message : "";
}

async function replyError(reply) {
  let detail = "";
  try {
    const text = await reply.text();
    try {
      detail = messageOf(JSON.parse(text));
    } catch {
      detail = reply.headers.get("Content-Type")?.startsWith("text/plain") ? text.slice(0, 300) : "";
    }
  } catch { /* the status says enough */ }
  const retryAfter = retrySeconds(reply.headers.get("Retry-After"));
  switch (reply.status) {
    case 401: case 403:
      return new ApiError("key", "The server asks for an API key.", detail);
    case 429:
      return new ApiError("busy", "The server is busy.", detail, retryAfter ?? 2);
    case 503:
      return new ApiError("unavailable", "The server is not ready.", detail, retryAfter);
    case 413:
      return new ApiError("refused", "This conversation is too long for the server.", detail);
    case 400: case 422:
      return new ApiError("refused", "The server cannot answer this.", detail);
    case 404:
      return new ApiError("refused", "The server does not know this model or address.", detail);
    default:
      return new ApiError("failed", `The server failed (${reply.status}).`, detail);
  }
}

// Retry-After in seconds, from a number or a date.
export function retrySeconds(text, now = Date.now()) {
  if (!text) return null;
  if (/^\d+$/.test(text.trim())) return Math.min(Number(text), 3600);
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.min(Math.max(0, Math.ceil((date - now) / 1000)), 3600);
}
