// SPDX-License-Identifier: Apache-2.0
// From readings of /metrics to the points of the dashboard. Rates look back a few seconds, hit rate and
// latencies half a minute, so that single requests are seen and do not flicker.

import { bucketsOf, bucketsSince, meanOf, parseMetrics, quantileOf, rateOf, sumBy, sumOf } from "./prometheus.js";

const kRateSeconds = 2.5;
const kWindowSeconds = 30;
const kMostPoints = 7200;

export class Telemetry {
  constructor() {
    this.readings = [];  // of the last half minute
    this.points = [];    // {time, gap, values}: a longer silence than `gap` breaks the line
    this.totals = null;
  }

  // `time` in seconds; `interval` is how far apart readings are meant to be.
  add(text, time, interval) {
    const reading = readMetrics(text, time);
    const last = this.readings[this.readings.length - 1];
    const isNewServer = last && (reading.generated < last.generated || reading.prompt < last.prompt);
    if (isNewServer) this.readings = [];
    this.readings.push(reading);
    while (this.readings.length > 2 && time - this.readings[1].time > kWindowSeconds) this.readings.shift();
    this.points.push({ time, gap: interval * 3, values: this.valuesAt(reading) });
    if (this.points.length > kMostPoints) this.points.shift();
    this.totals = reading;
  }

  valuesAt(now) {
    const recent = this.readings.findLast((reading) => now.time - reading.time >= kRateSeconds) || this.readings[0];
    const far = this.readings[0];
    const seconds = now.time - recent.time;
    const values = {
      promptRate: rateOf(recent.prompt, now.prompt, seconds),
      generationRate: rateOf(recent.generated, now.generated, seconds),
      running: now.running, waiting: now.waiting,
      cacheUse: now.cacheUse === null ? null : now.cacheUse * 100,
      hitRate: null,
    };
    const queries = now.queries === null || far.queries === null ? 0 : now.queries - far.queries;
    if (queries > 0) values.hitRate = (now.hits - far.hits) / queries * 100;
    for (const [name, buckets] of Object.entries(now.histograms)) {
      const gained = bucketsSince(far.histograms[name], buckets);
      for (const percent of [50, 90, 99]) values[`${name}${percent}`] = quantileOf(gained, percent / 100);
    }
    return values;
  }

  last() {
    return this.points.length > 0 ? this.points[this.points.length - 1].values : null;
  }
}

function readMetrics(text, time) {
  const metrics = parseMetrics(text);
  const sum = (name) => sumOf(metrics, `vllm:${name}`);
  return {
    time,
    prompt: sum("prompt_tokens_total"), generated: sum("generation_tokens_total"),
    running: sum("num_requests_running"), waiting: sum("num_requests_waiting"),
    cacheUse: meanOf(metrics, "vllm:kv_cache_usage_perc"),
    queries: sum("prefix_cache_queries_total"), hits: sum("prefix_cache_hits_total"),
    preemptions: sum("num_preemptions_total"),
    finished: sumBy(metrics, "vllm:request_success_total", "finished_reason"),
    histograms: {
      ttft: bucketsOf(metrics, "vllm:time_to_first_token_seconds"),
      itl: bucketsOf(metrics, "vllm:inter_token_latency_seconds"),
    },
  };
}
