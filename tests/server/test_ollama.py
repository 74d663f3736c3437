# SPDX-License-Identifier: Apache-2.0
"""Ollama's routes as its clients use them."""

import json


def lines(body: bytes) -> list:
    return [json.loads(line) for line in body.splitlines()]


def test_generate_streams_lines(server):
    ask = {"model": "default", "prompt": "Once upon a time", "options": {"num_predict": 12, "seed": 3}}
    status, headers, body = server.post("/api/generate", ask)
    assert status == 200
    assert headers.get_content_type() == "application/x-ndjson"
    streamed = lines(body)
    assert streamed[-1]["done"] and streamed[-1]["eval_count"] == 12
    _, _, whole = server.post("/api/generate", {**ask, "stream": False})
    assert whole["response"] == "".join(line["response"] for line in streamed)


def test_chat(server):
    status, _, reply = server.post("/api/chat", {
        "model": "default:latest", "stream": False, "options": {"num_predict": 5},
        "messages": [{"role": "user", "content": "Hello"}]})
    assert status == 200
    assert reply["message"]["role"] == "assistant"
    assert reply["done_reason"] == "length"


def test_lists_shows_and_tells_its_version(server):
    assert server.get("/api/tags")[2]["models"][0]["name"] == "default:latest"
    assert server.get("/api/ps")[2]["models"][0]["name"] == "default:latest"
    shown = server.post("/api/show", {"model": "default"})[2]
    assert shown["details"]["format"] == "gguf"
    assert "completion" in shown["capabilities"]
    assert server.get("/api/version")[2]["version"]


def test_errors_have_their_shape(server):
    status, _, body = server.post("/api/chat", {"model": "nothing", "messages": []})
    assert status in (400, 404)
    assert isinstance(body["error"], str)
