# SPDX-License-Identifier: Apache-2.0
"""What tests of the server share: one server for those that change nothing, and a way to start more."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from serving import Server  # noqa: E402


@pytest.fixture(scope="session")
def server(binary):
    """The default model on one thread, for all tests that leave it as it is."""
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
