#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random templates through our interpreter and through Jinja2 itself, set up as transformers does.

    tests/jinja_differential.py --binary build/release/tests/jinja_render --count 20000 --seed 1

Needs the package jinja2. Where Jinja2 prints, we must print the same bytes; where it fails, we must fail.
Prints each difference and exits 1 if there is any. A small set of known differences
(docs/chat-templates.md) is told apart and counted.
"""

import argparse
import copy
import datetime
import json
import pathlib
import random
import re
import subprocess
import sys

import jinja2
from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2024, 7, 26, 12, 34, 56)


class Generation(Extension):
    """The block that transformers adds: it renders its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def make_environment():
    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise TemplateError(message)

    def strftime_now(format):
        return NOW.strftime(format)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = strftime_now
    return environment


VARIABLES = {
    "i": 7, "j": -3, "zero": 0, "big": 123456789, "f": 2.5, "g": -0.125, "h": 1e20, "tiny": 1.5e-7, "yes": True,
    "no": False, "nothing": None, "empty": "", "s": "Hello World", "t": "  spaced\tout \n", "u": "Grüße, 日本語 — ñandú!",
    "q": "it's \"quoted\"\\ & <tag>", "lines": "one\ntwo\r\n\nthree\n", "digits": "0042", "word": "abcabc",
    "xs": [3, 1, 2], "ys": ["b", "A", "c", "a"], "zs": [], "mixed": [1, "1", None, True, 2.0, [1], {"k": "v"}],
    "fs": [1.5, -2.0, 3.25], "nested": [[1, 2], [3], []],
    "d": {"b": 1, "a": 2, "C": 3}, "e": {}, "o": {"name": "add", "items": [1, 2], "deep": {"x": {"y": "z"}}, "n": None},
    "recs": [{"k": "x", "v": 3, "t": "A"}, {"k": "y", "v": 1, "t": "b"}, {"k": "x", "v": 2, "t": "a"}],
}

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi <there>"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"type": "function", "function": {"name": "add", "arguments": {"x": 1, "y": [2.5, None, True], "z": "ü\n"}}}]},
    {"role": "tool", "content": "{\"sum\": 3}", "name": "add"},
    {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image"}]},
]
TOOLS = [{"type": "function", "function": {"name": "add", "description": "Adds two.", "parameters": {
    "type": "object", "properties": {"x": {"type": "number"}, "y": {"type": ["array", "null"], "enum": [1, "a"]}},
    "required": ["x"]}}}]


# Arguments with quotes in them, which expressions inside f-strings cannot spell.
ARG0 = "(separators=(',', ':'))"
ARG1 = "9, false, '~'"
ARG2 = "5, true, '', 0"
ARG3 = "4, wrapstring='|'"
ARG4 = "2, '-'"
ARG5 = "dictsort(false, 'value')"
ARG6 = "'t', case_sensitive=true"
ARG7 = "'n', default='z'"
ARG8 = "('H', 'x')"


