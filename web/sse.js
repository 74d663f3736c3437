// SPDX-License-Identifier: Apache-2.0
// Server-sent events from text in pieces, cut anywhere; the rules are those of the WHATWG standard.

const kMostLine = 16 * 1024 * 1024;

export class SseParser {
  constructor() {
    this.rest = "";  // of a line that has not ended
    this.data = [];
    this.event = "";
    this.isFirst = true;
    this.endsInReturn = false;  // a "\n" that comes next belongs to it
  }

  // The events that `text` completes: [{event, data}].
  push(text) {
    if (text === "") return [];
    if (this.isFirst && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    this.isFirst = false;
    if (this.endsInReturn && text[0] === "\n") text = text.slice(1);
    this.endsInReturn = text.endsWith("\r");
    const lines = (this.rest + text).split(/\r\n|\n|\r/);
    this.rest = lines.pop();
    if (this.rest.length > kMostLine) throw new Error("the server sent a line without end");
    const events = [];
    for (const line of lines) this.takeLine(line, events);
    return events;
  }

  takeLine(line, events) {
    if (line === "") {
      if (this.data.length > 0) events.push({ event: this.event || "message", data: this.data.join("\n") });
      this.data = [];
      this.event = "";
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;  // a comment, sent to keep the connection open
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value[0] === " ") value = value.slice(1);
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
  }
}
