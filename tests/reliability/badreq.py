# SPDX-License-Identifier: Apache-2.0
"""R10: one bad request never hurts another: the corpus in random order, two at a time, beside streams
that must stay exact. No 5xx, no crash, no wait, every error in its protocol's shape, nothing leaked."""

import asyncio
import random
import socket
import time

import bad_bodies
import bad_wires
from bad_case import Case, problem_of
from board import Server, arguments, finish, longest_wait, say, thread_times, verdict
from wire import Client, answer_of
from workload import difference, request_of, solo_answers, streamed

LONGEST_S = 2.0
AT_ONCE = 4
FLAGS = ("--header-timeout", 1, "--body-grace", 1, "--keep-alive", 1)


async def send_case(port: int, case: Case, limit: float) -> tuple[bytes, float]:
    """All that the server answers until it closes, and when the first byte came."""
    loop = asyncio.get_running_loop()
    sock = socket.socket()
    sock.setblocking(False)
    received, start, first = bytearray(), time.monotonic(), None
    try:
        await loop.sock_connect(sock, ("127.0.0.1", port))

        async def send() -> None:
            try:
                await loop.sock_sendall(sock, case.data)
                if case.half_closes:
                    sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # refused before all was sent

        sending = asyncio.create_task(send())
        async with asyncio.timeout(limit):
            try:
                while part := await loop.sock_recv(sock, 65536):
                    first = first or time.monotonic()
                    received += part
            except ConnectionResetError:
                pass
        sending.cancel()
    finally:
        sock.close()
    return bytes(received), (first or time.monotonic()) - start


class Run:
    def __init__(self, server: Server, slack: float):
        self.server, self.slack = server, slack
        self.problems, self.sent, self.exact = [], 0, 0

    async def one(self, case: Case) -> None:
        self.sent += 1
        try:
            data, took = await send_case(self.server.port, case, 30 * self.slack)
        except TimeoutError:
            self.problems.append(f"{case.name}: hangs")
            return
        except OSError as error:
            self.problems.append(f"{case.name}: {error}")
            return
        problem = problem_of(case, data)
        if problem is None and took > LONGEST_S * self.slack:
            problem = await self.slowness(case)
        if problem:
            self.problems.append(f"{case.name}: {problem}")

    async def slowness(self, case: Case) -> str | None:
        """Once more, without the time in which the server waited for a processor."""
        before = thread_times(self.server.process.pid)
        _, took = await send_case(self.server.port, case, 60 * self.slack)
        took -= longest_wait(before, thread_times(self.server.process.pid))
        return f"took {took:.1f} s" if took > LONGEST_S * self.slack else None

    async def pairs(self, cases: list, pick: random.Random) -> None:
        """One right after the other, in an order nobody chose."""
        while cases and len(self.problems) < 100 and self.server.process.poll() is None:
            first = cases.pop()
            await self.one(first)
            if cases and pick.random() < 0.5:
                await asyncio.gather(self.one(cases.pop()), self.one(first))

    async def background(self, requests, truths, number: int) -> None:
        """A stream that must not notice anything."""
        client, index = None, number
        while True:
            if client is None or client.is_closed:
                client = await Client.connect(self.server.port)
            index = (index + 1) % len(requests)
            try:
                answer = answer_of(await client.ask(streamed(requests[index])))
            except OSError as error:
                self.problems.append(f"a good stream: {error}")
                return
            problem = difference(answer, truths[index])
            self.exact += problem is None
            if problem:
                self.problems.append(f"a good stream: {problem}")

    async def all(self, cases: list, requests, truths, streams: int, seed: int) -> None:
        good = [asyncio.create_task(self.background(requests, truths, i)) for i in range(streams)]
        await asyncio.gather(*(self.pairs(cases, random.Random(seed + i)) for i in range(AT_ONCE)))
        for _ in range(500):  # on a slow day they have not ended yet
            if self.exact >= streams or self.server.process.poll() is not None:
                break
            await asyncio.sleep(0.1)
        for task in good:
            task.cancel()
        await asyncio.gather(*good, return_exceptions=True)


def main() -> None:
    options = arguments(__doc__, cases=(0, "of bodies; 0: 400, or all with --long"),
                        pairs=(1, "how often the corpus is sent"), only=("", "names that begin so"),
                        slack=(1.0, "of time limits, for slow builds"))
    pick = random.Random(options.seed)
    bodies, wires = bad_bodies.cases(), bad_wires.cases()
    count = options.cases or (len(bodies) if options.long else 400)
    cases = (pick.sample(bodies, min(count, len(bodies))) + wires) * (options.pairs + options.long)
    if options.only:
        cases = [case for case in bodies + wires if case.name.startswith(options.only)]
    pick.shuffle(cases)
    requests = [request_of(options.seed % 100_000 + i, 24) for i in range(6)]
    truths = solo_answers(options.binary, requests)
    with Server(options.binary, *FLAGS, ready_timeout=60 * options.slack) as server:
        run = Run(server, options.slack)
        asyncio.run(run.all(list(cases), requests, truths, 8 if options.long else 3, options.seed))
        is_alive = server.process.poll() is None
        code = server.stop()
        if not is_alive or code != 0:
            run.problems.append(f"the server ended with {code}")
    for problem in sorted(set(run.problems))[:40]:
        say(problem)
    say(f"{run.sent} requests of {len(bodies) + len(wires)} cases, {run.exact} good streams exact, "
        f"--seed {options.seed}")
    finish(verdict("R10", len(run.problems), f"problems-of-{run.sent}-bad-requests",
                   not run.problems and run.exact > 0))


if __name__ == "__main__":
    main()
