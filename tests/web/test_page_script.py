# SPDX-License-Identifier: Apache-2.0
"""The page against answers that the test writes: markup, reasoning, errors, waiting, broken streams, storage."""

import json

from page_fixtures import (SCRIPTED_FETCH, branch, browser, open_page, reload, say, scripted, wait_done,  # noqa: F401
                           wait_until)


def wait_stream(page, count=1):
    wait_until(page, f"answer.streams.length === {count}")


def push(page, text):
    page.evaluate("(text) => answer.push(text)", text)


def reply_with(page, status, message, **headers):
    page.evaluate("(reply) => answer.replies.push(reply)", {
        "status": status, "body": json.dumps({"error": {"message": message}}), "headers": headers})


def start(page, text="Hello"):
    say(page, text)
    wait_stream(page)


def test_hostile_answers_stay_text(scripted):
    start(scripted)
    attack = ("<script>alert(1)</script>\n\n<img src=x onerror=alert(2)>\n\n[click](javascript:alert(3)) ![i](https://evil.example/x.png)\n\n"
              "```html\n<iframe src=\"https://evil.example\"></iframe>\n```\n\n| <svg onload=alert(4)> |\n|---|\n| <b>x</b> |\n")
    for i in range(0, len(attack), 7):
        push(scripted, attack[i:i + 7])
    scripted.evaluate("answer.finish()")
    wait_done(scripted)
    body = scripted.locator(".message.assistant .body")
    assert body.locator("script, img, iframe, svg:not(.icon), b").count() == 0
    assert body.locator("a").evaluate_all("(links) => links.map((link) => link.protocol)") == ["https:"]
    assert "<script>alert(1)</script>" in body.inner_text()


def test_reasoning_folds_away_and_tool_calls_are_shown(scripted):
    start(scripted)
    scripted.evaluate("""() => {
      const delta = (delta, more) => answer.chunk({choices: [{index: 0, delta, ...more}]});
      delta({reasoning_content: 'I think '}); delta({reasoning: 'twice'});
      delta({content: 'It is '}); delta({content: 'so.'});
      delta({tool_calls: [{index: 0, id: 'c1', function: {name: 'weather', arguments: ''}}]});
      delta({tool_calls: [{index: 0, function: {arguments: '{"city":'}}]});
      delta({tool_calls: [{index: 0, function: {arguments: '"Paris"}'}}]});
      answer.chunk({choices: [], usage: {prompt_tokens: 5, completion_tokens: 9, total_tokens: 14},
        timings: {prompt_n: 3, prompt_ms: 10, predicted_n: 9, predicted_ms: 100, predicted_per_second: 90, cache_n: 2}});
      answer.finish('tool_calls');
    }""")
    wait_done(scripted)
    message = scripted.locator(".message.assistant")
    assert message.locator(".body").inner_text() == "It is so."
    assert not message.locator(".thinking .markdown").is_visible()
    message.locator(".thinking summary").click()
    assert message.locator(".thinking .markdown").inner_text() == "I think twice"
    assert message.locator(".call-head").inner_text() == "Calls weather"
    assert json.loads(message.locator(".call pre").inner_text()) == {"city": "Paris"}
    assert message.locator(".stats").inner_text().startswith("9 tokens · 90.0 tok/s")


def test_a_wrong_key_is_asked_for_and_then_sent(scripted):
    reply_with(scripted, 401, "Incorrect API key")
    say(scripted, "Hello")
    scripted.get_by_role("button", name="Enter the key").click()
    scripted.keyboard.type("secret-1")
    scripted.get_by_role("button", name="Regenerate").click()
    wait_stream(scripted)
    assert scripted.evaluate("answer.requests.map((r) => r.headers.Authorization)") == [None, "Bearer secret-1"]
    stored = "[localStorage.getItem('ingot.key'), sessionStorage.getItem('ingot.key')]"
    assert scripted.evaluate(stored) == [None, "secret-1"]
    scripted.check("#keep-key")
    assert scripted.evaluate(stored) == ["secret-1", None]
    assert "secret-1" not in scripted.evaluate("ingot.store.exportText(ingot.store.list())")
    scripted.evaluate("answer.finish()")


def test_a_busy_server_is_asked_again_after_its_time(scripted):
    reply_with(scripted, 429, "The queue is full", **{"Retry-After": "1"})
    say(scripted, "Hello")
    notice = scripted.locator(".message.assistant .notice")
    notice.wait_for()
    assert "The server is busy." in notice.inner_text() and "next try in" in notice.inner_text()
    wait_stream(scripted)
    push(scripted, "Here.")
    scripted.evaluate("answer.finish()")
    wait_done(scripted)
    assert not notice.is_visible()
    assert branch(scripted)[1]["content"] == "Here."


