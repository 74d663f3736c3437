# SPDX-License-Identifier: Apache-2.0
"""Bytes that are no proper HTTP: what smuggles requests past proxies, floods, lies about lengths."""

import random

from bad_case import ABOUT_THE_WIRE, Case
from board import ROOT

CORPUS = ROOT / "tests" / "corpus" / "http"  # bytes as they were sent, of bugs that once were
BODY = b'{"prompt":"a","max_tokens":1}'
TAIL = b"Host: localhost\r\nConnection: close\r\n"
ANY = ABOUT_THE_WIRE
HIDDEN = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"


def get(target: bytes = b"/livez", version: bytes = b"HTTP/1.1", headers: bytes = TAIL) -> bytes:
    return b"GET " + target + b" " + version + b"\r\n" + headers + b"\r\n"


def post(headers: bytes, body: bytes, path: bytes = b"/tokenize") -> bytes:
    return b"POST " + path + b" HTTP/1.1\r\n" + TAIL + headers + b"\r\n" + body


def chunks(data: bytes) -> bytes:
    return post(b"Transfer-Encoding: chunked\r\n", data)


BAD = frozenset({400})
LINES = {
    "empty-method": b" /livez HTTP/1.1\r\n" + TAIL + b"\r\n",
    "no-version": b"GET /livez\r\n" + TAIL + b"\r\n",
    "http-09": b"GET /livez\r\n\r\n",
    "http-2": get(version=b"HTTP/2.0"), "http-3": get(version=b"HTTP/3.0"),
    "http-11-lower": get(version=b"http/1.1"), "http-12": get(version=b"HTTP/1.2"),
    "http-1": get(version=b"HTTP/1"), "http-long": get(version=b"HTTP/1.11"),
    "version-space": get(version=b"HTTP/ 1.1"), "version-word": get(version=b"HTTPS/1.1"),
    "two-spaces": b"GET  /livez HTTP/1.1\r\n" + TAIL + b"\r\n",
    "three-words": b"GET /livez x HTTP/1.1\r\n" + TAIL + b"\r\n",
    "tab-in-line": b"GET\t/livez\tHTTP/1.1\r\n" + TAIL + b"\r\n",
    "target-star": get(b"*"), "target-empty": b"GET  HTTP/1.1\r\n" + TAIL + b"\r\n",
    "target-absolute": get(b"http://evil.example/livez"), "target-word": get(b"livez"),
    "target-nul": get(b"/li\x00vez"), "target-control": get(b"/li\x07vez"), "target-del": get(b"/li\x7fvez"),
    "target-long": get(b"/" + b"a" * 10_000), "connect": b"CONNECT a:1 HTTP/1.1\r\n" + TAIL + b"\r\n",
    "target-fragment-only": get(b"#x"), "http2-preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "method-long": b"X" * 9000 + b" / HTTP/1.1\r\n" + TAIL + b"\r\n",
    "method-bad": b"G@T /livez HTTP/1.1\r\n" + TAIL + b"\r\n",
    "method-nul": b"GE\x00T /livez HTTP/1.1\r\n" + TAIL + b"\r\n",
    "bare-lf": b"GET /livez HTTP/1.1\nHost: localhost\n\n",
    "bare-cr": b"GET /livez HTTP/1.1\rHost: localhost\r\r",
    "lf-then-crlf": b"GET /livez HTTP/1.1\nHost: localhost\r\nConnection: close\r\n\r\n",
}
TARGETS = {  # served or refused by name, never more
    "dots": b"/../../etc/passwd", "encoded-dots": b"/%2e%2e/%2e%2e/etc/passwd", "encoded-nul": b"/livez%00",
    "encoded-crlf": b"/livez%0d%0aX-Evil:%20yes", "bad-percent": b"/livez%zz", "bad-utf8": b"/\xff\xfe",
    "query-long": b"/livez?" + b"a" * 7000, "query-odd": b"/livez?&&==%%%", "double-slash": b"//livez",
    "semicolon": b"/livez;x=1", "backslash": b"\\livez"[:0] + b"/\\livez", "upper": b"/LIVEZ",
    "trailing": b"/livez/", "models-dots": b"/v1/models/../../x", "models-long": b"/v1/models/" + b"m" * 5000,
    "models-utf8": b"/v1/models/\xe2\x82", "fragment": b"/livez#x", "brackets": b"/[]{}<>",
}
HEADERS = {
    "no-host": get(headers=b"Connection: close\r\n"),
    "two-hosts": get(headers=TAIL + b"Host: localhost\r\n"),
    "host-comma": get(headers=b"Host: localhost, evil.example\r\nConnection: close\r\n"),
    "folded": get(headers=TAIL + b"X-Folded: a\r\n b\r\n"),
    "folded-tab": get(headers=TAIL + b"X-Folded: a\r\n\tb\r\n"),
    "folded-first": b"GET /livez HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "no-colon": get(headers=TAIL + b"X-None\r\n"), "no-name": get(headers=TAIL + b": x\r\n"),
    "space-in-name": get(headers=TAIL + b"X Y: z\r\n"),
    "space-before-colon": get(headers=TAIL + b"X-Y : z\r\n"),
    "nul-in-name": get(headers=TAIL + b"X\x00Y: z\r\n"), "nul-in-value": get(headers=TAIL + b"X: a\x00b\r\n"),
    "control-in-value": get(headers=TAIL + b"X: a\x01b\r\n"),
    "bare-cr-in-value": get(headers=TAIL + b"X: a\rb\r\n"),
    "bare-lf-in-value": get(headers=TAIL + b"X: a\nEvil: b\r\n"),
    "high-byte-in-name": get(headers=TAIL + b"X\xff: z\r\n"),
    "many": get(headers=TAIL + b"A: b\r\n" * 5000), "long": get(headers=TAIL + b"A: " + b"b" * 9000 + b"\r\n"),
    "endless": b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 300_000,
    "million-lines": b"GET /livez HTTP/1.1\r\n" + b"a: b\r\n" * 50_000,
}
LENGTHS = {
    "two": post(b"Content-Length: 29\r\nContent-Length: 29\r\n", BODY),
    "two-unlike": post(b"Content-Length: 29\r\nContent-Length: 3\r\n", BODY),
    "list": post(b"Content-Length: 29, 29\r\n", BODY), "plus": post(b"Content-Length: +29\r\n", BODY),
    "minus": post(b"Content-Length: -1\r\n", BODY), "hex": post(b"Content-Length: 0x1d\r\n", BODY),
    "space": post(b"Content-Length: 2 9\r\n", BODY), "empty": post(b"Content-Length: \r\n", BODY),
    "word": post(b"Content-Length: many\r\n", BODY), "point": post(b"Content-Length: 29.0\r\n", BODY),
    "quoted": post(b'Content-Length: "29"\r\n', BODY), "exponent": post(b"Content-Length: 1e3\r\n", BODY),
    "huge": post(b"Content-Length: 99999999999999999999999\r\n", BODY),
    "2-to-64": post(b"Content-Length: 18446744073709551616\r\n", BODY),
    "largest": post(b"Content-Length: 18446744073709551615\r\n", BODY),
    "2-to-63": post(b"Content-Length: 9223372036854775808\r\n", BODY),
    "too-large": post(b"Content-Length: 4194305\r\n", BODY),
    "and-chunked": post(b"Content-Length: 29\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "chunked-and": post(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n" + HIDDEN),
    "none-with-body": post(b"", BODY), "short": post(b"Content-Length: 5\r\n", BODY),
    "get-with-body": b"GET /livez HTTP/1.1\r\n" + TAIL + b"Content-Length: 3\r\n\r\nabc",
}
CODINGS = {
    "gzip": post(b"Transfer-Encoding: gzip\r\n", BODY),
    "gzip-chunked": post(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
    "chunked-gzip": post(b"Transfer-Encoding: chunked, gzip\r\n", b"0\r\n\r\n"),
    "two": post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "two-unlike": post(b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "xchunked": post(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "quoted": post(b'Transfer-Encoding: "chunked"\r\n', b"0\r\n\r\n"),
    "empty": post(b"Transfer-Encoding: \r\n", b"0\r\n\r\n"),
    "vertical-tab": post(b"Transfer-Encoding: \x0bchunked\r\n", b"0\r\n\r\n" + HIDDEN),
    "semicolon": post(b"Transfer-Encoding: chunked;q=1\r\n", b"0\r\n\r\n"),
    "http-10": b"POST /tokenize HTTP/1.0\r\n" + TAIL + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "content-gzip": post(b"Content-Encoding: gzip\r\nContent-Length: 29\r\n", BODY),
    "content-br": post(b"Content-Encoding: br\r\nContent-Length: 29\r\n", BODY),
}
CHUNKS = {
    "minus": b"-2\r\n{}\r\n0\r\n\r\n", "plus": b"+2\r\n{}\r\n0\r\n\r\n", "hex": b"0x2\r\n{}\r\n0\r\n\r\n",
    "word": b"zz\r\n{}\r\n0\r\n\r\n", "space": b" 2\r\n{}\r\n0\r\n\r\n", "space-after": b"2 \r\n{}\r\n0\r\n\r\n",
    "empty-line": b"\r\n2\r\n{}\r\n0\r\n\r\n", "2-to-64": b"10000000000000002\r\n{}\r\n0\r\n\r\n",
    "largest": b"ffffffffffffffff\r\n{}\r\n0\r\n\r\n", "2-to-31": b"80000000\r\n{}\r\n0\r\n\r\n",
    "too-long": b"3\r\n{}\r\n0\r\n\r\n", "too-short": b"1\r\n{}\r\n0\r\n\r\n", "bare-lf": b"2\n{}\n0\n\n",
    "lf-after-data": b"2\r\n{}\n0\r\n\r\n", "nul-extension": b"2;\x00\r\n{}\r\n0\r\n\r\n",
    "lf-extension": b"2;a\nb\r\n{}\r\n0\r\n\r\n", "underscore": b"0_2\r\n{}\r\n0\r\n\r\n",
    "trailer-length": b"2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n", "trailer-bad": b"2\r\n{}\r\n0\r\nnone\r\n\r\n",
    "trailer-folded": b"2\r\n{}\r\n0\r\nA: b\r\n c\r\n\r\n", "trailer-nul": b"2\r\n{}\r\n0\r\nA: \x00\r\n\r\n",
    "long-extension": b"2;" + b"e" * 100_000, "endless-size": b"0" * 100_000,
    "over-the-bound": b"100000\r\n" + b" " * 0x100000 + b"\r\n" + b"400000\r\n",
}
NOISE = {
    "tls": bytes.fromhex("16030100c8010000c40303") + bytes(193), "ssh": b"SSH-2.0-OpenSSH_9.2\r\n",
    "smtp": b"EHLO evil.example\r\n", "redis": b"*1\r\n$4\r\nPING\r\n", "nul": b"\x00" * 500,
    "ff": b"\xff" * 500, "socks": b"\x05\x01\x00", "proxy": b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n",
    "proxy-2": b"\r\n\r\n\x00\r\nQUIT\n" + bytes(16), "rdp": b"\x03\x00\x00\x13\x0e\xe0\x00\x00",
    "json": BODY, "crlf": b"\r\n" * 3000, "crlf-then-cut": b"\r\n\r\nGET /li", "cr": b"\r" * 3000,
    "lf": b"\n" * 3000, "cut-line": b"GET /livez HT", "cut-head": b"GET /livez HTTP/1.1\r\nHost: local",
    "cut-body": post(b"Content-Length: 29\r\n", BODY[:10]), "cut-chunk": chunks(b"2\r\n{"),
    "only-method": b"GET",
}
PIPELINES = {  # what follows a good request; the good ones are answered
    "garbage-after": (get(headers=b"Host: localhost\r\n") * 3 + b"\x00\x01\x02garbage", {200, 400}),
    "body-after-get": (get(headers=b"Host: localhost\r\n") + BODY, {200, 400}),
    "many": (get(headers=b"Host: localhost\r\n") * 200 + get(), {200}),
    "after-close": (get() + get(b"/v1/models"), {200}),
    "bad-in-the-middle": (get(headers=b"Host: localhost\r\n") + get(headers=b"") + get(), {200, 400}),
    "mixed": (get(b"/nowhere", headers=b"Host: localhost\r\n")
              + b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}" + get(),
              {200, 400, 404}),
}


def cases() -> list[Case]:
    found = []
    for group, table in (("line", LINES), ("header", HEADERS), ("length", LENGTHS), ("coding", CODINGS)):
        for name, data in table.items():
            # Bodies after a length that is too short are the next request, and a bad one.
            statuses = ANY | {200} if name in ("none-with-body", "short", "get-with-body", "host-comma") else ANY
            found.append(Case(f"{group}:{name}", data, statuses))
    found += [Case(f"target:{name}", get(target), ANY | {200}) for name, target in TARGETS.items()]
    found += [Case(f"chunk:{name}", chunks(data), ANY) for name, data in CHUNKS.items()]
    found += [Case(f"noise:{name}", data, ANY, may_be_silent=True) for name, data in NOISE.items()]
    found += [Case(f"noise:{name}:half-closed", data, ANY, may_be_silent=True, half_closes=True)
              for name, data in NOISE.items()]
    found += [Case(f"pipeline:{name}", data, frozenset(statuses))
              for name, (data, statuses) in PIPELINES.items()]
    pick = random.Random(1)
    for i in range(40):  # good requests with some bytes changed
        data = bytearray(post(b"Content-Length: %d\r\n" % len(BODY), BODY))
        for _ in range(pick.randint(1, 6)):
            data[pick.randrange(len(data))] = pick.randrange(256)
        found.append(Case(f"changed:{i}", bytes(data), ANY | {200}, may_be_silent=True))
    for path in sorted(CORPUS.glob("*.http")):
        found.append(Case(f"file:{path.stem}", path.read_bytes(), ANY | {200}, may_be_silent=True))
    return found
