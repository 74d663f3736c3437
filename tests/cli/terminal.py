# SPDX-License-Identifier: Apache-2.0
"""A program on a pseudo-terminal: type keys, wait for text."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    def __init__(self, command, env=None, columns=80):
        self.main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm", **(env or {})}
        self.process = subprocess.Popen(command, stdin=side, stdout=side, stderr=side,
                                        env=environment, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(side)
        self.raw = b""
        self.seen = 0  # of the plain text, already matched

    @property
    def text(self) -> str:
        return ESCAPES.sub(b"", self.raw).decode(errors="replace").replace("\r", "")

    def read_more(self, timeout: float) -> bool:
        ready, _, _ = select.select([self.main], [], [], timeout)
        if not ready:
            return False
        try:
            data = os.read(self.main, 65536)
        except OSError:  # the other side is closed
            data = b""
        self.raw += data
        return bool(data)

    def wait_for(self, wanted: str, timeout: float = 60) -> None:
        deadline = time.monotonic() + timeout
        while wanted not in self.text[self.seen:]:
            left = deadline - time.monotonic()
            alive = left > 0 and self.read_more(left)
            assert alive or wanted in self.text[self.seen:], \
                f"no {wanted!r} in {self.text[self.seen:]!r}"
        self.seen = self.text.index(wanted, self.seen) + len(wanted)

    def type(self, keys: str) -> None:
        os.write(self.main, keys.encode())

    def finish(self, timeout: float = 60) -> int:
        deadline = time.monotonic() + timeout
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read_more(0.1)
        code = self.process.poll()
        assert code is not None, f"still running: {self.text!r}"
        while self.read_more(0.1):
            pass
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self.main)
