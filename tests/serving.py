# SPDX-License-Identifier: Apache-2.0
"""A running `ingot serve`, as a user starts it: real process, real port."""

import http.client
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path


class Server:
    """Started with its flags on a free port; stops with the block it is used in."""

    def __init__(self, binary: str, *flags, model: str = "default", env: dict | None = None,
                 ready_timeout: float = 60):
        self.log_path = Path(tempfile.mkstemp(prefix="ingot-serve-", suffix=".log")[1])
        arguments = [binary, "serve", model, "-t", "1", *map(str, flags)]
        if not {"--port", "--uds"} & set(arguments):
            arguments += ["--port", "0"]
        self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=self.log_path.open("wb"),
                                        env={**os.environ, **(env or {})})
        self.url = self._wait_for_url(ready_timeout)
        match = re.fullmatch(r"https?://\[?([^\]]*?)\]?:(\d+)", self.url)
        self.host, self.port = (match[1], int(match[2])) if match else (None, None)

    def _wait_for_url(self, timeout: float) -> str:
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            found = re.search(r"is served at (\S+)", self.log)
            if found:
                return found[1]
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        self.process.kill()
        raise RuntimeError(f"the server did not start: {self.log}")

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, timeout: float = 30) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log_path.unlink(missing_ok=True)
        return self.process.returncode

    def connect(self, timeout: float = 30) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(self, method: str, path: str, body=None, headers: dict | None = None,
                timeout: float = 60):
        """(status, headers, parsed or raw body); never raises for an error status."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json",
                                                                 **(headers or {})}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as reply:
                return reply.status, reply.headers, _body(reply)
        except urllib.error.HTTPError as error:
            return error.code, error.headers, _body(error)

    def get(self, path: str, **more):
        return self.request("GET", path, **more)

    def post(self, path: str, body, **more):
        return self.request("POST", path, body, **more)

    def metric(self, name: str, headers: dict | None = None, **labels) -> float:
        """The sum of all series of this name whose labels are these."""
        _, _, text = self.get("/metrics", headers=headers)
        text = text.decode() if isinstance(text, bytes) else text
        total, found = 0.0, False
        for line in text.splitlines():
            match = re.fullmatch(r"([^{ ]+)(?:\{(.*)\})? (\S+)", line)
            if match and match[1] == name and all(f'{k}="{v}"' in (match[2] or "")
                                                  for k, v in labels.items()):
                total, found = total + float(match[3]), True
        assert found, f"no metric {name} {labels}"
        return total


def _body(reply):
    data = reply.read()
    if reply.headers.get_content_type() == "application/json":
        return json.loads(data)
    return data


def events(text: bytes) -> list:
    """The data of server-sent events; JSON is parsed."""
    found = []
    for line in text.decode().split("\n"):
        if line.startswith("data: "):
            data = line[len("data: "):]
            found.append(data if data == "[DONE]" else json.loads(data))
    return found
