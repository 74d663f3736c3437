// SPDX-License-Identifier: Apache-2.0
// A line plot over time on a canvas. Missing values leave gaps. Pointing at it (or the arrow keys)
// shows the values of that moment in the legend, in every plot at once.

import { el } from "./dom.js";

const kLeft = 52;
const kTop = 8;
const kBottom = 20;
const kRight = 10;

// A number at or above `value` that reads well, with the number of parts its axis has.
export function niceTop(value) {
  if (!(value > 0)) return { top: 1, parts: 2 };
  const power = 10 ** Math.floor(Math.log10(value));
  for (const [factor, parts] of [[1, 4], [1.5, 3], [2, 4], [3, 3], [4, 4], [5, 5], [6, 3], [8, 4], [10, 5]]) {
    if (value <= factor * power * (1 + 1e-9)) return { top: factor * power, parts };
  }
  return { top: 10 * power, parts: 5 };
}

export class Plot {
  // series: [{name, label, color}], color the name of a CSS variable; `format(value)` for axis and
  // legend; `top` where the axis is fixed; `whole` when only whole numbers have a meaning.
  constructor({ title, series, format, top, whole, onPoint }) {
    Object.assign(this, { title, series, format, top, whole, onPoint });
    this.values = series.map(() => el("span", { class: "legend-value" }, "–"));
    this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": title });
    this.root = el("figure", { class: "plot" },
      el("figcaption", {}, el("span", { class: "plot-title" }, title),
        el("span", { class: "legend" }, series.map((line, i) => el("span", { class: "legend-entry" },
          swatch(line.color), el("span", {}, line.label), this.values[i])))),
      this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.canvas.addEventListener("pointerleave", () => onPoint(null));
    this.canvas.addEventListener("blur", () => onPoint(null));
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
  }

  // points: [{time, values: {name: number|null}}] ascending; the axis ends at `now`, in seconds.
  // `marked` is the time that is pointed at, or null.
  draw(points, now, span, marked) {
    const begin = now - span;
    Object.assign(this, { now, span, marked });
    this.visible = points.filter((point) => point.time >= begin - 5);
    const chosen = marked === null ? this.visible[this.visible.length - 1] : nearest(this.visible, marked);
    this.showValues(chosen);
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (width === 0) return;
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const pen = this.canvas.getContext("2d");
    const style = getComputedStyle(this.root);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = `11px ${style.fontFamily}`;
    const area = { left: kLeft, right: width - kRight, top: kTop, bottom: height - kBottom };
    const x = (time) => area.left + (time - begin) / span * (area.right - area.left);
    const scale = this.scale();
    const y = (value) => area.bottom - Math.min(value, scale.top) / scale.top * (area.bottom - area.top);
    this.drawAxes(pen, style, area, scale, x, y);
    pen.save();
    pen.beginPath();
    pen.rect(area.left, 0, area.right - area.left + 1, height);
    pen.clip();
    for (const line of this.series) this.drawLine(pen, style.getPropertyValue(line.color), line.name, x, y, area);
    pen.restore();
    if (marked !== null && chosen) this.drawMark(pen, style, chosen, area, x, y);
  }

  scale() {
    if (this.top) return { top: this.top, parts: 4 };
    let most = 0;
    for (const point of this.visible) {
      for (const line of this.series) most = Math.max(most, point.values[line.name] ?? 0);
    }
    const scale = niceTop(most * 1.05);
    if (!this.whole) return scale;
    const top = Math.max(scale.top, 2);
    if (Number.isInteger(top / scale.parts)) return { top, parts: scale.parts };
    return { top: Math.ceil(top / 2) * 2, parts: 2 };
  }

  drawAxes(pen, style, area, scale, x, y) {
    pen.strokeStyle = style.getPropertyValue("--line");
    pen.fillStyle = style.getPropertyValue("--faint");
    pen.lineWidth = 1;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (let part = 0; part <= scale.parts; ++part) {
      const value = scale.top * part / scale.parts;
      const row = Math.round(y(value)) + 0.5;
      pen.beginPath();
      pen.moveTo(area.left, row);
      pen.lineTo(area.right, row);
      pen.stroke();
      pen.fillText(this.format(value), area.left - 8, row);
    }
    pen.textBaseline = "alphabetic";
    const isWide = area.right - area.left > 420;
    const parts = !isWide ? 2 : this.span === 300 ? 5 : this.span === 900 ? 3 : 4;  // whole minutes
    for (let part = 0; part <= parts; ++part) {
      const ago = this.span * (1 - part / parts);
      pen.textAlign = part === 0 ? "left" : part === parts ? "right" : "center";
      pen.fillText(ago === 0 ? "now" : agoText(ago), x(this.now - ago), area.bottom + 15);
    }
  }

  drawLine(pen, color, name, x, y, area) {
    const runs = [];
    let run = null;
    let last = null;
    for (const point of this.visible) {
      const value = point.values[name];
      if (value === null || value === undefined || (last !== null && point.time - last > point.gap)) run = null;
      last = point.time;
      if (value === null || value === undefined) continue;
      if (!run) runs.push(run = []);
      run.push([x(point.time), y(value)]);
    }
    pen.strokeStyle = pen.fillStyle = color;
    pen.lineWidth = 1.75;
    pen.lineJoin = "round";
    for (const part of runs) {
      pen.beginPath();
      part.forEach(([px, py], i) => i === 0 ? pen.moveTo(px, py) : pen.lineTo(px, py));
      pen.stroke();
      if (part.length === 1) pen.fillRect(part[0][0] - 1, part[0][1] - 1, 2, 2);
      if (this.series.length > 2) continue;  // areas under many lines only hide each other
      pen.lineTo(part[part.length - 1][0], area.bottom);
      pen.lineTo(part[0][0], area.bottom);
      pen.globalAlpha = 0.09;
      pen.fill();
      pen.globalAlpha = 1;
    }
  }

  drawMark(pen, style, chosen, area, x, y) {
    const column = Math.round(x(chosen.time)) + 0.5;
    pen.strokeStyle = style.getPropertyValue("--faint");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(column, area.top);
    pen.lineTo(column, area.bottom);
    pen.stroke();
    const text = `${agoText(this.now - chosen.time)} ago`;
    const half = pen.measureText(text).width / 2 + 4;
    const middle = Math.min(area.right - half, Math.max(area.left + half, column));
    pen.fillStyle = style.getPropertyValue("--surface");
    pen.fillRect(middle - half, area.bottom + 2, 2 * half, kBottom - 2);
    pen.fillStyle = style.getPropertyValue("--text");
    pen.textAlign = "center";
    pen.fillText(text, middle, area.bottom + 15);
    for (const line of this.series) {
      const value = chosen.values[line.name];
      if (value === null || value === undefined) continue;
      pen.fillStyle = style.getPropertyValue(line.color);
      pen.beginPath();
      pen.arc(column, y(value), 3, 0, 7);
      pen.fill();
    }
  }

  showValues(point) {
    const texts = this.series.map((line) => {
      const value = point ? point.values[line.name] : null;
      return value === null || value === undefined ? "–" : this.format(value);
    });
    texts.forEach((text, i) => { if (this.values[i].textContent !== text) this.values[i].textContent = text; });
    const spoken = this.series.map((line, i) => `${line.label} ${texts[i]}`).join(", ");
    this.canvas.setAttribute("aria-label", `${this.title}: ${spoken}`);
  }

  point(offset) {
    const inner = this.canvas.clientWidth - kLeft - kRight;
    const share = Math.min(1, Math.max(0, (offset - kLeft) / inner));
    this.onPoint(this.now - this.span * (1 - share));
  }

  onKey(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !this.visible || this.visible.length === 0) return;
    event.preventDefault();
    const at = this.marked === null ? this.visible.length : this.visible.indexOf(nearest(this.visible, this.marked));
    this.onPoint(this.visible[Math.min(this.visible.length - 1, Math.max(0, at + step))].time);
  }
}

function swatch(color) {
  const node = el("span", { class: "swatch" });
  node.style.background = `var(${color})`;
  return node;
}

function nearest(points, time) {
  let best = null;
  for (const point of points) {
    if (!best || Math.abs(point.time - time) < Math.abs(best.time - time)) best = point;
  }
  return best;
}

function agoText(seconds) {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  return `${Number((seconds / 60).toFixed(1))} min`;
}
