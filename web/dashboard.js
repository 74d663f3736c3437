// SPDX-License-Identifier: Apache-2.0
// The dashboard: reads /metrics every second while it is looked at, every five while the chat is, and
// not at all while the page is hidden or before the dashboard was first opened.

import { el, shortNumber, shortSeconds, wholeNumber } from "./dom.js";
import { Plot } from "./plot.js";
import { Telemetry } from "./telemetry.js";

const kSpans = [[60, "1 min"], [300, "5 min"], [900, "15 min"], [3600, "1 h"]];
const kPercent = (value) => `${Number(value.toFixed(value < 10 ? 1 : 0))} %`;

const kTiles = [
  { name: "generationRate", label: "Generation", unit: "tok/s", format: shortNumber },
  { name: "promptRate", label: "Prompt", unit: "tok/s", format: shortNumber },
  { name: "running", label: "Running", format: wholeNumber },
  { name: "waiting", label: "Waiting", format: wholeNumber },
  { name: "cacheUse", label: "Cache in use", format: kPercent },
  { name: "hitRate", label: "Prefix hits", format: kPercent },
  { name: "ttft50", label: "First token p50", format: shortSeconds },
  { name: "itl50", label: "Inter-token p50", format: shortSeconds },
];

const kPlots = [
  { title: "Tokens per second", format: shortNumber, series: [
    { name: "generationRate", label: "generation", color: "--plot-1" },
    { name: "promptRate", label: "prompt", color: "--plot-2" }] },
  { title: "Requests", format: wholeNumber, whole: true, series: [
    { name: "running", label: "running", color: "--plot-1" },
    { name: "waiting", label: "waiting", color: "--plot-2" }] },
  { title: "Cache", format: kPercent, top: 100, series: [
    { name: "cacheUse", label: "in use", color: "--plot-1" },
    { name: "hitRate", label: "prefix hits", color: "--plot-3" }] },
  { title: "Time to first token", format: shortSeconds, series: percentiles("ttft") },
  { title: "Inter-token latency", format: shortSeconds, series: percentiles("itl") },
];

function percentiles(name) {
  return [50, 90, 99].map((percent, i) =>
    ({ name: `${name}${percent}`, label: `p${percent}`, color: `--ramp-${i + 1}` }));
}

export class Dashboard {
  constructor(root, api) {
    this.api = api;
    this.telemetry = new Telemetry();
    this.span = kSpans[0][0];
    this.marked = null;
    this.isShown = false;
    this.wasShown = false;
    this.failures = 0;
    this.tiles = kTiles.map((tile) =>
      ({ ...tile, value: el("span", { class: "tile-value", "data-metric": tile.name }, "–") }));
    this.plots = kPlots.map((plot) => new Plot({ ...plot, onPoint: (time) => this.mark(time) }));
    this.state = el("span", { class: "dash-state", role: "status" });
    this.totals = el("dl", { class: "totals" });
    root.append(
      el("div", { class: "dash-head" }, el("h1", {}, "Dashboard"), this.state, this.spanButtons()),
      el("div", { class: "tiles" }, this.tiles.map((tile) => el("div", { class: "tile" },
        el("span", { class: "tile-label" }, tile.label),
        el("span", {}, tile.value, tile.unit ? el("span", { class: "tile-unit" }, ` ${tile.unit}`) : null)))),
      el("div", { class: "plots" }, this.plots.map((plot) => plot.root), el("section", { class: "plot" },
        el("div", { class: "plot-title" }, "Since the server started"), this.totals)));
    document.addEventListener("visibilitychange", () => this.schedule(0));
    new ResizeObserver(() => this.draw()).observe(root);
  }

  spanButtons() {
    const choose = (span) => {
      this.span = span;
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", kSpans[i][0] === span));
      this.draw();
    };
    const buttons = kSpans.map(([span, label]) =>
      el("button", { type: "button", "aria-pressed": span === this.span, onclick: () => choose(span) }, label));
    return el("div", { class: "segments", role: "group", "aria-label": "Time shown" }, buttons);
  }

  setShown(isShown) {
    this.isShown = isShown;
    this.wasShown ||= isShown;
    this.schedule(0);
    if (isShown) this.draw();
  }

  interval() {
    if (document.hidden || !this.wasShown) return null;
    if (!this.isShown && this.failures > 0) return null;  // nobody looks: no use in knocking
    return (this.isShown ? 1 : 5) * Math.min(2 ** this.failures, 8);
  }

  schedule(delay) {
    clearTimeout(this.timer);
    if (this.interval() !== null) this.timer = setTimeout(() => this.poll(), delay * 1000);
  }

  async poll() {
    if (this.isPolling) return;
    this.isPolling = true;
    try {
      const text = await this.api.metricsText(AbortSignal.timeout(10000));
      this.telemetry.add(text, Date.now() / 1000, this.isShown ? 1 : 5);
      this.failures = 0;
      this.state.textContent = "";
    } catch (error) {
      ++this.failures;
      const trouble = error.kind === undefined ? "The server is slow to answer." : error.message;
      this.state.textContent = `${trouble} ${error.kind === "key" ? "Enter it in the settings." : "Trying again."}`;
    }
    this.isPolling = false;
    this.draw();
    this.schedule(this.interval() ?? 0);
  }

  mark(time) {
    this.marked = time;
    this.draw();
  }

  draw() {
    if (!this.isShown) return;
    const now = Date.now() / 1000;
    for (const plot of this.plots) plot.draw(this.telemetry.points, now, this.span, this.marked);
    const values = this.telemetry.last();
    for (const tile of this.tiles) {
      const value = values ? values[tile.name] : null;
      tile.value.textContent = value === null || value === undefined ? "–" : tile.format(value);
    }
    this.drawTotals();
  }

  drawTotals() {
    const totals = this.telemetry.totals;
    if (!totals) return;
    const rows = [
      ["Prompt tokens", totals.prompt], ["Generated tokens", totals.generated],
      ["Prompt tokens found in the cache", totals.hits], ["Preemptions", totals.preemptions],
      ...[...totals.finished].map(([reason, count]) => [`Requests finished: ${reason}`, count]),
    ];
    const shown = rows.filter(([, value]) => value !== null);
    this.totals.replaceChildren(...shown.flatMap(([label, value]) =>
      [el("dt", {}, label), el("dd", {}, wholeNumber(value))]));
  }
}
