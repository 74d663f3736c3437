# SPDX-License-Identifier: Apache-2.0
"""The page's pure parts, called inside the browser: markdown, event streams, metrics, settings, import."""

import json

import pytest
from page_fixtures import browser, open_page, page  # noqa: F401


def html(page, text: str) -> str:
    return page.evaluate("(text) => ingot.renderMarkdown(text).innerHTML", text)


MARKDOWN = [
    ("a **b** *c* ***d*** ~~e~~ `f*g*`",
     "<p>a <strong>b</strong> <em>c</em> <em><strong>d</strong></em> <del>e</del> <code>f*g*</code></p>"),
    ("snake_case_word 2*3*4 * x **", "<p>snake_case_word 2<em>3</em>4 * x **</p>"),
    ("**a *b* c**", "<p><strong>a <em>b</em> c</strong></p>"),
    ("**Note:**text **\"q\"**", "<p>**Note:**text <strong>\"q\"</strong></p>"),
    ("a\nb  \nc\\*d &lt;&#65;&bogus;", "<p>a<br>b<br>c*d &lt;A&amp;bogus;</p>"),
    ("``a`b`` `open", "<p><code>a`b</code> `open</p>"),
    ("# T #\n## U\n####### no\n\nSet\n===", "<h1>T</h1><h2>U</h2><p>####### no</p><h1>Set</h1>"),
    ("a\n\n---\n***\nb", "<p>a</p><hr><hr><p>b</p>"),
    ("- a\n- b\n  - c\n    d\n- e", '<ul class="tight"><li><p>a</p></li><li><p>b</p><ul class="tight"><li><p>c<br>d</p></li></ul></li>'
     "<li><p>e</p></li></ul>"),
    ("3. a\n4. b\n\n   more\n5. c", '<ol start="3"><li><p>a</p></li><li><p>b</p><p>more</p></li><li><p>c</p></li></ol>'),
    ("1. a\n  - b\n2. c", '<ol class="tight"><li><p>a</p><ul class="tight"><li><p>b</p></li></ul></li><li><p>c</p></li></ol>'),
    ("text\n2024. was no list\n- but this is", '<p>text<br>2024. was no list</p><ul class="tight"><li><p>but this is</p></li></ul>'),
    ("> a\n> > b\nlazy\n\nc", "<blockquote><p>a</p><blockquote><p>b<br>lazy</p></blockquote></blockquote><p>c</p>"),
    ("<b>x</b> <br> <!-- c -->", "<p>&lt;b&gt;x&lt;/b&gt; <br> &lt;!-- c --&gt;</p>"),
    ("", ""),
]


@pytest.mark.parametrize("text, expected", MARKDOWN)
def test_markdown_becomes_elements(page, text, expected):
    assert html(page, text) == expected


def test_links_lead_to_http_only(page):
    link = '<a href="{0}" target="_blank" rel="noopener noreferrer nofollow">{1}</a>'
    assert html(page, "[a](https://x.org/b_(c) \"t\")") == f"<p>{link.format('https://x.org/b_(c)', 'a')}</p>"
    assert html(page, "see https://x.org/a?b=c. (http://y.org)") == (
        f"<p>see {link.format('https://x.org/a?b=c', 'https://x.org/a?b=c')}. ({link.format('http://y.org/', 'http://y.org')})</p>")
    assert html(page, "<https://x.org/>") == f"<p>{link.format('https://x.org/', 'https://x.org/')}</p>"
    assert html(page, "![alt](https://x.org/p.png)") == f"<p>{link.format('https://x.org/p.png', 'alt')}</p>"
    for target in ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "//x.org", "/local", "file:///etc",
                   "&#106;avascript:alert(1)", "java\\script:x", "https:javascript", "blob:https://x.org/1"]:
        assert html(page, f"[a]({target})") == "<p>a</p>", target
    assert html(page, "xhttps://x.org") == "<p>xhttps://x.org</p>"