def test_waiting_can_be_cut_short_and_given_up(scripted):
    reply_with(scripted, 429, "Full", **{"Retry-After": "600"})
    reply_with(scripted, 503, "Draining", **{"Retry-After": "600"})
    say(scripted, "Hello")
    scripted.get_by_role("button", name="Try now").click()
    scripted.wait_for_selector("text=The server is not ready.")
    scripted.keyboard.press("Escape")
    wait_done(scripted)
    assert branch(scripted)[1]["status"] == "stopped"


def test_errors_are_told_kindly(scripted):
    for status, title in [(400, "The server cannot answer this."), (503, "The server is not ready."), (500, "The server failed (500).")]:
        reply_with(scripted, status, f"Reason {status}")
        say(scripted, f"Question {status}")
        wait_done(scripted)
        text = scripted.locator(".message.assistant .notice").last.inner_text()
        assert title in text and f"Reason {status}" in text
    scripted.evaluate("answer.replies.push('lost')")
    say(scripted, "Anyone?")
    wait_done(scripted)
    assert "The server cannot be reached." in scripted.locator(".message.assistant .notice").last.inner_text()
    scripted.get_by_role("button", name="Try again").last.click()
    wait_stream(scripted)
    assert scripted.evaluate("answer.requests.at(-1).body.messages.map((m) => m.role)") == ["user"] * 4
    scripted.evaluate("answer.finish()")


def test_a_broken_stream_keeps_its_text(scripted):
    for count, breaking in enumerate(["answer.cut()", "answer.chunk({error: {message: 'out of pages'}})", "answer.raw('data: {nonsense\\n\\n')",
                                      "answer.streams.at(-1).error(new TypeError('reset'))"], 1):
        say(scripted, f"Try {count}")
        wait_stream(scripted, count)
        push(scripted, "Half an ans")
        scripted.evaluate(breaking)
        wait_done(scripted)
        answer = branch(scripted)[-1]
        assert (answer["content"], answer["status"]) == ("Half an ans", "interrupted"), breaking
        assert scripted.locator(".message.assistant .notice").last.is_visible()
    assert "out of pages" in scripted.locator(".message.assistant .notice").nth(1).inner_text()


def test_an_answer_survives_leaving_the_page(scripted):
    start(scripted)
    push(scripted, "The beginning")
    wait_until(scripted, "document.querySelector('.message.assistant .body').textContent === 'The beginning'")
    reload(scripted)
    answer = branch(scripted)[1]
    assert (answer["content"], answer["status"]) == ("The beginning", "interrupted")


def test_answers_go_on_while_another_conversation_is_read(scripted):
    start(scripted, "First")
    scripted.keyboard.press("Control+k")
    say(scripted, "Second")
    wait_stream(scripted, 2)
    assert scripted.locator("#conversations .busy").count() == 2
    scripted.evaluate("""() => { const [first, second] = answer.streams;
      answer.streams = [first]; answer.push('one'); answer.finish(); answer.streams = [first, second]; answer.push('two'); answer.finish(); }""")
    wait_done(scripted)
    assert branch(scripted)[1]["content"] == "two"
    scripted.get_by_role("button", name="First", exact=True).click()
    assert scripted.locator(".message.assistant .body").inner_text() == "one"
    assert scripted.locator("#conversations .busy").count() == 0


def test_the_end_is_followed_until_the_reader_scrolls_up(scripted):
    start(scripted)
    push(scripted, "line\n\n" * 100)
    distance = "(() => { const s = document.getElementById('scroller'); return s.scrollHeight - s.scrollTop - s.clientHeight; })()"
    wait_until(scripted, "document.querySelectorAll('.message.assistant p').length === 100")
    wait_until(scripted, f"{distance} < 4")
    scripted.hover("#messages")
    scripted.mouse.wheel(0, -400)
    wait_until(scripted, f"{distance} > 200")
    top = scripted.evaluate("document.getElementById('scroller').scrollTop")
    push(scripted, "line\n\n" * 100)
    wait_until(scripted, "document.querySelectorAll('.message.assistant p').length === 200")
    assert scripted.evaluate("document.getElementById('scroller').scrollTop") == top
    scripted.click("#jump")
    wait_until(scripted, f"{distance} < 4")
    push(scripted, "line\n\n" * 50)
    wait_until(scripted, "document.querySelectorAll('.message.assistant p').length === 250")
    wait_until(scripted, f"{distance} < 4")
    scripted.evaluate("answer.finish()")


def test_nothing_jumps_when_an_answer_ends(scripted):
    start(scripted)
    push(scripted, "A line of text.")
    scripted.wait_for_selector(".message.assistant .body p")
    box = "JSON.stringify(['.message.assistant', '.message.assistant .body', '#composer'].map((s) => document.querySelector(s).getBoundingClientRect()))"
    scripted.mouse.move(5, 5)
    before = scripted.evaluate(box)
    scripted.evaluate("answer.finish()")
    wait_done(scripted)
    assert scripted.evaluate(box) == before


