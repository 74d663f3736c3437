# SPDX-License-Identifier: Apache-2.0
"""GET /metrics as Prometheus sees it."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

KEY = "planted-key-0123456789"


def scrape(server, **more) -> str:
    status, headers, body = server.get("/metrics", **more)
    assert status == 200
    assert headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return body.decode()


def complete(server, **more):
    status, _, body = server.post("/v1/completions", {"prompt": "Once upon a time", "max_tokens": 8,
                                                      "ignore_eos": True, **more})
    assert status == 200, body
    return body


def test_promtool_finds_nothing_but_vllms_own_habits(server):
    promtool = ROOT / "build" / "tools" / "promtool"
    if not promtool.exists():
        pytest.skip("promtool is not there; tools/install.sh --tests brings it")
    complete(server)
    done = subprocess.run([promtool, "check", "metrics"], input=scrape(server), text=True,
                          capture_output=True)
    assert done.returncode in (0, 3), done.stderr  # 3: readable, with remarks about style
    remarks = [line for line in (done.stdout + done.stderr).splitlines() if line]
    ours = [line for line in remarks
            if "should not contain ':'" not in line  # vLLM's prefix, and so ours
            # A histogram of vLLM's that is named like a counter.
            and not line.startswith("vllm:iteration_tokens_total ")]
    assert ours == []


def test_a_request_is_counted_once(start_server):
    server = start_server()
    before = {name: server.metric(name) for name in ("vllm:prompt_tokens_total",
                                                     "vllm:generation_tokens_total",
                                                     "vllm:e2e_request_latency_seconds_count")}
    usage = complete(server, n=2)["usage"]
    assert server.metric("vllm:prompt_tokens_total") - before["vllm:prompt_tokens_total"] \
        == usage["prompt_tokens"]
    assert server.metric("vllm:generation_tokens_total") == usage["completion_tokens"] == 16
    assert server.metric("vllm:request_success_total", finished_reason="length") == 1
    assert server.metric("vllm:e2e_request_latency_seconds_count") == 1
    assert server.metric("vllm:time_to_first_token_seconds_count") == 1
    assert server.metric("vllm:inter_token_latency_seconds_count") == 14
    assert server.metric("vllm:request_params_n_sum") == 2
    assert server.metric("vllm:num_requests_running") == 0
    assert server.metric("ingot:http_requests_total", route="/v1/completions", status="200") == 1
    # The same prompt again: it comes out of the cache.
    assert complete(server)["usage"]["prompt_tokens_details"]["cached_tokens"] \
        == server.metric("vllm:prefix_cache_hits_total")


def test_pages_are_all_free_or_cached_when_nothing_runs(start_server):
    server = start_server()
    complete(server)
    assert server.metric("ingot:kv_pages", state="used") == 0
    assert server.metric("vllm:kv_cache_usage_perc") == 0
    assert server.metric("ingot:kv_pages", state="free") > 0


def test_clients_cannot_invent_series(start_server):
    server = start_server()
    series = len(scrape(server).splitlines())
    for i in range(50):
        server.get(f"/nothing/{i}")
        server.request(f"M{i}", f"/v1/models/{i}")
    text = scrape(server)
    assert "/nothing" not in text and "M1" not in text
    assert server.metric("ingot:http_requests_total", route="other", status="404") == 50
    assert len(text.splitlines()) < series + 60


def test_metrics_need_a_key_where_there_are_keys(start_server):
    server = start_server("--api-key", KEY)
    assert server.get("/metrics")[0] == 401
    text = scrape(server, headers={"Authorization": f"Bearer {KEY}"})
    assert KEY not in text
    assert re.search(r'ingot:http_requests_total{.*route="/metrics",status="401"} 1', text)


def test_metrics_can_be_opened(start_server):
    server = start_server("--api-key", KEY, "--metrics-public")
    assert "vllm:num_requests_running" in scrape(server)
    assert server.get("/v1/models")[0] == 401