def test_code_keeps_every_character(page):
    text = "```js\nif (a < b) { **c** }\n\n\tx\n```"
    assert page.evaluate("(text) => ingot.renderMarkdown(text).querySelector('code').textContent", text) == "if (a < b) { **c** }\n\n    x"
    assert page.evaluate("ingot.renderMarkdown('````\\n```\\n````').querySelector('code').textContent") == "```"
    assert page.evaluate("ingot.renderMarkdown('```\\nopen').querySelector('code').textContent") == "open"
    assert page.evaluate("ingot.renderMarkdown('- a\\n  ```py\\n  x\\n\\n    y\\n  ```').querySelector('li code').textContent") == "x\n\n  y"


def test_tables(page):
    text = "| a | b |\n|:-:|--:|\n| 1 \\| 2 | **x** |\n| 3 |\n\nend"
    cells = page.evaluate("""(text) => [...ingot.renderMarkdown(text).querySelectorAll('th, td')]
      .map((cell) => [cell.tagName, cell.innerHTML, cell.style.textAlign])""", text)
    assert cells == [["TH", "a", "center"], ["TH", "b", "right"], ["TD", "1 | 2", "center"], ["TD", "<strong>x</strong>", "right"],
                     ["TD", "3", "center"], ["TD", "", "right"]]
    assert "<table>" not in html(page, "a | b\n--- | --- | ---")


STREAMED = """# Title
text with **bold** and `code`
#1 is no heading
- a
  - b

    c
- d
1. one
2. two
   ```py
   x = 1

   y
   ```
> quote
lazy
> - in a list

| a | b |
|---|---|
| 1 | **2** |
| 3 | 4 |
para
| c | d |
|---|---|
| 5 | 6 |

| not | a table
--- | --- | text

Set
---
```
code # no heading
- no list
```
- [x] done
- [ ] open
[link](https://x.org) end *open
"""


def test_text_in_pieces_gives_the_same_elements_as_at_once(page):
    different = page.evaluate("""(text) => {
      const whole = ingot.renderMarkdown(text).innerHTML;
      const bad = [];
      let seed = 1;
      const random = (n) => (seed = seed * 48271 % 2147483647) % n;
      for (let round = 0; round < 60; ++round) {
        const root = document.createElement('div');
        const view = new ingot.MarkdownView(root);
        for (let at = 0; at < text.length;) {
          at += round === 0 ? 1 : 1 + random(round);
          view.update(text.slice(0, at), false);
        }
        view.update(text, true);
        if (root.innerHTML !== whole) bad.push(root.innerHTML);
      }
      return [...new Set(bad)].concat(whole.includes('<table>') ? [] : ['no table']);
    }""", STREAMED)
    assert different == []


@pytest.mark.parametrize("text, first", [("- a\n", "li"), ("> a\n>\n", "p"), ("| a |\n|---|\n| b |\n| c |\n", "td"), ("1. a\n   - b\n", "li li")])
def test_a_growing_block_keeps_what_it_has(page, text, first):
    kept = page.evaluate("""([text, first]) => {
      const root = document.createElement('div');
      const view = new ingot.MarkdownView(root);
      view.update(text, false);
      const before = [root.querySelector(first), root.querySelector(first).firstChild];
      for (let i = 0; i < 5; ++i) view.update(text += text.split('\\n')[0] + '\\n', false);
      return [root.children.length, root.querySelector(first) === before[0], root.querySelector(first).firstChild === before[1]];
    }""", [text, first])
    assert kept == [1, True, True]


