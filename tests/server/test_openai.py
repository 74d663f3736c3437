# SPDX-License-Identifier: Apache-2.0
"""The openai package against a real server: what its users rely on."""

import asyncio
import json

import openai
import pytest
from serving import events

PROMPT = [{"role": "user", "content": "Tell me a story about a dog."}]


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as made:
        yield made


def test_chat_answers(client):
    reply = client.chat.completions.create(model="default", messages=PROMPT, max_tokens=12,
                                           temperature=0)
    assert reply.choices[0].message.role == "assistant"
    assert reply.choices[0].message.content
    assert reply.choices[0].finish_reason == "length"
    assert reply.usage.completion_tokens == 12
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + 12


def test_streams_have_the_text_of_the_whole_reply(client):
    options = dict(model="default", messages=PROMPT, max_tokens=40, temperature=0.9, seed=7)
    whole = client.chat.completions.create(**options)
    chunks = list(client.chat.completions.create(**options, stream=True,
                                                 stream_options={"include_usage": True}))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    reasons = [c.choices[0].finish_reason for c in chunks if c.choices]
    assert reasons[-1] == whole.choices[0].finish_reason
    assert set(reasons[:-1]) == {None}


def test_many_at_once_equal_each_alone(server, client):
    def options(i):
        return dict(model="default", messages=[{"role": "user", "content": f"Story number {i}"}],
                    max_tokens=30, temperature=1.0, seed=i)

    alone = [client.chat.completions.create(**options(i)).choices[0].message.content
             for i in range(8)]

    async def ask_all():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="none") as other:
            async def ask(i):
                text = ""
                async for chunk in await other.chat.completions.create(**options(i), stream=True):
                    text += chunk.choices[0].delta.content or ""
                return text

            return await asyncio.gather(*(ask(i) for i in range(8)))

    assert asyncio.run(ask_all()) == alone


def test_n_stop_and_logprobs(client):
    reply = client.chat.completions.create(model="default", messages=PROMPT, max_tokens=30, n=3,
                                           seed=1, logprobs=True, top_logprobs=2, stop=["."])
    assert [c.index for c in reply.choices] == [0, 1, 2]
    for choice in reply.choices:
        assert "." not in choice.message.content
        for entry in choice.logprobs.content:
            assert entry.logprob <= 0
            assert len(entry.top_logprobs) == 2


def test_completions_echo_scores_the_prompt(client):
    reply = client.completions.create(model="default", prompt="Once upon a time", max_tokens=1,
                                      logprobs=1, echo=True, temperature=0)
    logprobs = reply.choices[0].logprobs
    assert reply.choices[0].text.startswith("Once upon a time")
    assert logprobs.token_logprobs[0] is None
    assert all(value is not None for value in logprobs.token_logprobs[1:])
    for token, value, top in list(zip(logprobs.tokens, logprobs.token_logprobs,
                                      logprobs.top_logprobs))[1:]:
        assert top[token] == value
        assert max(top.values()) >= value
    assert logprobs.text_offset[0] == 0


def test_prompts_of_ids_and_several_prompts(client):
    reply = client.completions.create(model="default", prompt=[[1, 5, 9], [1, 7]], max_tokens=2)
    assert [c.index for c in reply.choices] == [0, 1]


def test_bad_fields_are_named(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="default", messages=PROMPT, temperature=-1)
    assert caught.value.param == "temperature"
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="no-such-model", messages=PROMPT)
    assert caught.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model="default", prompt="word " * 3000)
    assert caught.value.code == "context_length_exceeded"


def test_unknown_fields_are_reported(client):
    reply = client.chat.completions.create(model="default", messages=PROMPT, max_tokens=1,
                                           extra_body={"flux_capacitor": True})
    assert any("flux_capacitor" in warning for warning in reply.model_extra["warnings"])


def test_models(client):
    listed = client.models.list().data
    assert [model.id for model in listed] == ["default"]
    assert listed[0].owned_by == "ingot"
    assert client.models.retrieve("default").id == "default"


def test_replies_carry_the_request_id(server):
    _, headers, _ = server.get("/v1/models", headers={"X-Request-Id": "my-own-id"})
    assert headers["x-request-id"] == "my-own-id"
    _, headers, _ = server.get("/v1/models")
    assert len(headers["x-request-id"]) == 24


def test_http10_and_keep_alive(server):
    connection = server.connect()
    for _ in range(3):
        connection.request("POST", "/v1/completions",
                           json.dumps({"prompt": "Once", "max_tokens": 3, "stream": True}))
        reply = connection.getresponse()
        assert reply.status == 200
        assert events(reply.read())[-1] == "[DONE]"
    connection.close()


def test_embeddings(client):
    texts = ["The dog ran to the park.", "A dog was running in a park.", "Seven blue chairs"]
    reply = client.embeddings.create(model="default", input=texts)
    vectors = [entry.embedding for entry in reply.data]
    assert [sum(x * x for x in v) for v in vectors] == pytest.approx([1, 1, 1], abs=1e-5)

    def likeness(a, b):
        return sum(x * y for x, y in zip(vectors[a], vectors[b]))

    assert likeness(0, 1) > likeness(0, 2)
    plain = client.embeddings.create(model="default", input=texts[0], encoding_format="float")
    assert plain.data[0].embedding == pytest.approx(vectors[0], abs=1e-6)
    short = client.embeddings.create(model="default", input=texts[0], dimensions=16)
    assert len(short.data[0].embedding) == 16
