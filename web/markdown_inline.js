// SPDX-License-Identifier: Apache-2.0
// Markdown inside a line of text, by CommonMark's delimiter algorithm: code, emphasis, links, breaks.
// The result is a tree of plain values; whatever is not understood stays text. Linear in the input.
//   {type: "text"|"code", text} {type: "br"} {type: "strong"|"em"|"del", children}
//   {type: "link", href, children}

const kPunctuation = /[\p{P}\p{S}]/u;
const kSpace = /\s/;
const kEscapable = /[!-/:-@[-`{-~]/;
const kEntities = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", mdash: "—", ndash: "–",
  hellip: "…", times: "×", rarr: "→", larr: "←", le: "≤", ge: "≥", deg: "°",
};
const kOrdinary = /[^\\`*_~[\]!<&\nhH]+/y;
const kMostUrl = 2048;
const kMostNesting = 24;

// The address when a click on it may leave the page: http and https only.
export function safeHref(text) {
  if (!/^https?:\/\//i.test(text) || text.length > kMostUrl) return null;
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

export function parseInline(text) {
  return new InlineParser(text).parse();
}

class InlineParser {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.tokens = [];
    this.brackets = [];  // {token: index, isActive}
    this.plain = "";
    this.noTicksAfter = new Map();  // run length -> no closing run of it from here on
  }

  parse() {
    while (this.at < this.text.length) this.step();
    this.flush();
    return nest(this.tokens);
  }

  flush() {
    if (this.plain) this.tokens.push({ type: "text", text: this.plain });
    this.plain = "";
  }

  push(token, length) {
    this.flush();
    this.tokens.push(token);
    this.at += length;
  }

  takePlain(length) {
    this.plain += this.text.slice(this.at, this.at + length);
    this.at += length;
  }

  step() {
    const char = this.text[this.at];
    switch (char) {
      case "\\": return this.escape();
      case "`": return this.code();
      case "*": case "_": case "~": return this.delimiter(char);
      case "[": return this.openBracket(1);
      case "!": return this.text[this.at + 1] === "[" ? this.openBracket(2) : this.takePlain(1);
      case "]": return this.closeBracket();
      case "<": return this.angle();
      case "&": return this.entity();
      case "\n":
        this.plain = this.plain.trimEnd();
        return this.push({ type: "br" }, 1);
      case "h": case "H": return this.bareUrl();
      default:
        kOrdinary.lastIndex = this.at;
        return this.takePlain(kOrdinary.exec(this.text)[0].length);
    }
  }

  escape() {
    const next = this.text[this.at + 1];
    if (next === "\n") return this.push({ type: "br" }, 2);
    if (next === undefined || !kEscapable.test(next)) return this.takePlain(1);
    this.plain += next;
    this.at += 2;
  }

  code() {
    const text = this.text;
    const begin = this.at;
    let length = 1;
    while (text[begin + length] === "`") ++length;
    const limit = this.noTicksAfter.get(length);
    if (limit !== undefined && begin >= limit) return this.takePlain(length);
    for (let i = begin + length; (i = text.indexOf("`", i)) >= 0;) {
      let run = 1;
      while (text[i + run] === "`") ++run;
      if (run === length) {
        let inner = text.slice(begin + length, i).replaceAll("\n", " ");
        if (inner.length > 2 && inner[0] === " " && inner.endsWith(" ") && inner.trim()) inner = inner.slice(1, -1);
        return this.push({ type: "code", text: inner }, i + run - begin);
      }
      i += run;
    }
    this.noTicksAfter.set(length, begin);
    this.takePlain(length);
  }

  delimiter(char) {
    const text = this.text;
    let count = 1;
    while (text[this.at + count] === char) ++count;
    if (char === "~" && count !== 2) return this.takePlain(count);
    const before = this.at === 0 ? " " : text[this.at - 1];
    const after = text[this.at + count] ?? " ";
    const isSpaceBefore = kSpace.test(before), isSpaceAfter = kSpace.test(after);
    const isMarkBefore = kPunctuation.test(before), isMarkAfter = kPunctuation.test(after);
    const isLeft = !isSpaceAfter && (!isMarkAfter || isSpaceBefore || isMarkBefore);
    const isRight = !isSpaceBefore && (!isMarkBefore || isSpaceAfter || isMarkAfter);
    const inWord = char === "_";  // snake_case is no emphasis
    this.push({
      type: "run", char, count, size: count, opens: [], closes: [],
      canOpen: isLeft && (!inWord || !isRight || isMarkBefore),
      canClose: isRight && (!inWord || !isLeft || isMarkAfter),
    }, count);
  }

  openBracket(length) {
    this.flush();
    this.brackets.push({ token: this.tokens.length, isActive: true });
    this.push({ type: "text", text: this.text.slice(this.at, this.at + length) }, length);
  }

  closeBracket() {
    const bracket = this.brackets.pop();
    if (!bracket || !bracket.isActive || this.text[this.at + 1] !== "(") return this.takePlain(1);
    const target = this.target(this.at + 2);
    if (!target) return this.takePlain(1);
    this.flush();
    const isImage = this.tokens[bracket.token].text === "![";  // shown as a link: nothing is fetched
    const children = nest(this.tokens.splice(bracket.token).slice(1));
    const href = safeHref(target.href);
    if (!isImage) this.brackets.forEach((outer) => { outer.isActive = false; });
    if (href && !(isImage && children.some((child) => child.type === "link"))) {
      if (children.length === 0) children.push({ type: "text", text: target.href });
      this.tokens.push({ type: "link", href, children });
    } else {
      this.tokens.push({ type: "group", children });  // the words of a link that we do not follow
    }
    this.at = target.end;
  }

  // What stands in the parentheses after [text]: address, and a title that is not shown.
  target(i) {
    const text = this.text;
    while (text[i] === " " || text[i] === "\n") ++i;
    const begin = i;
    let href;
    if (text[i] === "<") {
      const end = text.slice(i, i + kMostUrl).search(/[>\n]/);
      if (end < 0 || text[i + end] !== ">") return null;
      href = text.slice(i + 1, i + end);
      i += end + 1;
    } else {
      let depth = 0;
      for (; i < text.length && i - begin <= kMostUrl && !kSpace.test(text[i]); ++i) {
        if (text[i] === "(" && ++depth > 16) return null;
        if (text[i] === ")" && --depth < 0) break;
      }
      href = text.slice(begin, i);
    }
    while (text[i] === " " || text[i] === "\n") ++i;
    if (text[i] === '"' || text[i] === "'") {
      const end = text.slice(i + 1, i + 513).indexOf(text[i]);
      if (end < 0) return null;
      i += end + 2;
      while (text[i] === " ") ++i;
    }
    return text[i] === ")" ? { href, end: i + 1 } : null;
  }

  angle() {
    const rest = this.text.slice(this.at, this.at + kMostUrl);
    const lineBreak = /^<br\s*\/?>/i.exec(rest);
    if (lineBreak) return this.push({ type: "br" }, lineBreak[0].length);
    const link = /^<(https?:\/\/[^\s<>]+)>/i.exec(rest);
    const href = link && safeHref(link[1]);
    if (!href) return this.takePlain(1);
    this.push({ type: "link", href, children: [{ type: "text", text: link[1] }] }, link[0].length);
  }

  entity() {
    const match = /^&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,8}));/.exec(this.text.slice(this.at, this.at + 12));
    if (!match) return this.takePlain(1);
    let value = kEntities[match[3]];
    if (!match[3]) {
      const code = match[1] ? Number(match[1]) : parseInt(match[2], 16);
      value = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : "\ufffd";
    }
    if (value === undefined) return this.takePlain(1);
    this.plain += value;
    this.at += match[0].length;
  }

  bareUrl() {
    const before = this.at === 0 ? " " : this.text[this.at - 1];
    if (/[\p{L}\p{N}_]/u.test(before)) return this.takePlain(1);
    const rest = this.text.slice(this.at, this.at + kMostUrl);
    const match = /^https?:\/\/[^\s<>`\]"]+/i.exec(rest);
    if (!match) return this.takePlain(1);
    let url = match[0].replace(/[*_~]{2,}.*$/, "");
    for (;;) {  // the full stop of the sentence, and the parenthesis that it stands in
      const last = url[url.length - 1];
      const isSurplus = last === ")" && url.split(")").length > url.split("(").length;
      if (!isSurplus && !/[.,;:!?'*_~]/.test(last)) break;
      url = url.slice(0, -1);
    }
    const href = safeHref(url);
    if (!href) return this.takePlain(1);
    this.push({ type: "link", href, children: [{ type: "text", text: url }] }, url.length);
  }
}

// Pairs the runs of *, _ and ~ and returns the tree.
function nest(tokens) {
  const openers = [];
  const bottoms = new Map();  // kind of closer -> no opener for it below this height
  for (const closer of tokens) {
    if (closer.type !== "run") continue;
    while (closer.canClose && closer.count > 0) {
      const kind = `${closer.char}${closer.canOpen}${closer.size % 3}`;
      const found = findOpener(openers, closer, bottoms.get(kind) ?? 0);
      if (found < 0) {
        bottoms.set(kind, openers.length);
        break;
      }
      const opener = openers[found];
      const used = closer.char === "~" ? 2 : Math.min(opener.count, closer.count) >= 2 ? 2 : 1;
      const type = closer.char === "~" ? "del" : used === 2 ? "strong" : "em";
      opener.opens.push(type);
      closer.closes.push(type);
      opener.count -= used;
      closer.count -= used;
      openers.length = opener.count > 0 ? found + 1 : found;
      for (const [key, bottom] of bottoms) bottoms.set(key, Math.min(bottom, openers.length));
    }
    if (closer.canOpen && closer.count > 0) openers.push(closer);
  }
  return assemble(tokens);
}

function findOpener(openers, closer, bottom) {
  for (let i = openers.length - 1; i >= bottom; --i) {
    const opener = openers[i];
    if (opener.char !== closer.char) continue;
    const isOdd = (opener.canClose || closer.canOpen) && (opener.size + closer.size) % 3 === 0 &&
      !(opener.size % 3 === 0 && closer.size % 3 === 0);  // CommonMark's "multiple of 3" rule
    if (!isOdd) return i;
  }
  return -1;
}

function assemble(tokens) {
  const root = { children: [] };
  const stack = [root];
  const top = () => stack[stack.length - 1].children;
  const addText = (text) => {
    const last = top()[top().length - 1];
    if (last && last.type === "text") last.text += text;
    else top().push({ type: "text", text });
  };
  const add = (node) => node.type === "text" ? addText(node.text) : top().push(node);
  for (const token of tokens) {
    if (token.type === "group") token.children.forEach(add);
    else if (token.type !== "run") add(token);
    else {
      token.closes.forEach(() => stack.pop());
      if (token.count > 0) addText(token.char.repeat(token.count));
      for (const type of token.opens.reverse()) {  // the first pair found is the innermost
        if (stack.length > kMostNesting) {
          stack.push(stack[stack.length - 1]);
          continue;
        }
        const node = { type, children: [] };
        top().push(node);
        stack.push(node);
      }
    }
  }
  return root.children;
}