def test_finished_blocks_are_never_touched_again(page):
    touched = page.evaluate("""() => {
      const root = document.createElement('div');
      const view = new ingot.MarkdownView(root);
      view.update('# one\\n\\ntwo **words**\\n\\n- a\\n- b\\n\\nnext\\n', false);
      const before = [...root.children].slice(0, 3);
      const item = root.querySelector('li');
      let text = '# one\\n\\ntwo **words**\\n\\n- a\\n- b\\n\\nnext\\n';
      for (let i = 0; i < 200; ++i) view.update(text += `line ${i}\\n\\n`, false);
      const code = text + '```\\n';
      view.update(code, false);
      const node = root.lastChild.querySelector('code').firstChild;
      view.update(code + 'abc\\ndef', false);
      return [before.every((node, i) => root.children[i] === node), root.querySelector('li') === item,
              root.lastChild.querySelector('code').firstChild === node, node.data, root.children.length];
    }""")
    assert touched == [True, True, True, "abc\ndef", 204]


@pytest.mark.parametrize("attack", [
    "'*a '.repeat(20000)", "'[a'.repeat(20000)", "'![a](http://b'.repeat(8000)", "'`'.repeat(20000) + 'a'", "'a`'.repeat(20001)",
    "'> '.repeat(20000) + 'a'", "'- '.repeat(20000) + 'a'", "'**a '.repeat(10000) + ' a**'.repeat(10000)", "'<'.repeat(50000)",
    "'|'.repeat(20000) + '\\n' + '-|'.repeat(20000)", "'\\n'.repeat(50000) + '- a\\n\\n'.repeat(10000)",
    "'![x]('.repeat(20000)", "'&#'.repeat(30000)", "' '.repeat(100000) + 'a'", "'h'.repeat(100000)", "'_a_b'.repeat(20000)",
    "Array.from({length: 300}, (_, i) => '  '.repeat(i) + '- a').join('\\n')", "'- a\\n  ```\\n\\n'.repeat(8000)",
    "'![a]('.repeat(3000) + 'http://b' + ')'.repeat(3000)"])
def test_hostile_markdown_ends(page, attack):
    """Deep or unbalanced text neither overflows a stack nor takes time that grows with its square."""
    assert page.evaluate(f"ingot.renderMarkdown({attack}).textContent.length >= 0")


def test_events_are_read_however_they_are_cut(page):
    text = "\ufeff: hi\r\n\r\ndata: {\"a\":\r\ndata:  1}\r\n\r\nevent: error\ndata: ü\n\ndata\n\nid: 3\rdata: x\r\rdata: unfinished"
    events = page.evaluate("""(text) => {
      const results = new Set();
      for (let size = 1; size <= text.length; ++size) {
        const parser = new ingot.SseParser();
        const events = [];
        for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
        results.add(JSON.stringify(events));
      }
      return [...results];
    }""", text)
    assert [json.loads(result) for result in events] == [[
        {"event": "message", "data": "{\"a\":\n 1}"}, {"event": "error", "data": "ü"}, {"event": "message", "data": ""},
        {"event": "message", "data": "x"}]]


def test_metrics_are_parsed(page):
    text = ('# HELP x y\nx_total{a="b\\"c\\\\,}",d="\\n"} 1.5e3 1700000000\nx_total 2\nbad line\n{x} 1\ny NaN\nz{le="+Inf"} +Inf\n'
            'broken{a="b} 1\nbroken{a=b} 1\nempty{} 4')
    parsed = page.evaluate("""(text) => [...ingot.parseMetrics(text)].map(([name, samples]) =>
      [name, samples.map((s) => [s.labels, String(s.value)])])""", text)
    assert parsed == [["x_total", [[{"a": 'b"c\\,}', "d": "\n"}, "1500"], [{}, "2"]]], ["y", [[{}, "NaN"]]],
                      ["z", [[{"le": "+Inf"}, "Infinity"]]], ["empty", [[{}, "4"]]]]


