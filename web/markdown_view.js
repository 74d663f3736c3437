// SPDX-License-Identifier: Apache-2.0
// Markdown as elements, while it is still being written. Blocks that a later block follows are final
// and never touched again; of the last one only what changed is replaced, so that a long answer costs
// no more per word than a short one and selections in it survive. Model text is only ever text nodes.

import { el, icon, copyFrom } from "./dom.js";
import { parseBlocks } from "./markdown_blocks.js";
import { parseInline } from "./markdown_inline.js";

export class MarkdownView {
  constructor(root) {
    this.root = root;
    this.reset();
  }

  reset() {
    this.root.replaceChildren();
    this.text = "";
    this.finalLength = 0;  // characters whose blocks are final
    this.live = [];        // [{block, node}] of the rest
  }

  update(text, isComplete) {
    if (!text.startsWith(this.text)) this.reset();
    this.text = text;
    const tail = text.slice(this.finalLength);
    const blocks = parseBlocks(tail);
    this.live = reconcile(this.root, this.live, blocks);
    // A block is final when the line that begins the next has ended: "#" may yet become "#1", and
    // the line of dashes that makes a table of the one above may yet be text.
    const complete = isComplete ? Infinity : countLines(tail) - 1;
    let count = 0;
    while (count + 1 < blocks.length && beginsAt(blocks[count + 1]) < complete) ++count;
    if (count === 0) return;
    this.finalLength += offsetOfLine(tail, blocks[count].line);
    this.live.splice(0, count);
  }
}

export function renderMarkdown(text) {
  const root = el("div", { class: "markdown" });
  new MarkdownView(root).update(text, true);
  return root;
}

function beginsAt(block) {
  return block.line + (block.type === "table" ? 1 : 0);
}

function countLines(text) {
  let count = 1;
  for (let i = -1; (i = text.indexOf("\n", i + 1)) >= 0;) ++count;
  return count;
}

function offsetOfLine(text, line) {
  let offset = 0;
  for (; line > 0; --line) offset = text.indexOf("\n", offset) + 1;
  return offset;
}

// Makes the last children of `parent` (those in `old`) show `blocks`; returns the new pairs.
function reconcile(parent, old, blocks) {
  const pairs = blocks.map((block, i) => {
    const before = old[i];
    if (!before) return { block, node: null };
    if (before.block.type === block.type) {
      if (before.block.source === block.source) return { ...before, block };
      if (revise(before, block)) return { ...before, block };
    }
    return { block, node: null };
  });
  pairs.forEach((pair, i) => {
    const before = old[i] && old[i].node;
    if (!pair.node) {
      Object.assign(pair, make(pair.block), { block: pair.block });
      if (before) before.replaceWith(pair.node);
      else parent.append(pair.node);
    }
  });
  for (const extra of old.slice(blocks.length)) extra.node.remove();
  return pairs;
}

// Changes a node to show `block`, of the same type; false where making it anew is simpler.
function revise(pair, block) {
  switch (block.type) {
    case "code":
      if (pair.block.language !== block.language) return false;
      if (block.text.startsWith(pair.block.text)) pair.textNode.appendData(block.text.slice(pair.block.text.length));
      else pair.textNode.data = block.text;
      return true;
    case "quote":
      pair.inner = reconcile(pair.node, pair.inner, block.children);
      return true;
    case "list":
      return reviseList(pair, block);
    case "table":
      return reviseTable(pair, block);
    default:
      return false;
  }
}

function make(block) {
  switch (block.type) {
    case "heading": return { node: el(`h${block.level}`, {}, inlineNodes(block.text)) };
    case "rule": return { node: el("hr") };
    case "code": return makeCode(block);
    case "quote": {
      const node = el("blockquote");
      return { node, inner: reconcile(node, [], block.children) };
    }
    case "list": {
      const first = block.isOrdered && block.first !== 1 ? block.first : null;
      const pair = { node: el(block.isOrdered ? "ol" : "ul", { start: first }), items: [], block: { items: [] } };
      reviseList(pair, block);
      return pair;
    }
    case "table": return makeTable(block);
    default: return { node: el("p", {}, inlineNodes(block.text)) };
  }
}

function makeCode(block) {
  const textNode = document.createTextNode(block.text);
  const copy = el("button", { type: "button", class: "code-copy", "aria-label": "Copy code", title: "Copy code",
    onclick: () => copyFrom(copy, textNode.data) }, icon("copy"));
  const node = el("div", { class: "code" },
    el("div", { class: "code-head" }, el("span", {}, block.language || "text"), copy),
    el("pre", { tabindex: "0" }, el("code", {}, textNode)));
  return { node, textNode };
}

function reviseList(pair, block) {
  if (pair.block.isOrdered !== undefined && pair.block.isOrdered !== block.isOrdered) return false;
  if (block.isTight) pair.node.className = "tight";
  else pair.node.removeAttribute("class");
  block.items.forEach((item, i) => {
    let shown = pair.items[i];
    if (shown && shown.source === item.source) return;
    if (!shown || shown.checked !== item.checked) {
      const node = el("li", { class: item.checked === null ? null : "task" });
      if (item.checked !== null) node.append(el("input", { type: "checkbox", disabled: true, checked: item.checked }));
      if (shown) shown.node.replaceWith(node);
      else pair.node.append(node);
      shown = pair.items[i] = { node, checked: item.checked, inner: [] };
    }
    shown.source = item.source;
    shown.inner = reconcile(shown.node, shown.inner, item.children);
  });
  pair.items.splice(block.items.length).forEach((extra) => extra.node.remove());
  return true;
}

function makeTable(block) {
  const row = (tag, cells) => el("tr", {}, cells.map((text, i) => {
    const cell = el(tag, tag === "th" ? { scope: "col" } : {}, inlineNodes(text));
    if (block.aligns[i]) cell.style.textAlign = block.aligns[i];
    return cell;
  }));
  const body = el("tbody", {}, block.rows.map((cells) => row("td", cells)));
  const node = el("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table" },
    el("table", {}, el("thead", {}, row("th", block.head)), body));
  return { node, body, row };
}

// Rows only arrive at the end; the last one may have been half a line.
function reviseTable(pair, block) {
  const old = pair.block;
  if (JSON.stringify([old.head, old.aligns]) !== JSON.stringify([block.head, block.aligns])) return false;
  const kept = Math.max(0, old.rows.length - 1);
  while (pair.body.children.length > kept) pair.body.lastChild.remove();
  pair.body.append(...block.rows.slice(kept).map((cells) => pair.row("td", cells)));
  return true;
}

function inlineNodes(text) {
  return parseInline(text).map((node) => inlineNode(node, false));
}

function inlineNode(node, isInLink) {
  switch (node.type) {
    case "text": return document.createTextNode(node.text);
    case "code": return el("code", {}, node.text);
    case "br": return el("br");
    case "link":
      if (isInLink) return inlineGroup("span", {}, node, true);
      return inlineGroup("a", { href: node.href, target: "_blank", rel: "noopener noreferrer nofollow" }, node, true);
    default: return inlineGroup(node.type, {}, node, isInLink);
  }
}

function inlineGroup(tag, props, node, isInLink) {
  return el(tag, props, node.children.map((child) => inlineNode(child, isInLink)));
}
