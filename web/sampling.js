// SPDX-License-Identifier: Apache-2.0
// The sampling settings: what there is to set, and the fields of a request that they become. A field
// that is not set is not sent, so the model's own default holds.

export const kSamplingFields = [
  { name: "temperature", label: "Temperature", min: 0, max: 2, step: 0.05,
    hint: "0 always takes the likeliest token" },
  { name: "top_p", label: "Top p", min: 0, max: 1, step: 0.01,
    hint: "keep the likeliest tokens up to this share" },
  { name: "top_k", label: "Top k", min: 0, max: 200, step: 1, isOpen: true,
    hint: "keep this many tokens; 0 keeps all" },
  { name: "min_p", label: "Min p", min: 0, max: 1, step: 0.01,
    hint: "drop tokens below this share of the likeliest" },
  { name: "repetition_penalty", label: "Repetition penalty", min: 0.5, max: 2, step: 0.01,
    hint: "above 1 discourages tokens already seen" },
  { name: "presence_penalty", label: "Presence penalty", min: -2, max: 2, step: 0.05,
    hint: "once for every token already in the answer" },
  { name: "frequency_penalty", label: "Frequency penalty", min: -2, max: 2, step: 0.05,
    hint: "for every time a token is in the answer" },
  { name: "max_tokens", label: "Most tokens", min: 1, max: 4096, step: 1, isOpen: true,
    hint: "the answer ends after these" },
  { name: "seed", label: "Seed", min: 0, step: 1, isOpen: true,
    hint: "the same seed gives the same answer" },
];

// The number in a field, or null; throws an Error with a sentence when it is not one.
export function readField(field, text) {
  if (text.trim() === "") return null;
  const value = Number(text);
  const isWhole = field.step === 1;
  if (!Number.isFinite(value) || (isWhole && !Number.isSafeInteger(value))) {
    throw new Error(`must be a ${isWhole ? "whole " : ""}number`);
  }
  if (value < field.min || (!field.isOpen && value > field.max)) {
    throw new Error(field.isOpen ? `must be ${field.min} or more` : `must be from ${field.min} to ${field.max}`);
  }
  return value;
}

// Stop texts, one a line; \n and \t stand for the characters.
export function readStops(text) {
  return text.split("\n").filter((line) => line !== "")
    .map((line) => line.replace(/\\([nt\\])/g, (_, mark) => ({ n: "\n", t: "\t", "\\": "\\" })[mark]));
}

export function readExtra(text) {
  if (text.trim() === "") return {};
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`is not JSON: ${error.message}`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("must be a JSON object");
  return value;
}

// The fields of a request for `values` as the panel keeps them: {name: text, stop: text, extra: text}.
// What cannot be read is left out: the panel shows it.
export function requestFields(values) {
  const body = {};
  for (const field of kSamplingFields) {
    try {
      const value = readField(field, String(values[field.name] ?? ""));
      if (value !== null) body[field.name] = value;
    } catch { /* shown beside the field */ }
  }
  const stops = readStops(values.stop ?? "");
  if (stops.length > 0) body.stop = stops;
  try {
    Object.assign(body, readExtra(values.extra ?? ""));
  } catch { /* shown beside the field */ }
  return body;
}