class Generator:
    """Typed expressions, mostly meaningful; about one in fifteen is of the wrong type on purpose."""

    def __init__(self, rng):
        self.rng = rng
        self.locals = []

    def pick(self, *choices):
        return self.rng.choice(choices)

    def expr(self, kind, depth):
        if self.rng.random() < 0.06:
            kind = self.pick("int", "str", "list", "dict", "bool", "float", "any")
        if kind == "any":
            kind = self.pick("int", "str", "list", "dict", "bool", "float", "other")
        return getattr(self, "e_" + kind)(depth)

    def e_other(self, depth):
        names = ["undefined_name", "nothing", "none", "mixed", "messages", "tools", "o", "o.missing", "nested"] + self.locals
        return self.rng.choice(names)

    def e_int(self, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.25:
            return self.pick("i", "j", "zero", "big", "0", "1", "2", "-1", "3", "10", "0x1f", "1_000", "xs[0]", "xs|length")
        d = depth - 1
        return self.pick(
            lambda: f"({self.expr('int', d)} {self.pick('+', '-', '*', '//', '%')} {self.expr('int', d)})",
            lambda: f"{self.expr('int', d)} {self.pick('+', '-', '*', '//', '%')} {self.expr('int', d)}",
            lambda: f"{self.expr('int', d)} ** {self.pick('0', '1', '2', '3')}",
            lambda: f"-{self.expr('int', d)}",
            lambda: f"({self.expr('any', d)})|length",
            lambda: f"({self.expr('str', d)}).{self.pick('find', 'rfind', 'count')}({self.s_short()})",
            lambda: f"({self.expr('any', d)})|int({self.pick('', '5', 'default=9')})",
            lambda: f"({self.expr('list', d)})|sum",
            lambda: f"({self.expr('list', d)})|{self.pick('max', 'min', 'first', 'last', 'count')}",
            lambda: f"({self.expr('int', d)})|abs",
            lambda: f"({self.expr('list', d)})[{self.pick('0', '-1', '1', '5')}]",
            lambda: f"d.{self.pick('a', 'b', 'C', 'missing')}",
            lambda: f"d[{self.pick(repr('a'), repr('x'))}]",
            lambda: f"({self.expr('int', d)} if {self.expr('bool', d)} else {self.expr('int', d)})",
            lambda: f"({self.expr('str', d)})|wordcount",
            lambda: f"({self.expr('list', d)}).{self.pick('index', 'count')}({self.expr('int', 0)})",
        )()

    def e_float(self, depth):
        if depth <= 0 or self.rng.random() < 0.3:
            return self.pick("f", "g", "1.5", "0.1", "2e3", "1e-7", "fs[0]", "h", "tiny", "1e16", "123456.789")
        d = depth - 1
        return self.pick(
            lambda: f"({self.expr('float', d)} {self.pick('+', '-', '*', '/', '//', '%')} {self.expr('int', d)})",
            lambda: f"{self.expr('int', d)} / {self.expr('int', d)}",
            lambda: f"({self.expr('float', d)})|round({self.pick('', '1', '2', '0', '-1')})",
            lambda: f"({self.expr('float', d)})|round({self.pick('0', '1', '2')}, {self.pick(repr('ceil'), repr('floor'))})",
            lambda: f"({self.expr('any', d)})|float",
            lambda: f"({self.expr('float', d)})|abs",
            lambda: f"fs|{self.pick('sum', 'max', 'min')}",
            lambda: f"({self.expr('int', d)}) ** {self.pick('-1', '0.5', '-2')}",
        )()

    def s_short(self):
        return self.pick("'a'", "'b'", "'l'", "'o W'", "' '", "'\\n'", "'ü'", "'bc'", "''", "'x'", "'日'", "'l'", '"\'"', "'ab'")

    def e_str(self, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.2:
            return self.pick("s", "t", "u", "q", "lines", "digits", "word", "empty", "'x'", "'a b'", '"d\\"q"', "'\\u00e9\\t\\x41'",
                             "'two' 'parts'", "ys[0]", "o.name", "messages[0].role", "bos_token", "messages[1]['content']")
        d = depth - 1
        return self.pick(
            lambda: f"({self.expr('str', d)} + {self.expr('str', d)})",
            lambda: f"{self.expr('str', d)} + {self.expr('str', d)} + {self.expr('str', d)}",
            lambda: f"({self.expr('any', d)} ~ {self.expr('any', d)})",
            lambda: f"({self.expr('str', d)}) * {self.pick('0', '2', '3', '-1')}",
            lambda: f"({self.expr('any', d)})|{self.pick('string', 'upper', 'lower', 'capitalize', 'title', 'trim', 'escape', 'safe', 'forceescape', 'e', 'striptags', 'urlencode')}",
            lambda: f"({self.expr('str', d)})|replace({self.s_short()}, {self.expr('str', 0)}{self.pick('', ', 1', ', count=2')})",
            lambda: f"({self.expr('list', d)})|join({self.pick('', self.s_short(), repr(', '))})",
            lambda: f"({self.s_short()}).join({self.expr('list', d)})",
            lambda: f"({self.expr('any', d)})|tojson{self.pick('', '(indent=2)', '(indent=4, ensure_ascii=true)', '(sort_keys=true)', ARG0)}",
            lambda: f"({self.expr('str', d)}).{self.pick('strip', 'lstrip', 'rstrip')}({self.pick('', self.s_short(), repr('Hd!'), repr(' n'))})",
            lambda: f"({self.expr('str', d)}).{self.pick('upper', 'lower', 'title', 'capitalize', 'swapcase')}()",
            lambda: f"({self.expr('str', d)}).{self.pick('removeprefix', 'removesuffix')}({self.s_short()})",
            lambda: f"({self.expr('str', d)}).replace({self.s_short()}, {self.s_short()}{self.pick('', ', 1')})",
            lambda: f"({self.expr('str', d)}).{self.pick('zfill', 'ljust', 'rjust', 'center')}({self.pick('3', '12', '20')})",
            lambda: f"({self.expr('str', d)})[{self.slice(d)}]",
            lambda: f"({self.expr('str', d)})[{self.pick('0', '1', '-1', '99')}]",
            lambda: f"({self.expr('list', d)})[{self.pick('0', '-1')}]|string",
            lambda: f"({self.expr('any', d)})|default({self.expr('str', 0)}{self.pick('', ', true')})",
            lambda: f"({self.expr('str', d)} if {self.expr('bool', d)}{self.pick('', ' else ' + self.expr('str', d))})",
            lambda: f"({self.expr('str', d)})|center({self.pick('5', '30')})",
            lambda: f"({self.expr('str', d)})|indent({self.pick('', '2', '2, true', '2, true, true', 'width=3, blank=true', repr('> '))})",
            lambda: f"({self.expr('str', d)})|truncate({self.pick('5', '8, true', ARG1, ARG2)})",
            lambda: f"({self.expr('str', d)})|wordwrap({self.pick('', '5', '8, false', ARG3)})",
            lambda: f"'%s-%s'|format({self.expr('any', d)}, {self.expr('any', d)})",
            lambda: f"'{self.pick('%d', '%5d|', '%-5d|', '%05d', '%+d', '%x', '%.2f', '%8.3f', '%e', '%g', '%s', '%r', '%5s', '%-5s|', '%.2s', '%c', '%%%s')}' % {self.pick('i', 'j', 'f', 's', 'g', 'u', '(i,)', '(f,)', 'h', 'yes')}",
            lambda: f"'{self.pick('{}', '{0}-{0}', '{:>8}', '{:<6}|', '{:^7}|', '{:*^9}', '{!r}', '{0!s:>5}')}'.format({self.expr('str', d)})",
            lambda: f"'{self.pick('{:d}', '{:05d}', '{:+d}', '{:x}', '{:,}', '{:>6}', '{:b}', '{:.1f}', '{:e}', '{:%}', '{:g}', '{:08.3f}', '{}')}'.format({self.pick(self.expr('int', d), self.expr('float', d))})",
            lambda: f"'{{a}} and {{b[0]}} {{c.name}}'.format(a={self.expr('any', d)}, b=xs, c=o)",
            lambda: f"strftime_now('{self.pick('%Y-%m-%d', '%d %b %Y', '%B %d, %Y', '%H:%M:%S', '%A %a %j %p %I %y', '%-d/%-m', '%e %k', '%c', '%x %X', '%U %W %V %G %u %w')}')",
            lambda: f"({self.expr('str', d)}).{self.pick('split', 'rsplit')}({self.pick('', self.s_short())})|{self.pick('first', 'last')}",
            lambda: f"({self.expr('dict', d)})|string",
            lambda: f"({self.expr('list', d)})|string",
            lambda: f"({self.expr('dict', d)})|xmlattr",
            lambda: f"(({self.expr('str', d)})|{self.pick('safe', 'e')}) {self.pick('+', '~')} {self.expr('str', d)}",
        )()

    def slice(self, d):
        part = lambda: self.pick("", "0", "1", "2", "-1", "-2", "100", "-100", "i")
        step = self.pick("", "", "", ":1", ":2", ":-1", ":-2", ":")
        return f"{part()}:{part()}{step}"

    def e_list(self, depth):
        if depth <= 0 or self.rng.random() < 0.25:
            return self.pick("xs", "ys", "zs", "fs", "nested", "recs", "messages", "[1, 2, 3]", "['x', 'y']", "[]", "(1, 2)", "range(4)", "tools")
        d = depth - 1
        test = lambda: self.pick("'odd'", "'even'", "'string'", "'number'", "'defined'", "'none'", "'gt', 1", "'in', [1, 'a']",
                                 "'equalto', 2", "'mapping'", "'sequence'", "'iterable'", "'true'", "'lower'", "")
        return self.pick(
            lambda: f"({self.expr('list', d)} + {self.expr('list', d)})",
            lambda: f"({self.expr('list', d)}) * {self.pick('0', '2')}",
            lambda: f"[{', '.join(self.expr('any', d) for _ in range(self.rng.randrange(4)))}]",
            lambda: f"({self.expr('any', d)}, {self.expr('any', d)})",
            lambda: f"({self.expr('list', d)})[{self.slice(d)}]",
            lambda: f"({self.expr('any', d)})|list",
            lambda: f"({self.expr('list', d)})|sort{self.pick('', '(reverse=true)', '(case_sensitive=true)')}",
            lambda: f"recs|sort(attribute={self.pick(repr('v'), repr('k,v'), repr('t'), repr('missing'))})",
            lambda: f"({self.expr('list', d)})|unique|list",
            lambda: f"recs|{self.pick('unique', 'map')}(attribute={self.pick(repr('k'), repr('t'), repr('nope'))})|list",
            lambda: f"recs|map(attribute='nope', default={self.expr('str', 0)})|list",
            lambda: f"({self.expr('list', d)})|{self.pick('select', 'reject')}({test()})|list",
            lambda: f"recs|{self.pick('selectattr', 'rejectattr')}({self.pick(repr('v'), repr('k'))}, {self.pick(test(), '')})|map(attribute='v')|list",
            lambda: f"({self.expr('list', d)})|map({self.pick(repr('string'), repr('upper'), repr('int'), repr('abs'), repr('length'), repr('tojson'), repr('first'), 'attribute=0')})|list",
            lambda: f"({self.expr('list', d)})|reverse|list",
            lambda: f"({self.expr('list', d)})|batch({self.pick('2', '3', ARG4)})|list",
            lambda: f"({self.expr('list', d)})|slice({self.pick('2', '3', ARG4)})|list",
            lambda: f"({self.expr('str', d)}).split({self.pick('', self.s_short(), self.s_short() + ', 1', 'none, 1', 'maxsplit=1')})",
            lambda: f"({self.expr('str', d)}).rsplit({self.pick('', self.s_short(), self.s_short() + ', 1', 'none, 1')})",
            lambda: f"({self.expr('str', d)}).splitlines({self.pick('', 'true')})",
            lambda: f"({self.expr('str', d)}).{self.pick('partition', 'rpartition')}({self.s_short()})",
            lambda: f"({self.expr('dict', d)}).{self.pick('keys', 'values', 'items')}()|list",
            lambda: f"({self.expr('dict', d)}).{self.pick('keys', 'values', 'items')}()",
            lambda: f"({self.expr('dict', d)})|{self.pick('dictsort', 'items|list', 'list', 'dictsort(true)', ARG5, 'dictsort(reverse=true)')}",
            lambda: f"recs|groupby({self.pick(repr('k'), repr('t'), repr('v'), ARG6, ARG7)})",
            lambda: f"range({self.pick('3', '1, 4', '5, 0, -2', 'i', '0')}){self.pick('', '|list')}",
        )()

    def e_dict(self, depth):
        if depth <= 0 or self.rng.random() < 0.4:
            return self.pick("d", "e", "o", "recs[0]", "{'a': 1}", "{}", "messages[2]", "o.deep", "tools[0].function")
        d = depth - 1
        return self.pick(
            lambda: "{" + ", ".join(f"{self.pick(self.expr('str', 0), self.expr('int', 0))}: {self.expr('any', d)}" for _ in range(self.rng.randrange(3))) + "}",
            lambda: f"dict(a={self.expr('any', d)}, b={self.expr('any', d)})",
            lambda: f"dict({self.expr('dict', d)}, z={self.expr('int', d)})",
            lambda: f"({self.expr('dict', d)}).get({self.pick(repr('a'), repr('deep'), repr('zz'))}{self.pick('', ', {}')})",
            lambda: f"({self.expr('dict', d)} or {self.expr('dict', d)})",
        )()

    def e_bool(self, depth):
        if depth <= 0 or self.rng.random() < 0.15:
            return self.pick("yes", "no", "true", "false", "True", "nothing", "empty", "xs", "undefined_name", "add_generation_prompt")
        d = depth - 1
        compare = lambda: self.pick("==", "!=", "<", "<=", ">", ">=")
        return self.pick(
            lambda: f"{self.expr('int', d)} {compare()} {self.expr('int', d)}",
            lambda: f"({self.expr('str', d)} {compare()} {self.expr('str', d)})",
            lambda: f"({self.expr('any', d)} {self.pick('==', '!=')} {self.expr('any', d)})",
            lambda: f"{self.expr('int', d)} {compare()} {self.expr('float', d)} {compare()} {self.expr('int', d)}",
            lambda: f"not {self.expr('bool', d)}",
            lambda: f"({self.expr('bool', d)} and {self.expr('any', d)})",
            lambda: f"({self.expr('any', d)} or {self.expr('bool', d)})",
            lambda: f"{self.expr('bool', d)} and {self.expr('bool', d)} or {self.expr('bool', d)}",
            lambda: f"{self.expr('any', d)} {self.pick('in', 'not in')} {self.expr('list', d)}",
            lambda: f"({self.expr('str', d)} {self.pick('in', 'not in')} {self.expr('str', d)})",
            lambda: f"({self.s_short()} in {self.expr('dict', d)})",
            lambda: f"({self.expr('any', d)}) is {self.pick('', 'not ')}{self.pick('defined', 'undefined', 'none', 'boolean', 'true', 'false', 'integer', 'float', 'number', 'string', 'mapping', 'iterable', 'sequence', 'callable', 'lower', 'upper', 'escaped')}",
            lambda: f"({self.expr('int', d)}) is {self.pick('odd', 'even', 'divisibleby 3', 'divisibleby(2)', 'eq 1', 'ne 1', 'gt 2', 'lt(3)', 'in [1, 2]', 'sameas 1')}",
            lambda: f"({self.expr('str', d)}).{self.pick('startswith', 'endswith')}({self.pick(self.s_short(), ARG8)})",
            lambda: f"({self.expr('str', d)}).{self.pick('isdigit', 'isalpha', 'isalnum', 'isspace', 'isupper', 'islower', 'istitle', 'isnumeric', 'isdecimal')}()",
            lambda: f"({self.expr('str', d)}) is {self.pick('filter', 'test')}",
        )()

    # Statements.

    def tag(self, body):
        left = self.pick("", "", "", "-", "-", "+")
        right = self.pick("", "", "", "-", "-", "+")
        return "{%" + left + " " + body + " " + right + "%}"

    def output(self, depth):
        left = self.pick("", "", "-")
        right = self.pick("", "", "-")
        return "{{" + left + " " + self.expr("any", depth) + " " + right + "}}"

    def text(self):
        return self.pick("", " ", "\n", "a", " b\n", "\n  ", "  \n\n  c ", "\t", "x: ", "<|im|>\n", "\n\n", "{ } %", "\r\n")

    def body(self, depth, loops=0):
        parts = []
        for _ in range(self.rng.randrange(1, 4)):
            parts.append(self.text())
            parts.append(self.statement(depth, loops))
        parts.append(self.text())
        return "".join(parts)

    def statement(self, depth, loops):
        if depth <= 0:
            return self.output(2)
        d = depth - 1
        known = len(self.locals)
        result = self.pick(
            lambda: self.output(3),
            lambda: self.output(2),
            lambda: self.s_if(d, loops),
            lambda: self.s_for(d),
            lambda: self.s_set(),
            lambda: self.s_set_block(d),
            lambda: self.s_macro(d),
            lambda: self.s_namespace(d),
            lambda: self.tag("with w = " + self.expr("any", 1)) + self.body(d, loops) + "{{ w }}" + self.tag("endwith"),
            lambda: self.tag("filter " + self.pick("upper", "trim", "replace('a', 'b')|title", "indent(2)")) + self.body(d) + self.tag("endfilter"),
            lambda: self.tag("raw") + self.pick("{{ x }}", " {% y %} \n") + self.tag("endraw"),
            lambda: self.pick("{# note #}", "{#- note -#}", "{# note -#}", "{#+ note +#}", "  {# a\nb #}\n"),
            lambda: self.tag("generation") + self.body(d) + self.tag("endgeneration"),
            lambda: self.s_call(d),
        )()
        del self.locals[known + 3:]
        return result

    def s_if(self, d, loops):
        text = self.tag("if " + self.expr("bool", 2)) + self.body(d, loops)
        for _ in range(self.rng.randrange(2)):
            text += self.tag("elif " + self.expr("bool", 2)) + self.body(d, loops)
        if self.rng.random() < 0.5:
            text += self.tag("else") + self.body(d, loops)
        return text + self.tag("endif")

    def s_for(self, d):
        control = self.pick("", "", "", "{% if loop.index > 1 %}{% break %}{% endif %}", "{% if loop.first %}{% continue %}{% endif %}")
        show = self.pick("", "{{ loop.index }}/{{ loop.length }}", "{{ loop.revindex0 }}{{ loop.last }}", "{{ loop.cycle('a', 'b') }}",
                         "{{ loop.changed(v) }}", "{{ loop.previtem }}|{{ loop.nextitem }}", "{{ loop.depth }}{{ loop.index0 }}")
        if self.rng.random() < 0.3:
            head = f"for k, v in {self.expr('dict', 1)}.items()"
        else:
            head = f"for v in {self.expr('list', 2)}"
        if self.rng.random() < 0.25:
            head += " if v" + self.pick("", " is not none", " != 1")
        self.locals.append("v")
        text = self.tag(head) + show + control + self.body(d, 1) + self.pick("", self.tag("else") + self.body(0))
        self.locals.pop()
        return text + self.tag("endfor")

    def s_set(self):
        # Not a variable of the input: Jinja2 takes one for unset in macros above its assignment.
        name = self.pick("p", "r")
        text = self.tag(f"set {name} = {self.expr('any', 2)}") if self.rng.random() < 0.8 else self.tag("set p, r = " + self.pick("1, 2", "xs[:2]", "'ab'", "(s, i)", "xs"))
        self.locals.append(name)
        return text

    def s_set_block(self, d):
        text = self.tag("set blk" + self.pick("", " | upper", " | trim | length")) + self.body(d) + self.tag("endset")
        self.locals.append("blk")
        return text

    def s_namespace(self, d):
        return (self.tag("set ns = namespace(n=0, s='')") + self.tag("for z in " + self.expr("list", 1)) +
                self.tag("set ns.n = ns.n + 1") + self.tag("set ns.s = ns.s ~ z") + self.tag("endfor") + "{{ ns.n }}{{ ns.s }}{{ ns.nope }}")

    def s_macro(self, d):
        signature = self.pick("", "a", "a, b=2", "a=1, b='x'", "a, b=a")
        call = self.pick("m()", "m(1)", "m(1, 2)", "m(b=3)", "m(a=1)", "m(1, 2, 3)", "m(*xs)", "m(**{'a': 5})", "m(s, b=i)")
        extra = self.pick("", "", "{{ varargs }}", "{{ kwargs }}", "{{ caller is defined }}")
        self.locals += ["a", "b"]
        inner = self.body(d)
        del self.locals[-2:]
        return self.tag(f"macro m({signature})") + extra + inner + self.tag("endmacro") + "{{ " + call + " }}"

    def s_call(self, d):
        inner = self.body(d)
        return ("{% macro w(x=1) %}<{{ caller(x) }}>{% endmacro %}" + self.tag(self.pick("call(y)", "call(y=2)", "call") + " w(" + self.pick("", "3", "x=s") + ")") +
                inner + "{{ y }}" + self.tag("endcall"))


# Whole templates, damaged a little: the whitespace rules and the parser's errors.
FAMILIES = [path.read_text(encoding="utf-8") for path in sorted(pathlib.Path(__file__).parent.glob("chat_families/*.jinja"))]
SWAPS = [("{%-", "{%"), ("{%", "{%-"), ("{%", "{%+"), ("-%}", "%}"), ("%}", "-%}"), ("%}", "+%}"), ("{{-", "{{"), ("{{", "{{-"),
         ("}}", "-}}"), ("-}}", "}}"), ("\n", ""), ("\n", "\n\n"), ("  ", ""), (" ", "\n"), ("%}\n", "%}"), ("{#-", "{#"), (" is ", " is not "),
         ("==", "!="), (" and ", " or "), ("loop.last", "loop.first"), ("'", '"'), ("content", "role"), ("(", "[")]


def mutated(rng):
    template = rng.choice(FAMILIES)
    for _ in range(rng.randrange(1, 6)):
        old, new = rng.choice(SWAPS)
        places = [match.start() for match in re.finditer(re.escape(old), template)]
        if places:
            at = rng.choice(places)
            template = template[:at] + new + template[at + len(old):]
    if rng.random() < 0.2:
        at = rng.randrange(len(template))
        template = template[:at] + template[at + 1:]
    return template


def expected(environment, template):
    try:
        rendered = environment.from_string(template).render(
            messages=copy.deepcopy(MESSAGES), tools=copy.deepcopy(TOOLS), documents=None, add_generation_prompt=True,
            bos_token="<s>", eos_token="</s>", **copy.deepcopy(VARIABLES))  # `list|indent` changes the list
        rendered.encode()
        return rendered, None
    except Exception as error:  # noqa: BLE001: whatever Jinja2 raises is an error of the template
        return None, f"{type(error).__name__}: {error}"


# What docs/chat-templates.md names as different. Each is a pattern of (template, Jinja2's answer, ours).
def known_difference(template, theirs, their_error, ours):
    message = ours.get("message", "")
    if "64 bits" in message or "float of this size" in message:
        return "integers past 64 bits"
    if theirs and re.search(r" at 0x[0-9a-f]+>|<generator|<function|iterator object|<Macro|<built-in method|<bound method", theirs):
        return "addresses of objects"
    if their_error and "TemplateAssertionError: No" in their_error:
        return "unknown filter or test in a branch that is not run"
    if "complex numbers" in message:
        return "complex numbers"
    if "not subscriptable" in message and their_error is None:
        return "constant folding of a slice"
    if "budget" in message or "memory" in message:
        return "budget"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="build/release/tests/jinja_render")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--show", type=int, default=20)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    environment = make_environment()
    requests, answers = [], []
    for number in range(options.count):
        generator = Generator(rng)
        if number % 3 == 2:
            template = mutated(rng)
        elif number % 3 == 1:
            template = "{{ " + generator.expr("any", rng.randrange(1, 4)) + " }}"
        else:
            template = generator.body(rng.randrange(1, 4))
        answers.append(expected(environment, template))
        requests.append({"template": template, "messages": MESSAGES, "tools": TOOLS, "kwargs": VARIABLES})
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    run = subprocess.run([options.binary], input=lines, capture_output=True, text=True, encoding="utf-8", check=False)
    ours = [json.loads(line) for line in run.stdout.split("\n") if line]
    if run.returncode != 0 or len(ours) != len(requests):
        print(f"seed {options.seed}: {options.binary} exited {run.returncode} after {len(ours)} of {len(requests)}")
        print(requests[len(ours)]["template"] if len(ours) < len(requests) else "", run.stderr)
        return 1
    different, known, printed = 0, {}, 0
    for request, (theirs, their_error), our in zip(requests, answers, ours):
        printed += their_error is None
        if theirs == our.get("text") if their_error is None else "text" not in our:
            continue
        reason = known_difference(request["template"], theirs, their_error, our)
        if reason:
            known[reason] = known.get(reason, 0) + 1
            continue
        different += 1
        if different <= options.show:
            print("---", repr(request["template"]))
            print("  jinja2:", repr(theirs) if their_error is None else their_error)
            print("  ours:  ", repr(our["text"]) if "text" in our else our)
    print(f"seed {options.seed}: {options.count} templates, {printed} printed by Jinja2, {different} different, known: {known}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
