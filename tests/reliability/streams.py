# SPDX-License-Identifier: Apache-2.0
"""R1: many streams at once, each equal to its solo run: no token lost, doubled or foreign."""

import asyncio
import random
import time

from board import Server, arguments, finish, say, verdict
from wire import Client, answer_of
from workload import difference, request_of, solo_answers, streamed, whole

STREAMS = 64


async def keep_asking(port: int, pick: random.Random, requests, truths, end: float, result) -> None:
    client = None
    while time.monotonic() < end:
        if client is None or client.is_closed or pick.random() < 0.2:
            if client:
                client.close()
            client = await Client.connect(port)
        index = pick.randrange(len(requests))
        is_streamed = pick.random() < 0.9
        reply = await client.ask((streamed if is_streamed else whole)(requests[index]))
        answer = answer_of(reply)
        problem = difference(answer, truths[index]) if reply.status == 200 else f"status {reply.status}"
        own = {prefix + reply.headers.get("x-request-id", "") for prefix in ("chatcmpl-", "cmpl-")}
        if problem is None and (len(answer.ids) != 1 or not answer.ids <= own):
            problem = f"chunks of {answer.ids} in a reply of {own}"
        result["answers"] += 1
        result["tokens"] += answer.tokens or 0
        if problem:
            result["wrong"] += 1
            say(f"request {index} {'streamed' if is_streamed else 'whole'}: {problem}")
    client.close()


async def load(port: int, seconds: float, requests, truths, seed: int) -> dict:
    result = {"answers": 0, "tokens": 0, "wrong": 0}
    end = time.monotonic() + seconds
    await asyncio.gather(*(keep_asking(port, random.Random(seed + i), requests, truths, end, result)
                           for i in range(STREAMS)))
    return result


def main() -> None:
    options = arguments(__doc__, seconds=(0.0, "how long; 0: 6, or 60 with --long"))
    seconds = options.seconds or (60 if options.long else 6)
    count, longest = (96, 120) if options.long else (24, 40)
    first = options.seed % 1_000_000
    requests = [request_of(first + i, longest) for i in range(count)]
    truths = solo_answers(options.binary, requests)
    with Server(options.binary) as server:
        result = asyncio.run(load(server.port, seconds, requests, truths, options.seed))
    say(f"{STREAMS} streams, {seconds:.0f} s, {result['answers']} answers, {result['tokens']} tokens, "
        f"--seed {options.seed}")
    is_enough = result["answers"] >= STREAMS
    finish(verdict("R1", result["wrong"], f"wrong-answers-of-{result['answers']}",
                   result["wrong"] == 0 and is_enough))


if __name__ == "__main__":
    main()