def test_quantiles_are_those_of_prometheus(page):
    script = """([counts, q]) => ingot.quantileOf([0.1, 0.5, 1, Infinity].map((bound, i) => ({bound, count: counts[i]})), q)"""
    assert page.evaluate(script, [[10, 10, 10, 10], 0.5]) == pytest.approx(0.05)
    assert page.evaluate(script, [[0, 10, 20, 20], 0.5]) == pytest.approx(0.5)
    assert page.evaluate(script, [[0, 10, 20, 20], 0.75]) == pytest.approx(0.75)
    assert page.evaluate(script, [[0, 0, 0, 5], 0.5]) == 1
    assert page.evaluate(script, [[0, 0, 0, 0], 0.5]) is None


def test_telemetry_compares_readings_and_survives_a_restart(page):
    values = page.evaluate("""() => {
      const text = (tokens, fast, slow) => `vllm:generation_tokens_total{engine="0"} ${tokens}\\n` +
        `vllm:generation_tokens_total{engine="1"} ${tokens}\\nvllm:prompt_tokens_total 0\\nvllm:kv_cache_usage_perc 0.25\\n` +
        `vllm:prefix_cache_queries_total ${tokens}\\nvllm:prefix_cache_hits_total ${tokens / 4}\\n` +
        `vllm:time_to_first_token_seconds_bucket{le="0.1"} ${fast}\\nvllm:time_to_first_token_seconds_bucket{le="1"} ${fast + slow}\\n` +
        `vllm:time_to_first_token_seconds_bucket{le="+Inf"} ${fast + slow}\\n`;
      const telemetry = new ingot.Telemetry();
      telemetry.add(text(100, 50, 0), 1000, 1);
      const first = telemetry.last();
      telemetry.add(text(150, 50, 10), 1005, 1);
      const second = telemetry.last();
      telemetry.add(text(10, 0, 0), 1006, 1);  // began anew
      return [first, second, telemetry.last()];
    }""")
    assert values[0]["generationRate"] is None and values[0]["ttft50"] is None and values[0]["cacheUse"] == 25
    assert values[1]["generationRate"] == pytest.approx(20) and values[1]["hitRate"] == pytest.approx(25)
    assert values[1]["ttft50"] == pytest.approx(0.55)  # only the ten that came in between
    assert values[2]["generationRate"] is None and values[2]["ttft50"] is None


def test_retry_after_is_read_as_number_and_as_date(page):
    assert page.evaluate("ingot.retrySeconds('7')") == 7
    assert page.evaluate("ingot.retrySeconds('Thu, 01 Jan 2026 00:00:09 GMT', Date.UTC(2026, 0, 1))") == 9
    assert page.evaluate("[ingot.retrySeconds(null), ingot.retrySeconds('soon')]") == [None, None]


def test_settings_that_cannot_be_read_are_not_sent(page):
    fields = page.evaluate("""ingot.requestFields({temperature: '0.5', top_p: '2', top_k: '1.5', seed: 'x', max_tokens: '0',
      stop: '\\\\n\\nEND', extra: '{"a": [1]'})""")
    assert fields == {"temperature": 0.5, "stop": ["\n", "END"]}
    assert page.evaluate("ingot.requestFields({temperature: '1', extra: '{\"temperature\": 0, \"x\": 1}'})") == {"temperature": 0, "x": 1}


def test_an_imported_conversation_is_checked(page):
    read = "(value) => ingot.readConversation(value)"
    message = {"id": "a", "parent": None, "role": "user", "content": "hi", "status": "done", "created": 1}
    assert page.evaluate(read, {"id": "c", "messages": [message], "head": "nowhere"})["head"] == "a"
    for bad in [None, 3, {}, {"messages": [{}]}, {"messages": [{**message, "role": "system"}]}, {"messages": [message, message]},
                {"messages": [{**message, "parent": "a"}]}, {"messages": [{**message, "parent": "b"}, {**message, "id": "b", "parent": "a"}]}]:
        assert page.evaluate(read, bad) is None, bad
    odd = page.evaluate(read, {"messages": [{**message, "content": {}, "status": "streaming", "error": 5, "stats": {"tokens": "x"}}]})
    assert odd["messages"][0]["content"] == "" and odd["messages"][0]["status"] == "interrupted"
