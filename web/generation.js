// SPDX-License-Identifier: Apache-2.0
// One answer on its way: asks the server, waits its turn where it must, and fills in the message.
// Lives on when another conversation is shown. No elements here: `onChange` tells who draws.

import { ApiError } from "./api.js";

const kMostTries = 20;
const kMostCalls = 256;

export class Generation {
  constructor(api, message, body, onChange) {
    this.api = api;
    this.message = message;
    this.body = body;
    this.onChange = onChange;
    this.abort = new AbortController();
    this.wait = null;  // {error, until} while the server wants to be asked later
  }

  // Returns when the answer has ended, one way or another; the message says which.
  async run() {
    const message = this.message;
    message.status = "streaming";
    this.start = performance.now();
    try {
      await this.stream();
      message.status = "done";
    } catch (error) {
      this.fail(error);
    }
    this.wait = null;
    this.settle();
    this.onChange();
  }

  stop() {
    this.abort.abort();
  }

  // Ends the waiting for the server's turn.
  retryNow() {
    if (this.endWait) this.endWait();
  }

  async stream() {
    for (let tries = 1; ; ++tries) {
      try {
        this.start = performance.now();
        return await this.api.streamChat(this.body, this.abort.signal, (chunk) => this.take(chunk));
      } catch (error) {
        const mayRetry = error instanceof ApiError && error.retryAfter !== null && tries < kMostTries;
        if (!mayRetry || this.first !== undefined) throw error;
        await this.pause(error);
      }
    }
  }

  pause(error) {
    // A little chance keeps many pages from coming back in the same moment.
    const ms = error.retryAfter * 1000 * (1 + Math.random() * 0.1) + 100;
    this.wait = { error, until: Date.now() + ms };
    this.onChange();
    return new Promise((resolve, reject) => {
      const finish = (then) => () => {
        clearTimeout(timer);
        this.wait = null;
        this.endWait = null;
        this.onChange();
        then();
      };
      const timer = setTimeout(finish(resolve), ms);
      this.endWait = finish(resolve);
      const giveUp = finish(() => reject(new DOMException("stopped", "AbortError")));
      this.abort.signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  take(chunk) {
    const message = this.message;
    if (chunk.usage) this.usage = chunk.usage;
    if (chunk.timings) this.timings = chunk.timings;
    const choice = (chunk.choices || [])[0];
    if (choice) {
      const delta = choice.delta || {};
      const reasoning = delta.reasoning_content ?? delta.reasoning;
      if (delta.content || reasoning || delta.tool_calls) this.count();
      if (delta.content) message.content += delta.content;
      if (reasoning) message.reasoning = (message.reasoning || "") + reasoning;
      for (const call of delta.tool_calls || []) addCall(message, call);
      if (choice.finish_reason) this.finish = choice.finish_reason;
    }
    this.settle();
    this.onChange();
  }

  count() {
    this.last = performance.now();
    this.first ??= this.last;
    this.chunks = (this.chunks || 0) + 1;
  }

  // The numbers under the answer: the server's where it gives them, else what was seen from here.
  settle() {
    const { usage = {}, timings = {} } = this;
    const stats = {};
    if (this.first !== undefined) stats.firstToken = (this.first - this.start) / 1000;
    stats.tokens = usage.completion_tokens ?? timings.predicted_n ?? this.chunks ?? 0;
    stats.promptTokens = usage.prompt_tokens ?? timings.prompt_n;
    stats.cachedTokens = usage.prompt_tokens_details?.cached_tokens ?? timings.cache_n;
    const seen = this.chunks > 1 ? (this.chunks - 1) / ((this.last - this.first) / 1000) : undefined;
    stats.speed = timings.predicted_per_second ?? (usage.completion_tokens > 1 && this.last > this.first
      ? (usage.completion_tokens - 1) / ((this.last - this.first) / 1000) : seen);
    if (timings.prompt_ms > 0) stats.promptSpeed = timings.prompt_n / (timings.prompt_ms / 1000);
    if (this.finish) stats.finish = this.finish;
    for (const [name, value] of Object.entries(stats)) {
      if (name !== "finish" && !Number.isFinite(value)) delete stats[name];
    }
    this.message.stats = stats;
  }

  fail(error) {
    const message = this.message;
    if (error.name === "AbortError") {
      message.status = "stopped";
      return;
    }
    const isKnown = error instanceof ApiError;
    message.status = isKnown && error.kind === "interrupted" ? "interrupted" : "failed";
    message.error = isKnown
      ? { kind: error.kind, title: error.message, detail: error.detail }
      : { kind: "failed", title: "This page made a mistake.", detail: String(error && error.message) };
    if (!isKnown) console.error(error);
  }
}

// Name and id come once, the arguments in pieces.
function addCall(message, delta) {
  message.toolCalls ??= [];
  const isPlace = Number.isInteger(delta.index) && delta.index >= 0 && delta.index < kMostCalls;
  const index = isPlace ? delta.index : message.toolCalls.length;
  while (message.toolCalls.length <= index) message.toolCalls.push({ id: "", name: "", arguments: "" });
  const call = message.toolCalls[index];
  if (delta.id) call.id = delta.id;
  if (delta.function?.name) call.name = delta.function.name;
  if (delta.function?.arguments) call.arguments += delta.function.arguments;
}
