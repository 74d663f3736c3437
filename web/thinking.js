// SPDX-License-Identifier: Apache-2.0
// Models whose reasoning the server does not part from the answer begin with <think>.

const kOpen = "<think>";
const kClose = "</think>";

// {thinking, answer} of an answer's text; `thinking` is "" where there is none.
export function splitThinking(text) {
  const trimmed = text.trimStart();
  if (!trimmed.startsWith(kOpen)) return { thinking: "", answer: text };
  const end = trimmed.indexOf(kClose);
  if (end < 0) return { thinking: trimmed.slice(kOpen.length), answer: "" };
  return { thinking: trimmed.slice(kOpen.length, end).trim(), answer: trimmed.slice(end + kClose.length).trimStart() };
}
