// SPDX-License-Identifier: Apache-2.0
// Markdown's blocks, from lines to a tree of plain values. Close to CommonMark and GitHub's tables,
// lenient where models are sloppy (nested lists indented by two), and without indented code, HTML
// and link definitions. Each line is looked at a bounded number of times.
//   {type: "paragraph", text} {type: "heading", level, text} {type: "rule"}
//   {type: "code", language, text} {type: "quote", children}
//   {type: "list", isOrdered, first, isTight, items: [{children, checked, source}]}
//   {type: "table", aligns, head: [text], rows: [[text]]}
// Every block has `line`, the number of its first line, and `source`, what it was made from.

const kMostDepth = 12;  // of quotes and lists in each other; deeper ones are text
const kMarker = /^( {0,3})([-*+]|\d{1,9}[.)])(?:[ \t](.*)|)$/s;
const kFence = /^( {0,3})(`{3,}|~{3,})(.*)$/s;
const kHeading = /^ {0,3}(#{1,6})(?:[ \t]+(.*)|)$/s;
const kRule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const kUnderline = /^ {0,3}(={2,}|-{2,})\s*$/;
const kQuote = /^ {0,3}> ?/;

export function parseBlocks(text) {
  return blocksOf(text.split("\n").map(expandTabs), 0);
}

function expandTabs(line) {
  if (line.endsWith("\r")) line = line.slice(0, -1);
  if (!line.includes("\t")) return line;
  const indent = /^[ \t]*/.exec(line)[0];
  return indent.replaceAll("\t", "    ") + line.slice(indent.length);
}

function blocksOf(lines, depth) {
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) {
      ++at;
      continue;
    }
    const { block, end } = readBlock(lines, at, depth);
    block.line = at;
    block.source = lines.slice(at, end).join("\n");
    blocks.push(block);
    at = end;
  }
  return blocks;
}

function readBlock(lines, at, depth) {
  const line = lines[at];
  if (!hasMark(line)) return readTable(lines, at) || readParagraph(lines, at);
  return readFence(lines, at) || readHeading(line, at) ||
    (kRule.test(line) ? { block: { type: "rule" }, end: at + 1 } : null) ||
    (depth < kMostDepth && (readQuote(lines, at, depth) || readList(lines, at, depth))) ||
    readTable(lines, at) || readParagraph(lines, at);
}

// Whether a line begins like something else than text; most do not, and are spared the expressions.
function hasMark(line) {
  return "`~#*-_>+0123456789".includes(line[indentOf(line)] ?? " ");
}

function isBlank(line) {
  return line.trim() === "";
}

function indentOf(line) {
  let count = 0;
  while (line[count] === " ") ++count;
  return count;
}

function withoutIndent(line, most) {
  return line.slice(Math.min(indentOf(line), most));
}

function fenceOf(line) {
  const match = hasMark(line) ? kFence.exec(line) : null;
  return match && !(match[2][0] === "`" && match[3].includes("`")) ? match : null;
}

// Whether a line ends a paragraph above it.
function interrupts(line) {
  if (!hasMark(line)) return false;
  if (fenceOf(line) || kHeading.test(line) || kRule.test(line) || kQuote.test(line)) return true;
  const marker = kMarker.exec(line);
  return marker !== null && !isBlank(marker[3] ?? "") && (!/\d/.test(marker[2][0]) || parseInt(marker[2], 10) === 1);
}

function readFence(lines, at) {
  const open = fenceOf(lines[at]);
  if (!open) return null;
  const mark = open[2];
  let end = at + 1;
  const isClose = (line) => {
    const text = line.trim();
    return indentOf(line) < 4 && text.length >= mark.length && text === mark[0].repeat(text.length);
  };
  while (end < lines.length && !isClose(lines[end])) ++end;
  const text = lines.slice(at + 1, end).map((line) => withoutIndent(line, open[1].length)).join("\n");
  const language = open[3].trim().split(/\s/)[0].slice(0, 40);
  return { block: { type: "code", language, text }, end: Math.min(end + 1, lines.length) };
}

function readHeading(line, at) {
  const match = kHeading.exec(line);
  if (!match) return null;
  let text = (match[2] ?? "").trim();
  let end = text.length;
  while (text[end - 1] === "#") --end;
  if (end === 0 || text[end - 1] === " ") text = text.slice(0, end).trim();
  return { block: { type: "heading", level: match[1].length, text }, end: at + 1 };
}

function readQuote(lines, at, depth) {
  if (!kQuote.test(lines[at])) return null;
  const inner = [];
  let end = at;
  for (; end < lines.length; ++end) {
    if (kQuote.test(lines[end])) inner.push(lines[end].replace(kQuote, ""));
    else if (isBlank(lines[end]) || isBlank(inner[inner.length - 1]) || interrupts(lines[end])) break;
    else inner.push(lines[end]);  // a paragraph that goes on without its mark
  }
  return { block: { type: "quote", children: blocksOf(inner, depth + 1) }, end };
}