def test_keys(scripted):
    scripted.locator("#tab-chat").focus()
    scripted.keyboard.press("/")
    assert scripted.evaluate("document.activeElement.id") == "input"
    scripted.keyboard.type("one")
    scripted.keyboard.press("Shift+Enter")
    scripted.keyboard.type("two/")
    scripted.keyboard.press("Enter")
    wait_stream(scripted)
    assert branch(scripted)[0]["content"] == "one\ntwo/"
    scripted.keyboard.press("Escape")
    wait_done(scripted)
    scripted.keyboard.press("ArrowUp")
    assert scripted.locator(".editor textarea").input_value() == "one\ntwo/"
    scripted.keyboard.press("Escape")
    assert scripted.locator(".editor").count() == 0
    scripted.keyboard.press("Control+k")
    assert branch(scripted) == []


def test_deleting_can_be_undone(scripted):
    start(scripted)
    push(scripted, "Answer")
    scripted.evaluate("answer.finish()")
    wait_done(scripted)
    scripted.locator(".message.assistant").get_by_role("button", name="Delete").click()
    assert len(branch(scripted)) == 1
    scripted.get_by_role("button", name="Undo").click()
    assert branch(scripted)[1]["content"] == "Answer"
    scripted.hover("#conversations li")
    scripted.get_by_role("button", name="Delete Hello").click()
    assert branch(scripted) == [] and scripted.locator("#conversations li").count() == 0
    scripted.get_by_role("button", name="Undo").last.click()
    assert branch(scripted)[1]["content"] == "Answer" and scripted.locator("#conversations li").count() == 1


def test_rename_search_export_and_import(scripted, tmp_path):
    for count, text in enumerate(["About cats", "About dogs"], 1):
        say(scripted, text)
        wait_stream(scripted, count)
        push(scripted, f"Answer {count}")
        scripted.evaluate("answer.finish()")
        wait_done(scripted)
        scripted.keyboard.press("Control+k")
    scripted.locator("#conversations li").last.hover()
    scripted.get_by_role("button", name="Rename About cats").click()
    scripted.keyboard.type("Felines")
    scripted.keyboard.press("Enter")
    scripted.fill("#search", "answer 1")
    assert scripted.locator("#conversations li").all_inner_texts() == ["Felines"]
    scripted.fill("#search", "")
    with scripted.expect_download() as download:
        scripted.click("#export-all")
    file = tmp_path / "all.json"
    download.value.save_as(file)
    before = scripted.evaluate("ingot.store.list().map((c) => [c.title, c.messages.length])")
    scripted.evaluate("ingot.store.list().forEach((c) => ingot.store.remove(c.id))")
    scripted.set_input_files("input[type=file]", file)
    scripted.wait_for_selector("text=Imported 2 conversations.")
    assert scripted.evaluate("ingot.store.list().map((c) => [c.title, c.messages.length])") == before
    broken = tmp_path / "broken.json"
    broken.write_text('{"conversations": [{"messages": [{"id": 1}]}]}')
    scripted.set_input_files("input[type=file]", broken)
    scripted.wait_for_selector("text=This file holds no conversations of this page.")


def test_a_full_storage_is_told_once_and_chatting_goes_on(open_page):
    page = open_page(script=SCRIPTED_FETCH + """
      Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };""")
    start(page)
    page.wait_for_selector("text=The browser's storage is full")
    push(page, "Still here")
    page.evaluate("answer.finish()")
    wait_done(page)
    assert branch(page)[1]["content"] == "Still here"
    assert page.locator("#conversations li").count() == 1


def test_a_browser_without_storage_still_chats(open_page):
    page = open_page(script=SCRIPTED_FETCH + """
      for (const name of ['localStorage', 'sessionStorage']) {
        Object.defineProperty(window, name, {get() { throw new DOMException('denied', 'SecurityError'); }});
      }""")
    page.wait_for_selector("text=conversations last until it is closed")
    start(page)
    push(page, "Still here")
    page.evaluate("answer.finish()")
    wait_done(page)
    page.keyboard.press("Control+k")
    page.get_by_role("button", name="Hello", exact=True).click()
    assert branch(page)[1]["content"] == "Still here"


def test_long_answers_are_drawn_whole(scripted):
    start(scripted)
    scripted.evaluate("""async () => {
      for (let i = 0; i < 400; ++i) {
        answer.push(`## Part ${i}\\n\\nSome **bold** text and a list:\\n\\n- a\\n- b\\n\\n\\`\\`\\`js\\nlet x = ${i};\\n\\`\\`\\`\\n\\n`);
        if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      answer.finish();
    }""")
    wait_done(scripted)
    assert scripted.locator(".message.assistant .body h2").count() == 400
    assert scripted.locator(".message.assistant .body .code").count() == 400
