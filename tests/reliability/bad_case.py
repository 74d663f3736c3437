# SPDX-License-Identifier: Apache-2.0
"""One bad request of the corpus and what a reply to it may be."""

import json
import re
from dataclasses import dataclass

from board import ROOT  # noqa: F401  (makes `wire` known)
from wire import Reply, parse_reply

# Addresses, paths and places in the source have no business in a reply.
LEAKS = re.compile(rb"0x[0-9a-f]{6,}|/home|/work|/root|/usr/|\.cc:|\.h:\d|std::|nlohmann|boost")
REFUSED = frozenset({400})
REFUSED_OR_SERVED = frozenset({200, 400})
# The only replies of the 5xx kind that are about the request: its version, its transfer encoding.
ABOUT_THE_WIRE = frozenset({400, 403, 404, 405, 408, 413, 415, 431, 501, 505})


@dataclass(frozen=True)
class Case:
    name: str
    data: bytes                        # all that is sent
    statuses: frozenset = REFUSED      # that the (first) reply may have
    names: str = ""                    # what an error must name
    path: str = ""                     # whose protocol errors follow
    may_be_silent: bool = False        # closing without a reply is right too
    half_closes: bool = False          # the client closes its sending side afterwards


def shape_problem(path: str, reply: Reply) -> str | None:
    """Whether an error is in the shape of the path's protocol."""
    if reply.headers.get("content-type") != "application/json":
        return f"an error of the type {reply.headers.get('content-type')}"
    try:
        body = json.loads(reply.body.decode())
    except ValueError as error:
        return f"no JSON: {error}"
    error = body.get("error")
    if path.startswith("/api/"):
        is_right = isinstance(error, str) and error
    elif path.startswith("/v1/messages"):
        is_right = (body.get("type") == "error" and isinstance(error, dict) and error.get("message")
                    and isinstance(error.get("type"), str))
    else:
        is_right = (isinstance(error, dict) and set(error) == {"message", "type", "param", "code"}
                    and error["message"])
    return None if is_right else f"an error of the shape {reply.body[:200]!r}"


def problem_of(case: Case, data: bytes) -> str | None:
    """What is wrong with all that the server sent, in words."""
    if LEAKS.search(data):
        return f"leaks {LEAKS.search(data)[0]!r}"
    if not data:
        return None if case.may_be_silent else "no reply"
    rest = data
    while rest:
        reply, rest = parse_reply(rest)
        if reply is None:
            return f"half a reply: {data[:200]!r}"
        if reply.status not in case.statuses:
            return f"status {reply.status}: {reply.body[:300]!r}"
        if reply.status >= 400:
            problem = shape_problem(case.path, reply)
            if problem:
                return problem
            if case.names and case.names not in reply.body.decode(errors="replace"):
                return f"does not name {case.names}: {reply.body[:300]!r}"
            if not reply.is_complete:
                return "a cut error"
    return None
