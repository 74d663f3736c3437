# SPDX-License-Identifier: Apache-2.0
"""Requests of many kinds and what each one's answer is when it is asked alone: the truth that load,
cancelling, starvation and shutting down must not change."""

import random

from board import Server
from wire import Answer, answer_of, ask, http_request

PROMPTS = ["Once upon a time", "The little dog ran to the", "Tom and Lily went to the park. They saw",
           "It was raining and the cat", "Mom said: \"Do not touch the", "A big red ball",
           "In a small house near the forest there lived an old man who had three",
           "Ben was sad because", "The sun was hot, so the children"]
STOPS = [["."], ["\n"], ["the ", "dog"], ["and then", "!"], [" she"]]


def request_of(index: int, longest: int) -> dict:
    """Request number `index`: always the same, unlike its neighbours."""
    choose = random.Random(index)
    text = choose.choice(PROMPTS) + " " * (index % 2)
    if choose.random() < 0.3:  # a long prompt: prefilled in pieces, shared with others
        text = " ".join(PROMPTS[:choose.randint(3, len(PROMPTS))]) + " " + text
    body = {"max_tokens": choose.randint(1, longest), "seed": index,
            "temperature": choose.choice([0, 0, 0.7, 1.0, 1.5])}
    if choose.random() < 0.3:
        body["stop"] = choose.choice(STOPS)
    if choose.random() < 0.25:
        body |= {"top_k": 20, "presence_penalty": 0.5}
    if choose.random() < 0.15:
        body |= {"min_p": 0.02, "repetition_penalty": 1.2}
    if choose.random() < 0.5:
        body["ignore_eos"] = True
    if choose.random() < 0.6:
        return {"path": "/v1/chat/completions",
                "body": {"messages": [{"role": "user", "content": text}], **body,
                         **({"logprobs": True, "top_logprobs": 2} if index % 5 == 0 else {})}}
    return {"path": "/v1/completions", "body": {"prompt": text, **body}}


def streamed(request: dict) -> bytes:
    body = {**request["body"], "stream": True, "stream_options": {"include_usage": True}}
    return http_request(request["path"], body)


def whole(request: dict) -> bytes:
    return http_request(request["path"], request["body"])


def solo_answers(binary: str, requests: list, *flags) -> list[Answer]:
    """Each alone, not streamed, by a server that keeps nothing from one to the next."""
    with Server(binary, "--no-enable-prefix-caching", *flags) as server:
        answers = []
        for request in requests:
            reply = ask(("127.0.0.1", server.port), whole(request), timeout=120)
            assert reply.status == 200, reply.body
            answers.append(answer_of(reply))
    return answers


def difference(found: Answer, truth: Answer) -> str | None:
    """What is wrong with an answer, in words; nothing when it is exact."""
    if found.error is not None:
        return f"error {found.error}"
    if not found.is_done:
        return "cut off"
    for name in ("text", "finish", "tokens", "logprobs"):
        if getattr(found, name) != getattr(truth, name):
            return f"{name}: {getattr(found, name)!r} instead of {getattr(truth, name)!r}"
    return None
