# SPDX-License-Identifier: Apache-2.0
"""The anthropic package against a real server."""

import anthropic
import pytest

PROMPT = [{"role": "user", "content": "Tell me a story about a cat."}]


@pytest.fixture(scope="module")
def client(server):
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as made:
        yield made


def test_messages(client):
    reply = client.messages.create(model="default", max_tokens=12, messages=PROMPT, extra_body={"temperature": 0})
    assert reply.content[0].text
    assert reply.stop_reason == "max_tokens"
    assert reply.usage.output_tokens == 12


def test_streams(client):
    whole = client.messages.create(model="default", max_tokens=30, messages=PROMPT, extra_body={"temperature": 0})
    with client.messages.stream(model="default", max_tokens=30, messages=PROMPT,
                                extra_body={"temperature": 0}) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == whole.content[0].text
    assert final.usage.output_tokens == whole.usage.output_tokens


def test_counts_tokens(client):
    count = client.messages.count_tokens(model="default", messages=PROMPT)
    reply = client.messages.create(model="default", max_tokens=1, messages=PROMPT)
    assert count.input_tokens == reply.usage.input_tokens + (
        reply.usage.cache_read_input_tokens or 0)


def test_errors_have_their_shape(client):
    with pytest.raises(anthropic.BadRequestError) as caught:
        client.messages.create(model="default", max_tokens=-1, messages=PROMPT)
    assert caught.value.body["error"]["type"] == "invalid_request_error"
    assert "max_tokens" in caught.value.body["error"]["message"]
