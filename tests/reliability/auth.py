# SPDX-License-Identifier: Apache-2.0
"""R23: every route but the public ones asks for a key before it reads a body; there is one listening
socket."""

import os
import re
import socket
import subprocess
from pathlib import Path

from board import Server, arguments, finish, say, verdict
from wire import ask, http_request, parse_reply

KEY = "sk-the-only-key-0123456789"
PUBLIC = {("GET", "/"), ("GET", "/health"), ("GET", "/livez"), ("GET", "/readyz"), ("GET", "/metrics")}
KNOWN = """POST /v1/chat/completions; POST /v1/completions; GET /v1/models; GET /v1/models/default;
POST /v1/embeddings; POST /v1/messages; POST /v1/messages/count_tokens; POST /api/chat; POST /api/generate;
POST /api/embed; POST /api/embeddings; GET /api/tags; GET /api/ps; POST /api/show; GET /api/version;
POST /tokenize; POST /detokenize; POST /apply-template; GET /tokenizer_info; GET /props; GET /version;
GET /openapi.json; GET /metrics; GET /; GET /health; GET /livez; GET /readyz"""
ELSEWHERE = ["/admin", "/v1", "/v1/", "/v2/models", "/invocations", "/pause", "/slots", "/debug/pprof",
             "/api/pull", "/api/delete", "/api/create", "/server_info", "/docs", "/.env", "/lora-adapters"]


def routes_of(binary: str, server: Server) -> set[tuple[str, str]]:
    """From the program where it tells, and always those that we know of."""
    routes = {tuple(line.split()) for line in KNOWN.replace("\n", " ").split("; ")}
    told = subprocess.run([binary, "serve", "--print-routes"], capture_output=True, text=True, timeout=60)
    if told.returncode == 0:
        routes |= set(re.findall(r"^(GET|POST|PUT|DELETE|PATCH) (\S+)", told.stdout, re.M))
    reply = ask(("127.0.0.1", server.port),
                http_request("/openapi.json", headers={"Authorization": f"Bearer {KEY}"}))
    if reply.status == 200:
        for path, methods in reply.json["paths"].items():
            routes |= {(method.upper(), path) for method in methods if method != "parameters"}
    return {(method, re.sub(r"\{[^}]*\}|\*", "default", path)) for method, path in routes}


def status_without_body(port: int, method: str, path: str, headers: list[str]) -> int:
    """The status when a body is announced and never sent; 0: the server waits for it."""
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Length: 1000", *headers]
    with socket.create_connection(("127.0.0.1", port), 3) as sock:
        sock.sendall("\r\n".join(head).encode() + b"\r\n\r\n")
        received = b""
        try:
            while parse_reply(received)[0] is None:
                part = sock.recv(4096)
                if not part:
                    break
                received += part
        except TimeoutError:
            return 0
    reply, _ = parse_reply(received)
    return reply.status if reply else 0


def listening(pid: int) -> int:
    """Sockets on which the process listens, of any kind."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            continue
        if found:
            inodes.add(found[1])
    count = 0
    for table in ("tcp", "tcp6"):
        path = Path(f"/proc/{pid}/net/{table}")
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            words = line.split()
            count += words[3] == "0A" and words[9] in inodes
    for table in ("udp", "udp6", "raw", "raw6"):
        path = Path(f"/proc/{pid}/net/{table}")
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            count += line.split()[9] in inodes
    for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]:
        words = line.split()
        count += words[6] in inodes and int(words[3], 16) & 0x10000 != 0  # it accepts
    return count


def main() -> None:
    options = arguments(__doc__)
    wrong = [[], ["Authorization: Bearer wrong"], [f"Authorization: Bearer {KEY[:-1]}"],
             [f"Authorization: Bearer {KEY}x"], [f"Authorization: {KEY}"], ["x-api-key: nothing"],
             [f"Cookie: key={KEY}"]]
    problems = []
    with Server(options.binary, "--api-key", KEY) as server:
        routes = routes_of(options.binary, server)
        guarded = sorted(routes - PUBLIC)
        for method, path in guarded + [("GET", path) for path in ELSEWHERE] + [("PUT", "/v1/models")]:
            for headers in wrong:
                status = status_without_body(server.port, method, path, headers)
                if status != 401:
                    problems.append(f"{method} {path} {headers}: {status}")
        for method, path in guarded:
            data = http_request(path, {} if method == "POST" else None, method=method,
                                headers={"Authorization": f"Bearer {KEY}"})
            reply = ask(("127.0.0.1", server.port), data)
            if reply.status in (401, 403) or reply.status >= 500:
                problems.append(f"{method} {path} with the key: {reply.status}")
        for method, path in sorted(PUBLIC - {("GET", "/metrics")}):
            if ask(("127.0.0.1", server.port), http_request(path)).status != 200:
                problems.append(f"{method} {path} is not public")
        sockets = listening(server.process.pid)
    for problem in problems[:20]:
        say(problem)
    finish(verdict("R23", len(problems), f"open-doors-of-{len(guarded)}-routes", not problems),
           verdict("R23", sockets, "listening-sockets", sockets == 1))


if __name__ == "__main__":
    main()
