# SPDX-License-Identifier: Apache-2.0
"""Tools and thoughts over the wire, with models that really say the calls (scripted_model.py)."""

import asyncio
import json

import anthropic
import openai
import pytest
from scripted_model import write_scripted_model
from serving import Server

TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
PROMPT = [{"role": "user", "content": "What is the weather in Paris?"}]
ARGUMENTS = {"city": "Paris", "days": [1, 2]}
SCRIPT = ["<think>", "They ask ", "about Paris.", "</think>", "Let me look. ", "<tool_call>", '\n{"name": "get_',
          'weather", "argu', 'ments": {"city": "Pa', 'ris", "days": [1,', " 2]}}\n", "</tool_call>"]


@pytest.fixture(scope="module")
def caller(binary, tmp_path_factory):
    path = tmp_path_factory.mktemp("scripted") / "caller.gguf"
    write_scripted_model(path, SCRIPT, special=("<tool_call>", "</tool_call>"))
    with Server(binary, model=str(path)) as running:
        yield running


@pytest.fixture(scope="module")
def client(caller):
    with openai.OpenAI(base_url=caller.url + "/v1", api_key="none", max_retries=0) as made:
        yield made


def ask(**more):
    return dict(model="caller", messages=PROMPT, tools=TOOLS, temperature=0, **more)


def test_a_call_is_told(client):
    choice = client.chat.completions.create(**ask()).choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content.strip() == "Let me look."
    (call,) = choice.message.tool_calls
    assert call.function.name == "get_weather"
    assert json.loads(call.function.arguments) == ARGUMENTS


def test_thoughts_have_their_own_field(client):
    message = client.chat.completions.create(**ask()).choices[0].message
    assert message.reasoning_content == message.reasoning == "They ask about Paris."


def check_deltas(chunks):
    content, arguments, thoughts, names, reasons = "", "", "", [], []
    for chunk in chunks:
        for choice in chunk.choices:
            content += choice.delta.content or ""
            thoughts += getattr(choice.delta, "reasoning_content", None) or ""
            reasons.append(choice.finish_reason)
            for call in choice.delta.tool_calls or []:
                assert call.index == 0
                if call.function.name:
                    names.append(call.function.name)
                    assert call.id and call.type == "function"
                arguments += call.function.arguments or ""
    assert names == ["get_weather"]
    assert json.loads(arguments) == ARGUMENTS
    assert content.strip() == "Let me look."
    assert thoughts == "They ask about Paris."
    assert reasons[-1] == "tool_calls"


def test_a_call_is_streamed(client):
    check_deltas(client.chat.completions.create(**ask(stream=True)))


def test_async_streams_too(caller):
    async def collect():
        async with openai.AsyncOpenAI(base_url=caller.url + "/v1", api_key="none") as other:
            return [chunk async for chunk in await other.chat.completions.create(**ask(stream=True))]

    check_deltas(asyncio.run(collect()))


def test_without_tools_or_with_none_it_is_text(client):
    for more in ({"tools": openai.omit}, {"tool_choice": "none"}):
        choice = client.chat.completions.create(**{**ask(), **more}).choices[0]
        assert choice.finish_reason == "stop"
        assert choice.message.tool_calls is None


def test_the_conversation_goes_on_with_the_result(client):
    message = client.chat.completions.create(**ask()).choices[0].message
    conversation = [*PROMPT, message.model_dump(exclude_none=True),
                    {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"}]
    assert client.chat.completions.create(**{**ask(), "messages": conversation}).choices


def test_forced_calls_are_refused_by_name(client):
    for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}):
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(**ask(tool_choice=choice))
        assert caught.value.param == "tool_choice"


def test_anthropics_client_gets_blocks(caller):
    tools = [{"name": "get_weather", "input_schema": TOOLS[0]["function"]["parameters"]}]
    with anthropic.Anthropic(base_url=caller.url, api_key="none", max_retries=0) as other:
        reply = other.messages.create(model="caller", max_tokens=100, messages=PROMPT, tools=tools)
        with other.messages.stream(model="caller", max_tokens=100, messages=PROMPT,
                                   tools=tools) as stream:
            streamed = stream.get_final_message()
    for message in (reply, streamed):
        assert message.stop_reason == "tool_use"
        (call,) = [block for block in message.content if block.type == "tool_use"]
        assert (call.name, call.input) == ("get_weather", ARGUMENTS)


def test_ollamas_calls_have_objects(caller):
    status, _, reply = caller.post("/api/chat", {"model": "caller", "messages": PROMPT,
                                                 "tools": TOOLS, "stream": False})
    assert status == 200
    (call,) = reply["message"]["tool_calls"]
    assert call["function"] == {"name": "get_weather", "arguments": ARGUMENTS} or \
        call["function"]["arguments"] == ARGUMENTS