function markerOf(line) {
  const match = hasMark(line) ? kMarker.exec(line) : null;
  if (!match || kRule.test(line)) return null;
  const rest = match[3] ?? "";
  const gap = isBlank(rest) ? 0 : indentOf(rest);
  return {
    indent: match[1].length,
    kind: match[2].slice(-1),
    number: parseInt(match[2], 10) || 0,
    width: match[1].length + match[2].length + 1 + (gap < 4 ? gap : 0),
    text: isBlank(rest) ? "" : rest.slice(gap < 4 ? gap : 0),
  };
}

function readList(lines, at, depth) {
  const first = markerOf(lines[at]);
  if (!first) return null;
  const list = {
    type: "list", isOrdered: /[.)]/.test(first.kind), first: first.number, isTight: true, items: [],
  };
  let end = at;
  let isAfterBlank = false;
  while (end < lines.length) {
    const marker = markerOf(lines[end]);
    if (!marker || marker.kind !== first.kind || marker.indent > first.indent + 1) break;
    const item = readItem(lines, end, marker);
    if (isAfterBlank || item.hasGap) list.isTight = false;
    list.items.push(taskItem(item.lines, depth));
    isAfterBlank = item.endsBlank;
    end = item.next;
  }
  return { block: list, end };
}

// The lines of one item, without its indent. Blank lines at its end belong to nobody.
function readItem(lines, at, marker) {
  const inside = [];
  let fence = null;  // the mark of a code block that is open at this line
  const add = (line) => {
    inside.push(line);
    const match = fenceOf(line);
    if (!match) return;
    if (fence === null) fence = match[2];
    else if (match[3].trim() === "" && match[2].startsWith(fence)) fence = null;
  };
  add(marker.text);
  const least = Math.min(marker.width, marker.indent + 2);
  let next = at + 1;
  let blanks = 0;
  let hasGap = false;
  for (; next < lines.length; ++next) {
    const line = lines[next];
    if (isBlank(line)) {
      ++blanks;
      continue;
    }
    if (indentOf(line) >= least) {
      if (blanks > 0 && fence === null) hasGap = true;
    } else if (blanks > 0 || interrupts(line) || markerOf(line) || isBlank(inside[inside.length - 1])) {
      break;
    }
    for (; blanks > 0; --blanks) inside.push("");
    add(withoutIndent(line, marker.width));
  }
  return { lines: inside, next, hasGap, endsBlank: blanks > 0 };
}

function taskItem(lines, depth) {
  const source = lines.join("\n");
  const task = /^\[([ xX])\] +(.*)$/s.exec(lines[0]);
  if (task) lines[0] = task[2];
  return { children: blocksOf(lines, depth + 1), checked: task ? task[1] !== " " : null, source };
}

function cellsOf(line) {
  const text = line.trim();
  const cells = [];
  let cell = "";
  for (let i = text[0] === "|" ? 1 : 0; i < text.length; ++i) {
    if (text[i] === "\\" && text[i + 1] === "|") {
      cell += "|";
      ++i;
    } else if (text[i] === "|") {
      cells.push(cell.trim());
      cell = "";
    } else {
      cell += text[i];
    }
  }
  if (cell.trim() !== "" || !text.endsWith("|")) cells.push(cell.trim());
  return cells;
}

function alignsOf(line) {
  if (line === undefined || !line.includes("-") || !/^[ \t|:-]+$/.test(line)) return null;
  const cells = cellsOf(line);
  if (!cells.every((cell) => /^:?-+:?$/.test(cell))) return null;
  return cells.map((cell) => {
    if (cell.endsWith(":")) return cell[0] === ":" ? "center" : "right";
    return cell[0] === ":" ? "left" : null;
  });
}

function isTableHead(lines, at) {
  if (!lines[at].includes("|")) return false;
  const aligns = alignsOf(lines[at + 1]);
  return aligns !== null && aligns.length === cellsOf(lines[at]).length;
}

function readTable(lines, at) {
  if (!isTableHead(lines, at)) return null;
  const aligns = alignsOf(lines[at + 1]);
  const rows = [];
  let end = at + 2;
  for (; end < lines.length && !isBlank(lines[end]) && !interrupts(lines[end]); ++end) {
    const cells = cellsOf(lines[end]);
    rows.push(aligns.map((_, column) => cells[column] ?? ""));
  }
  return { block: { type: "table", aligns, head: cellsOf(lines[at]), rows }, end };
}

function readParagraph(lines, at) {
  const text = [lines[at].trimStart()];
  let end = at + 1;
  for (; end < lines.length && !isBlank(lines[end]); ++end) {
    const underline = kUnderline.exec(lines[end]);
    if (underline) {
      const level = underline[1][0] === "=" ? 1 : 2;
      return { block: { type: "heading", level, text: text.join("\n").trim() }, end: end + 1 };
    }
    if (interrupts(lines[end]) || (isTableHead(lines, end) && !markerOf(lines[end]))) break;
    text.push(lines[end].trimStart());
  }
  return { block: { type: "paragraph", text: text.join("\n").trimEnd() }, end };
}
