# SPDX-License-Identifier: Apache-2.0
"""R6: everything at once for a while: memory stays flat, descriptors and threads come back, nothing
is left in the cache's books, and answers stay exact."""

import asyncio
import random
import time

import bad_wires
from board import Server, arguments, finish, holdings, is_idle, median, say, verdict, wait_until
from disconnect import MOMENTS, cut, used_pages
from badreq import send_case
from wire import Client, answer_of, http_request
from workload import difference, request_of, solo_answers, streamed, whole

CLIENTS = 12
OTHERS = [("/v1/embeddings", {"input": "Once upon a time"}), ("/tokenize", {"prompt": "Once upon a time"}),
          ("/v1/messages/count_tokens", {"model": "default", "messages": [{"role": "user", "content": "a"}]}),
          ("/api/generate", {"model": "default", "prompt": "Once", "options": {"num_predict": 4}})]


class Mix:
    def __init__(self, port: int, requests, truths, wires):
        self.port, self.requests, self.truths, self.wires = port, requests, truths, wires
        self.asked, self.wrong = 0, 0

    async def one(self, pick: random.Random) -> None:
        kind = pick.choices(["good", "cut", "bad", "other"], [6, 2, 1, 2])[0]
        self.asked += 1
        if kind == "bad":
            await send_case(self.port, pick.choice(self.wires), 30)
            return
        client = await Client.connect(self.port)
        if kind == "cut":
            await pick.choice(MOMENTS)(client, pick)
            return cut(client, pick)
        if kind == "good":
            index = pick.randrange(len(self.requests))
            data = pick.choice([streamed, whole])(self.requests[index])
            problem = difference(answer_of(await client.ask(data)), self.truths[index])
        else:
            reply = await client.ask(http_request(*pick.choice(OTHERS)))
            problem = None if reply.status == 200 else f"status {reply.status}"
        client.close()
        if problem:
            self.wrong += 1
            say(problem)

    async def over(self, seconds: float, seed: int) -> None:
        end = time.monotonic() + seconds

        async def client(number: int) -> None:
            pick = random.Random(seed + number)
            while time.monotonic() < end:
                await self.one(pick)

        await asyncio.gather(*(client(i) for i in range(CLIENTS)))


def main() -> None:
    options = arguments(__doc__, minutes=(0.0, "how long; 0: a tenth, or 20 with --long"))
    minutes = options.minutes or (20 if options.long else 0.1)
    requests = [request_of(options.seed % 100_000 + i, 24) for i in range(12)]
    truths = solo_answers(options.binary, requests)
    # Those whose connection waits for a limit of time would only idle here.
    wires = [case for case in bad_wires.cases() if not case.may_be_silent]
    with Server(options.binary, "--header-timeout", 1, "--body-grace", 1, "--keep-alive", 1, "-c", 512,
                "--kv-cache-memory", "16MB") as server:
        mix, pid = Mix(server.port, requests, truths, wires), server.process.pid
        start = holdings(pid)
        windows = 10
        seconds = minutes * 60 / windows
        sizes = []
        for window in range(windows):
            asyncio.run(mix.over(seconds, options.seed + 1000 * window))
            sizes.append((time.monotonic(), holdings(pid).rss))
        is_quiet = wait_until(lambda: is_idle(pid), 20)
        wait_until(lambda: holdings(pid).fds <= start.fds, 10)
        end, pages = holdings(pid), used_pages(server)
    # From the middle on: first uses of pages and buffers are over.
    half = sizes[windows // 2:]
    low, high = (median([rss for _, rss in part]) for part in (half[:len(half) // 2], half[len(half) // 2:]))
    hours = (half[-1][0] - half[0][0]) / 2 / 3600
    slope = (high - low) / (1 << 20) / hours
    say(f"{mix.asked} requests in {minutes:.1f} min; memory {start.rss / 1e6:.1f} -> {end.rss / 1e6:.1f} MB, "
        f"{slope:+.2f} MiB/h, fds {start.fds} -> {end.fds}, threads {start.threads} -> {end.threads}, "
        f"held {'unknown' if pages is None else int(pages)}, --seed {options.seed}")
    left = end.fds - start.fds + end.threads - start.threads + (pages or 0)
    finish(verdict("R6", int(left), f"held-after-{mix.asked}-mixed-requests",
                   left == 0 and is_quiet and mix.wrong == 0),
           # A slope over seconds says nothing; a MiB of noise does not either.
           verdict("R6", round((high - low) / (1 << 20), 2), "MiB-more-at-the-end",
                   high - low < max(4 << 20, (1 << 20) * hours)))


if __name__ == "__main__":
    main()
