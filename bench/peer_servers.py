# SPDX-License-Identifier: Apache-2.0
"""The servers of vs_peers.py: each started by itself, driven by `ingot bench serve`, and ended.

One at a time, so that no idle server takes part of a core, and fresh each time, so that no cache of
an earlier run helps.
"""

import json
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

CONTEXT = 1024  # of each sequence
SLOTS = 8
START_SECONDS = 300


@dataclass
class Load:
    title: str
    options: list[str]


SERVE_LOADS = {
    "serve": Load("256 in, 64 out", ["--workload", "random", "--input-len", "256", "--seed", "1"]),
    "serve_prefix": Load(
        "shared 512 + 64 in, 64 out",
        ["--workload", "shared-prefix", "--shared-prefix", "512", "--input-len", "64", "--seed", "2"],
    ),
}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def command_of(args, program, path: Path, port: int) -> list[str]:
    listen = ["--host", "127.0.0.1", "--port", str(port), "-t", args.threads]
    if program.peer == "ingot":
        # What the peers' slots hold, no more.
        own = ["--max-num-seqs", str(SLOTS), "-c", str(CONTEXT), "--watchdog-timeout", "0"]
        return [program.server, "serve", str(path), *listen, *own, *program.options]
    return [program.server, "-m", str(path), *listen, "-np", str(SLOTS), "-c", str(SLOTS * CONTEXT), *program.options]


def wait_until_ready(process: subprocess.Popen, port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{' '.join(process.args)} ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.05)
    raise RuntimeError(f"{process.args[0]} was not ready within {START_SECONDS} s")


def drive(args, port: int, load: Load) -> dict:
    command = [args.ingot, "bench", "serve", "--base-url", f"http://127.0.0.1:{port}", "--json"]
    command += ["--num-prompts", "32", "--max-concurrency", str(SLOTS), "--output-len", "64", *load.options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=args.limit)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout)["servers"][0]


def run_serve(args, program, path: Path, notes: list[str]) -> dict[str, float]:
    """Output tokens a second of each load; requests that failed become notes."""
    if not program.server:
        return {}
    port = free_port()
    speeds = {}
    process = subprocess.Popen(
        command_of(args, program, path, port),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tempfile.gettempdir(),  # a peer leaves a log where it runs
    )
    try:
        wait_until_ready(process, port)
        for test, load in SERVE_LOADS.items():
            figures = drive(args, port, load)
            speeds[test] = figures["output_tokens_per_s"]
            if figures["failed"] or figures["refused"]:
                notes.append(f"{program.name}, {load.title}: {figures['failed'] + figures['refused']} requests failed")
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return speeds
