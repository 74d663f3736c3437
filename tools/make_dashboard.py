#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes deploy/grafana/ingot.json: the Grafana dashboard, from the list of its panels below.

    tools/make_dashboard.py           writes it
    tools/make_dashboard.py --check   says whether it is up to date
"""

import json
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "deploy" / "grafana" / "ingot.json"
WIDTH = 24  # of Grafana's grid
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
MODEL = 'model_name=~"$model"'
RATE = "[$__rate_interval]"


def rate(metric: str, labels: str = MODEL, by: str = "") -> str:
    return f"sum{' by (' + by + ')' if by else ''} (rate({metric}{{{labels}}}{RATE}))"


def quantiles(metric: str, labels: str = MODEL) -> list[tuple[str, str]]:
    return [(f"histogram_quantile({q}, sum by (le) (rate({metric}_bucket{{{labels}}}{RATE})))", f"p{n}")
            for q, n in ((0.5, 50), (0.9, 90), (0.99, 99))]


def gauge(metric: str, labels: str = MODEL) -> str:
    return f"sum({metric}{{{labels}}})"


HIT_RATE = (f"{rate('vllm:prefix_cache_hits_total')} / {rate('vllm:prefix_cache_queries_total')}")

# Rows of (kind, title, unit, [(query, legend)]).
ROWS = [
    ("Now", [
        ("stat", "Running", "short", [(gauge("vllm:num_requests_running"), "")]),
        ("stat", "Waiting", "short", [(gauge("vllm:num_requests_waiting"), "")]),
        ("stat", "Answers", "tok/s", [(gauge("ingot:generation_tokens_per_second"), "")]),
        ("stat", "Prompts", "tok/s", [(gauge("ingot:prompt_tokens_per_second"), "")]),
        ("stat", "KV cache in use", "percentunit", [(f"max(vllm:kv_cache_usage_perc{{{MODEL}}})", "")]),
        ("stat", "Prompt tokens from the cache", "percentunit", [(HIT_RATE, "")]),
    ]),
    ("Latency", [
        ("timeseries", "Time to first token", "s", quantiles("vllm:time_to_first_token_seconds")),
        ("timeseries", "Between tokens", "s", quantiles("vllm:inter_token_latency_seconds")),
        ("timeseries", "Whole request", "s", quantiles("vllm:e2e_request_latency_seconds")),
        ("timeseries", "In the queue", "s", quantiles("vllm:request_queue_time_seconds")),
        ("timeseries", "Prompt", "s", quantiles("vllm:request_prefill_time_seconds")),
        ("timeseries", "Mean time per token of a request", "s",
         quantiles("vllm:request_time_per_output_token_seconds")),
    ]),
    ("Work", [
        ("timeseries", "Tokens", "tok/s", [(rate("vllm:prompt_tokens_total"), "prompts"),
                                           (rate("vllm:generation_tokens_total"), "answers")]),
        ("timeseries", "Requests over", "reqps",
         [(rate("vllm:request_success_total", by="finished_reason"), "{{finished_reason}}")]),
        ("timeseries", "Requests in the house", "short",
         [(gauge("vllm:num_requests_running"), "running"),
          (f"sum by (reason) (vllm:num_requests_waiting_by_reason{{{MODEL}}})", "waiting: {{reason}}"),
          (gauge("ingot:sequences_paused"), "paused")]),
        ("timeseries", "Tokens of a prompt", "short", quantiles("vllm:request_prompt_tokens")),
        ("timeseries", "Tokens of an answer", "short", quantiles("vllm:request_generation_tokens")),
        ("timeseries", "Tokens of a step", "short", quantiles("vllm:iteration_tokens_total")),
    ]),
    ("Cache", [
        ("timeseries", "Pages", "short", [(f"sum by (state) (ingot:kv_pages{{{MODEL}}})", "{{state}}")]),
        ("timeseries", "Prompt tokens from the cache", "percentunit", [(HIT_RATE, "found")]),
        ("timeseries", "Prompt tokens by source", "tok/s",
         [(rate("vllm:prompt_tokens_by_source_total", by="source"), "{{source}}")]),
        ("timeseries", "Preemptions and evictions", "ops",
         [(rate("vllm:num_preemptions_total"), "preemptions"),
          (rate("ingot:prefix_pages_evicted_total"), "pages evicted"),
          (rate("ingot:prefix_pages_loaded_total"), "pages loaded from a lower tier")]),
    ]),
    ("Engine", [
        ("timeseries", "Step", "s", quantiles("ingot:step_duration_seconds")),
        ("timeseries", "Where the time of steps goes", "s",
         [(rate("ingot:step_phase_seconds_total", by="phase"), "{{phase}}")]),
        ("timeseries", "Trouble", "short",
         [(f"max(ingot:engine_stuck{{{MODEL}}})", "stuck"),
          (rate("ingot:failed_steps_total"), "failed steps"),
          (rate("vllm:corrupted_requests_total"), "corrupted requests")]),
    ]),
    ("HTTP", [
        ("timeseries", "Requests by status", "reqps",
         [(rate("ingot:http_requests_total", labels="", by="status"), "{{status}}")]),
        ("timeseries", "Requests by route", "reqps",
         [(rate("ingot:http_requests_total", labels="", by="route"), "{{route}}")]),
        ("timeseries", "Connections and refusals", "short",
         [("sum(ingot:http_connections)", "connections"),
          (rate("ingot:requests_refused_total"), "429 a second")]),
    ]),
    ("Process", [
        ("timeseries", "Memory", "bytes", [("process_resident_memory_bytes * on (instance, job) group_left "
                                            "ingot:build_info", "{{instance}}")]),
        ("timeseries", "Processor", "short",
         [(f"rate(process_cpu_seconds_total{RATE}) * on (instance, job) group_left ingot:build_info",
           "{{instance}} cores")]),
        ("timeseries", "File descriptors", "short",
         [("process_open_fds * on (instance, job) group_left ingot:build_info", "{{instance}}")]),
    ]),
]


def panel(number: int, kind: str, title: str, unit: str, queries, place: dict) -> dict:
    targets = [{"datasource": DATASOURCE, "editorMode": "code", "expr": expr, "legendFormat": legend,
                "range": True, "refId": chr(ord("A") + i)} for i, (expr, legend) in enumerate(queries)]
    made = {"id": number, "type": kind, "title": title, "datasource": DATASOURCE, "gridPos": place,
            "targets": targets, "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []}}
    if kind == "stat":
        made["options"] = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
                           "colorMode": "none", "graphMode": "area"}
    else:
        made["fieldConfig"]["defaults"]["custom"] = {"fillOpacity": 5, "showPoints": "never"}
        made["options"] = {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                           "tooltip": {"mode": "multi", "sort": "desc"}}
    return made


def panels() -> list[dict]:
    made, y, number = [], 0, 1
    for title, row in ROWS:
        made.append({"id": number, "type": "row", "title": title, "collapsed": False, "panels": [],
                     "gridPos": {"h": 1, "w": WIDTH, "x": 0, "y": y}})
        number, y = number + 1, y + 1
        is_small = row[0][0] == "stat"
        per_line = len(row) if is_small else (4 if len(row) == 4 else 3)
        width, height = WIDTH // per_line, 4 if is_small else 8
        for i, (kind, name, unit, queries) in enumerate(row):
            place = {"h": height, "w": width, "x": (i % per_line) * width, "y": y + i // per_line * height}
            made.append(panel(number, kind, name, unit, queries, place))
            number += 1
        y += -(-len(row) // per_line) * height
    return made


def dashboard() -> dict:
    return {
        "title": "ingot", "uid": "ingot", "tags": ["ingot", "llm"], "schemaVersion": 38, "version": 1,
        "editable": True, "refresh": "10s", "time": {"from": "now-30m", "to": "now"},
        "timezone": "", "graphTooltip": 1, "annotations": {"list": []}, "links": [],
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
             "current": {}, "hide": 0, "refresh": 1},
            {"name": "model", "label": "Model", "type": "query", "datasource": DATASOURCE,
             "query": {"query": "label_values(vllm:num_requests_running, model_name)", "refId": "model"},
             "definition": "label_values(vllm:num_requests_running, model_name)",
             "includeAll": True, "multi": True, "allValue": ".*", "refresh": 2, "sort": 1,
             "current": {"text": "All", "value": "$__all"}, "hide": 0},
        ]},
        "panels": panels(),
    }


def main() -> int:
    text = json.dumps(dashboard(), indent=2) + "\n"
    if "--check" in sys.argv[1:]:
        is_same = OUT.exists() and OUT.read_text() == text
        print(f"{OUT.name} is {'up to date' if is_same else 'old: run tools/make_dashboard.py'}")
        return 0 if is_same else 1
    OUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
