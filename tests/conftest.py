# SPDX-License-Identifier: Apache-2.0
"""What all end-to-end tests share: the program under test, run as a user runs it."""

import json
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from serving import Server

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "tests" / "oracle" / "models"

# A shell's background jobs ignore interrupts, and so would the programs that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--binary", default=str(ROOT / "build" / "release" / "ingot"),
                     help="the program to test")


@dataclass
class Outcome:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self):
        return json.loads(self.out)


class Ingot:
    def __init__(self, binary: str):
        self.binary = binary

    def __call__(self, *args, stdin: bytes = b"", code: int = 0, timeout: float = 120) -> Outcome:
        """Runs it; fails the test when the exit code is another."""
        done = subprocess.run([self.binary, *map(str, args)], input=stdin, capture_output=True,
                              timeout=timeout)
        outcome = Outcome(done.returncode, done.stdout, done.stderr.decode(errors="replace"))
        assert outcome.code == code, f"{args}: exit code {outcome.code}: {outcome.err}"
        return outcome

    def generate(self, *args, **more) -> Outcome:
        # One thread: the machine may be busy with other tests.
        return self("generate", *args, "-t", 1, **more)


@pytest.fixture(scope="session")
def binary(request) -> str:
    path = request.config.getoption("--binary")
    if not Path(path).exists():
        pytest.fail(f"{path} is not there; run `make build` first")
    return path


@pytest.fixture(scope="session")
def ingot(binary) -> Ingot:
    return Ingot(binary)


@pytest.fixture(scope="session")
def default_file() -> Path:
    path = ROOT / "models" / "default.gguf"
    if not path.exists():
        pytest.fail("models/default.gguf is missing")
    return path


@pytest.fixture(scope="session")
def server(binary):
    """The default model served on one thread, for all tests that leave it as it is."""
    with Server(binary) as running:
        yield running


@pytest.fixture
def start_server(binary):
    """start_server(*flags, env=...) -> Server; all are stopped after the test."""
    started = []

    def start(*flags, **more) -> Server:
        started.append(Server(binary, *flags, **more))
        return started[-1]

    yield start
    for running in started:
        running.stop()
