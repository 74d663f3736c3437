# SPDX-License-Identifier: Apache-2.0
"""Routes that tell about text without generating any."""


def test_tokenize_and_back(server):
    text = "Once upon a time, there was a dog."
    status, _, reply = server.post("/tokenize", {"prompt": text, "add_special_tokens": False})
    assert status == 200
    assert reply["count"] == len(reply["tokens"])
    _, _, back = server.post("/detokenize", {"tokens": reply["tokens"]})
    assert back["prompt"] == back["content"] == text
    _, _, other = server.post("/tokenize", {"content": text})
    assert other["tokens"] == reply["tokens"]


def test_messages_are_rendered(server):
    messages = [{"role": "user", "content": "Hello"}]
    _, _, rendered = server.post("/apply-template", {"messages": messages})
    assert "Hello" in rendered["prompt"]
    _, _, counted = server.post("/tokenize", {"messages": messages})
    assert counted["count"] > 1


def test_properties_tell_no_path(server):
    status, _, props = server.get("/props")
    assert status == 200
    assert props["model_path"] == "default"
    assert server.get("/tokenizer_info")[2]["eos_token"]


def test_bad_bodies_are_refused(server):
    for body in (b"", b"[]", b"{", {"tokens": ["x"]}, {"tokens": [10**9]}, {}):
        status, _, reply = server.post("/detokenize", body)
        assert status == 400, body
        assert reply["error"]["message"]
