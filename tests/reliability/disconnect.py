# SPDX-License-Identifier: Apache-2.0
"""R4: clients that leave at any moment, with a goodbye or with a reset: their work ends within two
steps, and afterwards everything they held is free. Who only closes the sending side is served."""

import asyncio
import os
import random
import socket
import time
from pathlib import Path

from board import Server, arguments, finish, holdings, is_idle, median, say, verdict, wait_until
from wire import Client, answer_of, ask, http_request
from workload import difference, request_of, solo_answers, streamed, whole

CUTTERS = 24
FLAGS = ("--max-num-seqs", 8, "--max-queue", 64)
LONG_PROMPT = "Once upon a time there was a dog who liked to play. " * 25


def cut(client: Client, pick: random.Random) -> None:
    if pick.random() < 0.5:
        client.abort()
    else:
        client.close()


async def in_queue(client: Client, pick: random.Random) -> None:
    client.send(http_request("/v1/completions", {"prompt": "Once", "max_tokens": 50,
                                                 "stream": pick.random() < 0.5}))
    await asyncio.sleep(pick.uniform(0, 0.02))


async def in_prefill(client: Client, pick: random.Random) -> None:
    client.send(http_request("/v1/completions", {
        "prompt": f"{pick.random()} {LONG_PROMPT}", "max_tokens": 50, "stream": True}))
    await asyncio.sleep(pick.uniform(0, 0.2))


async def in_decode(client: Client, pick: random.Random) -> None:
    after = pick.randint(1, 12)
    client.send(http_request("/v1/completions", {"prompt": "Once", "max_tokens": 40, "stream": True,
                                                 "ignore_eos": True, "n": pick.randint(1, 3)}))
    end = time.monotonic() + 20
    while client.parts < after and not client.is_closed and time.monotonic() < end:
        await asyncio.sleep(0.01)


async def at_last_byte(client: Client, pick: random.Random) -> None:
    client.send(http_request("/v1/completions", {"prompt": "Once", "max_tokens": pick.randint(1, 3),
                                                 "stream": True}))
    ends = [b'"finish_reason":"', b"[DONE]", b"[DONE]\n\n"]
    wanted, end = pick.choice(ends), time.monotonic() + 20
    while wanted not in client.raw and not client.is_closed and time.monotonic() < end:
        await asyncio.sleep(0.004)


async def whole_reply(client: Client, pick: random.Random) -> None:
    client.send(http_request("/v1/chat/completions", {
        "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 60, "ignore_eos": True,
        "n": pick.randint(1, 3)}))
    await asyncio.sleep(pick.uniform(0, 0.3))


async def half_a_request(client: Client, pick: random.Random) -> None:
    data = http_request("/v1/completions", {"prompt": LONG_PROMPT, "max_tokens": 5})
    client.send(data[:pick.randrange(len(data))])
    await asyncio.sleep(pick.uniform(0, 0.05))


MOMENTS = [in_queue, in_prefill, in_decode, at_last_byte, whole_reply, half_a_request]


async def keep_cutting(port: int, pick: random.Random, count: int) -> None:
    for _ in range(count):
        client = await Client.connect(port)
        await pick.choice(MOMENTS)(client, pick)
        cut(client, pick)


async def half_closers(port: int, requests, truths, count: int, result: dict) -> None:
    for i in range(count):
        client = await Client.connect(port)
        index = i % len(requests)
        client.send((streamed if i % 2 else whole)(requests[index]))
        client.transport.write_eof()
        problem = difference(answer_of(await client.finish()), truths[index])
        result["served"] += 1
        if problem:
            result["wrong"] += 1
            say(f"a client that closed its sending side: {problem}")
        client.close()


async def cut_all(port: int, cuts: int, requests, truths, seed: int) -> dict:
    result = {"served": 0, "wrong": 0}
    each = -(-cuts // CUTTERS)
    await asyncio.gather(half_closers(port, requests, truths, max(8, cuts // 40), result),
                         *(keep_cutting(port, random.Random(seed + i), each) for i in range(CUTTERS)))
    result["cuts"] = each * CUTTERS
    return result


def engine_seconds(pid: int) -> float:
    """Processor time of the thread that computes, to the microsecond."""
    return max(int(Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
               for task in os.listdir(f"/proc/{pid}/task")) / 1e9


def steps_after_leaving(binary: str, tries: int) -> float:
    """How many more steps the engine computed for a client that had left. With slow kernels: a step
    is then much longer than what the system's clock of processor time can tell."""
    found = []
    body = {"prompt": "Once", "max_tokens": 200, "ignore_eos": True, "stream": True, "n": 2}
    with Server(binary, "--kernels", "reference") as server:
        pid = server.process.pid
        for _ in range(tries):
            with socket.create_connection(("127.0.0.1", server.port), 60) as sock:
                sock.sendall(http_request("/v1/completions", body))
                received, tokens, start = b"", 0, 0.0
                while received.count(b"data: ") < tokens + 2 * 4:
                    part = sock.recv(65536)
                    assert part, received
                    received += part
                    if not tokens and b"data: " in received:  # the prompt is done
                        start, tokens = engine_seconds(pid), received.count(b"data: ")
                left = engine_seconds(pid)
                step = (left - start) / ((received.count(b"data: ") - tokens) / 2)
            is_quiet = wait_until(lambda: is_idle(pid, 0.1), 10)
            found.append((engine_seconds(pid) - left) / step if is_quiet else float("inf"))
    say(f"steps of {step * 1000:.0f} ms after leaving:", " ".join(f"{steps:.1f}" for steps in found))
    return median(found)


def used_pages(server: Server) -> float | None:
    """From the metrics; None where there are none."""
    try:
        return (server.metric("ingot:kv_pages", state="used")
                + server.metric("vllm:num_requests_running")
                + server.metric("vllm:num_requests_waiting"))
    except (AssertionError, AttributeError):
        return None


def main() -> None:
    options = arguments(__doc__, cuts=(0, "how many; 0: 240, or 1000 with --long"))
    cuts = options.cuts or (1000 if options.long else 240)
    requests = [request_of(options.seed % 100_000 + i, 20) for i in range(6)]
    truths = solo_answers(options.binary, requests)
    steps = steps_after_leaving(options.binary, 20 if options.long else 2)
    with Server(options.binary, *FLAGS) as server:
        pid, address = server.process.pid, ("127.0.0.1", server.port)
        for request in requests:
            ask(address, whole(request))
        wait_until(lambda: is_idle(pid, 0.1), 10)
        before = holdings(pid)
        result = asyncio.run(cut_all(server.port, cuts, requests, truths, options.seed))
        is_quiet = wait_until(lambda: is_idle(pid), 10)
        wait_until(lambda: holdings(pid).fds == before.fds, 5)
        after, pages = holdings(pid), used_pages(server)
        left = (after.fds - before.fds) + (after.threads - before.threads) + (pages or 0)
        wrong = sum(difference(answer_of(ask(address, streamed(request))), truth) is not None
                    for request, truth in zip(requests, truths, strict=True))
    say(f"{result['cuts']} cuts, {result['served']} half-closed; fds {before.fds} -> {after.fds}, threads "
        f"{before.threads} -> {after.threads}, pages and requests held "
        f"{'unknown' if pages is None else int(pages)}, --seed {options.seed}")
    finish(
        verdict("R4", int(left), f"held-after-{result['cuts']}-disconnects",
                is_quiet and left == 0 and wrong == 0 and result["wrong"] == 0),
        verdict("R4", round(steps, 1), "steps-until-cancelled", steps < 2.5))  # the clock has ticks


if __name__ == "__main__":
    main()
