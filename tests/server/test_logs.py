# SPDX-License-Identifier: Apache-2.0
"""What the server says about its requests, and what it never says."""

import json
import re
import socket
import time

KEY = "canary-key-8d1f6a52c0"
PROMPT = "canary-prompt-77c1"
AUTH = {"Authorization": f"Bearer {KEY}"}


def lines(server, message="request", count=1, timeout=10) -> list[dict]:
    """The JSON lines with this message, once there are so many."""
    end = time.monotonic() + timeout
    while True:
        found = [json.loads(line) for line in server.log.splitlines() if line]
        found = [line for line in found if line["message"] == message]
        if len(found) >= count or time.monotonic() > end:
            assert len(found) >= count, server.log
            return found
        time.sleep(0.02)


def complete(server, **more):
    body = {"prompt": f"Once upon a time {PROMPT}", "max_tokens": 5, "ignore_eos": True,
            "model": "default", **more.pop("body", {})}
    return server.post("/v1/completions", body, headers={**AUTH, **more.pop("headers", {})}, **more)


def test_one_line_of_json_for_each_request(start_server):
    server = start_server("--log-format", "json", "--api-key", KEY)
    _, headers, body = complete(server, headers={"X-Request-Id": "my-id-1"})
    (line,) = lines(server)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert line["level"] == "info"
    assert line["id"] == headers["x-request-id"] == "my-id-1"
    assert re.fullmatch(r"[0-9a-f]{32}", line["trace"])
    assert re.fullmatch(r"key-[0-9a-f]{6}", line["key"])
    assert (line["method"], line["route"], line["status"], line["end"]) \
        == ("POST", "/v1/completions", 200, "done")
    assert line["model"] == "default"
    assert line["prompt_tokens"] == body["usage"]["prompt_tokens"]
    assert line["completion_tokens"] == 5
    assert line["cached_tokens"] == 0
    assert line["finish"] == "length"
    assert 0 <= line["queue_seconds"] <= line["ttft_seconds"] <= line["seconds"]
    assert line["bytes_in"] > 0 and line["bytes_out"] > 0
    assert "prompt" not in line and "output" not in line


def test_everything_on_standard_error_is_json(start_server):
    server = start_server("--log-format", "json", "--log-level", "debug")
    server.get("/health")
    server.post("/v1/completions", b"{nonsense")
    lines(server, count=2)
    assert [line["status"] for line in lines(server, count=2)] == [200, 400]
    messages = [json.loads(line)["message"] for line in server.log.splitlines()]
    assert any("is served at" in message for message in messages)
    server.process.terminate()
    server.process.wait(30)
    messages = [json.loads(line)["message"] for line in server.log.splitlines()]
    assert any("finishing" in message for message in messages)
    assert messages[-1] == "stopped"


def test_a_start_that_fails_is_json_too(binary):
    import subprocess
    done = subprocess.run([binary, "serve", "/no/such/model.gguf", "--log-format", "json"],
                          capture_output=True, text=True)
    assert done.returncode == 2
    last = json.loads(done.stderr.splitlines()[-1])
    assert last["level"] == "error" and "/no/such/model.gguf" in last["message"]


def test_polls_are_logged_at_debug_only(start_server):
    server = start_server("--log-format", "json", "--log-level", "info")
    for path in ("/health", "/livez", "/readyz", "/metrics"):
        server.get(path)
    server.get("/v1/models")
    assert [line["route"] for line in lines(server)] == ["/v1/models"]


def test_text_lines(start_server):
    server = start_server()
    server.get("/v1/models")
    server.get("/no/such/path")
    end = time.monotonic() + 10
    while "status=404" not in server.log and time.monotonic() < end:
        time.sleep(0.02)
    assert re.search(r"^\S+Z info request id=\w+ trace=\w+ method=GET route=/v1/models status=200 "
                     r"end=done seconds=\S+ ", server.log, re.M)
    assert re.search(r"route=other path=/no/such/path status=404", server.log)


def test_a_client_that_leaves_is_seen(start_server):
    server = start_server("--log-format", "json")
    body = json.dumps({"prompt": "Once", "max_tokens": 4000, "ignore_eos": True, "stream": True}).encode()
    with socket.create_connection((server.host, server.port)) as client:
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n"
                       % len(body) + body)
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
    (line,) = lines(server)
    assert line["end"] == "client_left"
    assert line["finish"] == "abort"
    assert line["completion_tokens"] >= 1


def test_a_log_cannot_be_forged(start_server):
    server = start_server("--log-format", "text")
    with socket.create_connection((server.host, server.port)) as client:
        client.sendall(b"GET /a%0Ab\x1b[2J HTTP/1.1\r\nhost: localhost\r\n\r\n")
        client.recv(1000)
    server.request("GET", "/x", headers={"X-Request-Id": "a\" status=200 end=\"done"})
    time.sleep(0.3)
    log = server.log
    assert "\x1b" not in log
    assert all(re.match(r"\d{4}-|\s|$", line) for line in log.splitlines()), log


def planted(server) -> list[str]:
    """Asks in every way that could put a secret into a log; returns what must not be there."""
    secrets = [KEY, PROMPT]
    _, _, body = complete(server)
    text = body["choices"][0]["text"].strip()
    if len(text) > 8:
        secrets.append(text)
    complete(server, headers={"Authorization": f"Bearer wrong-{KEY}"})
    complete(server, body={"stream": True})
    complete(server, body={"temperature": PROMPT})
    complete(server, body={"no_such_field": PROMPT})
    complete(server, body={"model": f"no-such-{PROMPT}"})
    complete(server, headers={"Cookie": f"session={KEY}"})
    server.post("/v1/chat/completions", {"messages": [{"role": "user", "content": PROMPT}],
                                         "max_tokens": 3}, headers={"x-api-key": KEY})
    server.post("/v1/chat/completions", {"messages": [{"role": PROMPT}]}, headers=AUTH)
    server.post("/v1/completions", f'{{"prompt": "{PROMPT}'.encode(), headers=AUTH)
    server.get(f"/v1/models?key={KEY}", headers=AUTH)
    server.post("/tokenize", {"prompt": PROMPT}, headers=AUTH)
    return secrets


def test_no_secrets_at_any_level(start_server):
    for form in ("json", "text"):
        server = start_server("--log-format", form, "--log-level", "debug", env={"INGOT_API_KEY": KEY})
        secrets = planted(server)
        time.sleep(0.3)
        _, _, metrics = server.get("/metrics", headers=AUTH)
        server.process.terminate()
        server.process.wait(30)
        for secret in secrets:
            assert secret not in server.log
            assert secret not in metrics.decode()


def test_content_is_logged_when_asked_for(start_server):
    server = start_server("--log-format", "json", "--log-content", "--api-key", KEY)
    _, _, body = complete(server)
    (line,) = lines(server)
    assert PROMPT in line["prompt"]
    assert line["output"] == body["choices"][0]["text"]
    assert KEY not in server.log
