# SPDX-License-Identifier: Apache-2.0
"""R5: a cache for four sequences and sixty-four requests at once: all finish, each equal to its solo
run."""

import asyncio

from board import Server, arguments, finish, say, verdict
from wire import Client, answer_of
from workload import difference, request_of, solo_answers, streamed, whole

AT_ONCE = 64
CONTEXT = 256
TOKEN_KIB = 16  # of the default model's cache
SEQUENCES = 4


async def ask_all(port: int, requests, truths, count: int) -> list:
    line = asyncio.Semaphore(AT_ONCE)
    wrong = []

    async def one(number: int) -> None:
        index = number % len(requests)
        async with line:
            client = await Client.connect(port)
            reply = await client.ask((whole if number % 5 == 0 else streamed)(requests[index]),
                                     timeout=600)
            client.close()
        problem = (difference(answer_of(reply), truths[index]) if reply.status == 200
                   else f"status {reply.status} {reply.body}")
        if problem:
            wrong.append(problem)
            say(f"request {index}: {problem}")

    await asyncio.gather(*(one(i) for i in range(count)))
    return wrong


def main() -> None:
    options = arguments(__doc__, requests=(0, "how many; 0: 64, or 2000 with --long"))
    count = options.requests or (2000 if options.long else 64)
    distinct, longest = (64, 120) if options.long else (16, 60)
    first = options.seed % 1_000_000
    requests = [request_of(first + i, longest) for i in range(distinct)]
    truths = solo_answers(options.binary, requests, "-c", CONTEXT)
    memory = f"{SEQUENCES * (CONTEXT + 16) * TOKEN_KIB}KB"
    with Server(options.binary, "-c", CONTEXT, "--kv-cache-memory", memory, "--max-num-seqs", AT_ONCE) as server:
        wrong = asyncio.run(ask_all(server.port, requests, truths, count))
        try:
            preempted = int(server.metric("vllm:num_preemptions_total"))
        except (AssertionError, AttributeError):
            preempted = "unknown"
    say(f"{count} requests, {memory} of cache, preempted {preempted}, --seed {options.seed}")
    finish(verdict("R5", count - len(wrong), f"exact-of-{count}", not wrong))


if __name__ == "__main__":
    main()
