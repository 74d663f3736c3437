// SPDX-License-Identifier: Apache-2.0
// Prometheus' text format, and the arithmetic that dashboards do with it: rates of counters and
// quantiles of what a histogram has gained between two readings.

const kName = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const kLabel = /\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,?)/y;

// name -> [{labels, value}]; lines that cannot be read are skipped.
export function parseMetrics(text) {
  const metrics = new Map();
  for (const line of text.split("\n")) {
    if (line === "" || line[0] === "#") continue;
    const sample = parseSample(line);
    if (!sample) continue;
    if (!metrics.has(sample.name)) metrics.set(sample.name, []);
    metrics.get(sample.name).push(sample);
  }
  return metrics;
}

function parseSample(line) {
  const name = kName.exec(line)?.[0];
  if (!name) return null;
  const labels = {};
  let at = name.length;
  if (line[at] === "{") {
    ++at;
    while (line[at] !== "}") {
      kLabel.lastIndex = at;
      const match = kLabel.exec(line);
      if (!match) return null;
      labels[match[1]] = match[2].replace(/\\(.)/g, (_, char) => char === "n" ? "\n" : char);
      at = kLabel.lastIndex;
      if (!match[3] && line[at] !== "}") return null;
    }
    ++at;
  }
  const word = line.slice(at).trim().split(/\s+/)[0];  // a timestamp may follow
  const value = parseValue(word);
  return Number.isNaN(value) && word !== "NaN" ? null : { name, labels, value };
}

function parseValue(word) {
  if (word === "+Inf") return Infinity;
  if (word === "-Inf") return -Infinity;
  return word === "" ? NaN : Number(word);
}

// Over all labels (models, engines); null where the metric is not there.
export function sumOf(metrics, name) {
  const samples = metrics.get(name);
  return samples ? samples.reduce((sum, sample) => sum + sample.value, 0) : null;
}

export function meanOf(metrics, name) {
  const samples = metrics.get(name);
  return samples ? sumOf(metrics, name) / samples.length : null;
}

// label value -> sum
export function sumBy(metrics, name, label) {
  const sums = new Map();
  for (const sample of metrics.get(name) || []) {
    const key = sample.labels[label] ?? "";
    sums.set(key, (sums.get(key) || 0) + sample.value);
  }
  return sums;
}

// A histogram's buckets, [{bound, count}] ascending, counts cumulative; null where it is not there.
export function bucketsOf(metrics, name) {
  const sums = new Map();
  for (const sample of metrics.get(`${name}_bucket`) || []) {
    const bound = parseValue(sample.labels.le ?? "");
    if (!Number.isNaN(bound)) sums.set(bound, (sums.get(bound) || 0) + sample.value);
  }
  if (sums.size === 0) return null;
  return [...sums].map(([bound, count]) => ({ bound, count })).sort((a, b) => a.bound - b.bound);
}

// What came in between two readings; null when the server began anew in between. A histogram that was
// not there before had counted nothing.
export function bucketsSince(before, after) {
  if (!after || !before) return after;
  if (before.length !== after.length) return null;
  const delta = after.map(({ bound, count }, i) => ({ bound, count: count - before[i].count }));
  return delta.some(({ count }) => count < 0) ? null : delta;
}

// The q-quantile, interpolated inside its bucket as Prometheus' histogram_quantile does.
export function quantileOf(buckets, q) {
  const total = buckets && buckets.length > 0 ? buckets[buckets.length - 1].count : 0;
  if (total <= 0) return null;
  const rank = q * total;
  const index = buckets.findIndex(({ count }) => count >= rank);
  const { bound, count } = buckets[index];
  const low = index > 0 ? buckets[index - 1] : { bound: 0, count: 0 };
  if (bound === Infinity) return index > 0 ? low.bound : null;
  return count === low.count ? bound : low.bound + (bound - low.bound) * (rank - low.count) / (count - low.count);
}

// Gain per second; null when there is nothing to compare or the counter began anew.
export function rateOf(before, after, seconds) {
  if (before === null || after === null || before === undefined || seconds <= 0 || after < before) return null;
  return (after - before) / seconds;
}
