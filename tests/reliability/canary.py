# SPDX-License-Identifier: Apache-2.0
"""R24: planted keys, prompts, answers and headers appear nowhere in what the process writes: logs at
the highest level, metrics, bodies of errors."""

import subprocess
import tempfile
from pathlib import Path

from board import Server, arguments, finish, say, verdict
from wire import ask, http_request, talk

KEY, WRONG_KEY = "sk-canary-key-81723", "sk-canary-wrong-55512"
PROMPT, HEADER, SALT, TOOL = "canaryprompt4417", "canaryheader9921", "canarysalt3341", "canarytool7719"
STOP, USER = "canarystop5521", "canaryuser1177"
SECRETS = [KEY, KEY[4:], WRONG_KEY, PROMPT, HEADER, SALT, TOOL, STOP, USER]


def requests(headers: dict) -> list[bytes]:
    messages = [{"role": "user", "content": f"Say {PROMPT}"}]
    tools = [{"type": "function", "function": {"name": "f", "description": TOOL}}]
    bodies = [
        ("/v1/completions", {"prompt": PROMPT, "max_tokens": 3, "echo": True, "logprobs": 1}),
        ("/v1/completions", {"prompt": PROMPT, "max_tokens": 3, "stream": True, "stop": [STOP]}),
        ("/v1/chat/completions", {"messages": messages, "max_tokens": 3, "tools": tools,
                                  "cache_salt": SALT, "user": USER}),
        ("/v1/chat/completions", {"messages": messages, "max_tokens": 3, "stream": True}),
        ("/v1/messages", {"model": "default", "messages": messages, "max_tokens": 3, "system": PROMPT}),
        ("/api/chat", {"model": "default", "messages": messages, "options": {"num_predict": 3}}),
        ("/api/generate", {"model": "default", "prompt": PROMPT, "options": {"num_predict": 3}}),
        ("/v1/embeddings", {"input": PROMPT}), ("/tokenize", {"prompt": PROMPT}),
        ("/apply-template", {"messages": messages}),
    ]
    return [http_request(path, body, headers=headers) for path, body in bodies]


def wrong_requests(headers: dict) -> list[bytes]:
    """Refused, each with the prompt in it."""
    paths = ["/v1/completions", "/v1/chat/completions", "/v1/messages", "/api/chat", "/api/generate",
             "/v1/embeddings", "/tokenize", "/detokenize", "/apply-template"]
    bodies = [PROMPT.encode(), f'{{"prompt": "{PROMPT}'.encode(), f'{{"prompt": "{PROMPT}\x01"}}'.encode(),
              f'{{"prompt": "{PROMPT}", "max_tokens": "{PROMPT}"}}'.encode(),
              f'["{PROMPT}"]'.encode(), f'{{"messages": "{PROMPT}"}}'.encode(),
              f'{{"messages": [{{"role": "user", "content": [{{"type": "text", "text": ["{PROMPT}"]}}]}}]}}'
              .encode(), f'{{"prompt": "{PROMPT * 20_000}"}}'.encode(),
              f'{{"messages": [{{"role": "user", "content": "{PROMPT * 20_000}"}}]}}'.encode()]
    return [http_request(path, body, headers=headers) for path in paths for body in bodies]


def main() -> None:
    options = arguments(__doc__)
    hits = []
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder) / "keys.txt"
        keys.write_text(f"{KEY} name=tester\n")
        server = Server(options.binary, "--log-level", "debug", "--api-key-file", keys)
        address = ("127.0.0.1", server.port)
        headers = {"Authorization": f"Bearer {KEY}", "X-Secret": HEADER, "User-Agent": HEADER,
                   "Cookie": HEADER}
        for data in requests(headers):
            reply = ask(address, data)
            assert reply.status == 200, reply.body[:300]
        bodies = [ask(address, data, timeout=60) for data in wrong_requests(headers)]
        bodies += [ask(address, http_request("/v1/models", headers={"Authorization": f"Bearer {WRONG_KEY}"})),
                   ask(address, http_request("/v1/models", headers={"x-api-key": WRONG_KEY}))]
        talk(address, f"GET /livez HTTP/1.1\r\nHost: localhost\r\n{HEADER}\r\n\r\n".encode())
        for body in bodies:
            if body.status >= 400:
                hits += [f"{secret} in an error: {body.body[:200]}" for secret in SECRETS
                         if secret.encode() in body.body]
        metrics = ask(address, http_request("/metrics", headers=headers))
        hits += [f"{secret} in the metrics" for secret in SECRETS if secret.encode() in metrics.body]
        environment = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
        hits += [f"{secret} in the command line" for secret in SECRETS if secret.encode() in environment]
        server.process.terminate()
        server.process.wait(30)
        log = server.log
        server.stop()
        hits += [f"{secret} in the log" for secret in SECRETS if secret in log]
        # What goes wrong at the start is told without keys as well.
        keys.write_text(f"{KEY} {WRONG_KEY}\n")
        failed = subprocess.run([options.binary, "serve", "--port", "0", "--api-key-file", str(keys)],
                                capture_output=True, text=True, timeout=60)
        hits += [f"{secret} in the message of a wrong key file" for secret in SECRETS
                 if secret in failed.stderr + failed.stdout]
    for hit in hits[:20]:
        say(hit)
    say(f"{len(log)} bytes of log, {len(metrics.body)} of metrics, {len(bodies)} errors")
    finish(verdict("R24", len(hits), "leaks-of-planted-secrets", not hits))


if __name__ == "__main__":
    main()
