# SPDX-License-Identifier: Apache-2.0
"""The page with the server behind it: it chats, stops, branches, remembers and shows live numbers."""

import json
import re
import threading
import urllib.request

import pytest
from page_fixtures import (ask_api, branch, browser, open_page, page, reload, say, set_sampling,  # noqa: F401
                           wait_done, wait_until)

QUESTION = "Tell me a story about a little cat."


def words(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip()


def body_text(page) -> str:
    return page.locator(".message.assistant .body").last.inner_text()


def chat_requests(page) -> list:
    found = []
    page.on("request", lambda request: found.append(json.loads(request.post_data))
            if request.url.endswith("/v1/chat/completions") else None)
    return found


def test_the_page_comes_with_a_strict_policy(server):
    with urllib.request.urlopen(server.url + "/", timeout=10) as reply:
        assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
        policy = reply.headers["Content-Security-Policy"]
        assert reply.read().startswith(b"<!doctype html>")
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_an_answer_is_the_one_that_the_api_gives(page, server):
    set_sampling(page, temperature=0, max_tokens=48)
    say(page, QUESTION)
    wait_done(page)
    model = page.evaluate("ingot.chat.modelId()")
    answer = ask_api(server, model=model, messages=[{"role": "user", "content": QUESTION}], temperature=0, max_tokens=48)
    expected = answer["choices"][0]["message"]["content"]
    shown = branch(page)
    assert [message["role"] for message in shown] == ["user", "assistant"]
    assert shown[1]["content"] == expected
    assert words(body_text(page)) == words(expected)
    assert shown[1]["stats"]["tokens"] == answer["usage"]["completion_tokens"]
    assert shown[1]["stats"]["promptTokens"] == answer["usage"]["prompt_tokens"]
    line = page.locator(".message.assistant .stats").inner_text()
    assert re.search(r"\d+ tokens · [\d.,]+ tok/s · first after [\d.]+ m?s", line)


def test_text_appears_before_the_answer_is_complete(page):
    set_sampling(page, max_tokens=600, extra='{"ignore_eos": true}')
    page.evaluate("""() => {
      window.lengths = [];
      new MutationObserver(() => lengths.push(document.querySelector('.message.assistant .body').textContent.length))
        .observe(document.getElementById('messages'), {childList: true, subtree: true, characterData: true});
    }""")
    say(page, QUESTION)
    wait_done(page)
    lengths = page.evaluate("lengths.filter((n, i) => n !== lengths[i - 1])")
    assert len(lengths) >= 3 and lengths == sorted(lengths)


def test_escape_stops_the_answer_and_keeps_its_beginning(page):
    set_sampling(page, max_tokens=2000, extra='{"ignore_eos": true}')
    page.evaluate("""() => new MutationObserver((_, observer) => {
      const body = document.querySelector('.message.assistant .body');
      if (!body || body.textContent.length < 20) return;
      observer.disconnect();
      document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}));
    }).observe(document.getElementById('messages'), {childList: true, subtree: true, characterData: true})""")
    say(page, QUESTION)
    wait_done(page)
    answer = branch(page)[1]
    assert answer["status"] == "stopped"
    assert len(answer["content"]) >= 20 and answer["stats"]["tokens"] < 2000
    assert "stopped" in page.locator(".message.assistant .stats").inner_text()
    say(page, "Go on.")  # the page and the server are ready for more
    wait_until(page, "document.querySelectorAll('.message.assistant').length === 2")
    page.press("#input", "Escape")
    wait_done(page)


def test_regenerate_adds_a_version_and_keeps_the_first(page):
    set_sampling(page, max_tokens=16, seed=1)
    say(page, QUESTION)
    wait_done(page)
    first = branch(page)[1]
    set_sampling(page, seed=2)
    page.get_by_role("button", name="Regenerate").click()
    page.wait_for_selector(".message.assistant .branches:has-text('2/2')")
    wait_done(page)
    assert branch(page)[1]["id"] != first["id"]
    page.get_by_role("button", name="Earlier version").last.click()
    assert branch(page)[1] == first


def test_editing_a_message_asks_anew_and_keeps_the_old_branch(page):
    set_sampling(page, max_tokens=16)
    say(page, QUESTION)
    wait_done(page)
    requests = chat_requests(page)
    page.press("#input", "ArrowUp")  # edits the last message
    page.locator(".editor textarea").fill("Tell me about a dog.")
    page.locator(".editor textarea").press("Enter")
    page.wait_for_selector(".message.user .branches:has-text('2/2')")
    wait_done(page)
    assert requests[0]["messages"] == [{"role": "user", "content": "Tell me about a dog."}]
    assert branch(page)[0]["content"] == "Tell me about a dog."
    page.get_by_role("button", name="Earlier version").first.click()
    assert branch(page)[0]["content"] == QUESTION and len(branch(page)) == 2


def test_settings_and_system_prompt_reach_the_request(page):
    requests = chat_requests(page)
    set_sampling(page, temperature=0.5, top_p=0.9, top_k=40, min_p=0.05, max_tokens=8, seed=7, repetition_penalty=1.1,
                 presence_penalty=0.25, frequency_penalty=-0.5, stop="END\n\\n\\n")
    page.fill("#system-prompt", "You tell stories.")
    say(page, QUESTION)
    wait_done(page)
    sent = requests[0]
    assert sent.pop("model")
    assert sent.pop("messages") == [{"role": "system", "content": "You tell stories."}, {"role": "user", "content": QUESTION}]
    assert sent == {"temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "max_tokens": 8, "seed": 7,
                    "repetition_penalty": 1.1, "presence_penalty": 0.25, "frequency_penalty": -0.5,
                    "stop": ["END", "\n\n"], "stream": True, "stream_options": {"include_usage": True}}


def test_conversations_survive_a_reload(page):
    set_sampling(page, max_tokens=12)
    say(page, QUESTION)
    wait_done(page)
    before = branch(page)
    page.keyboard.press("Control+k")
    say(page, "A second conversation.")
    wait_done(page)
    reload(page)
    assert page.locator("#conversations li").count() == 2
    assert page.locator("#setting-max_tokens").input_value() == "12"
    page.get_by_role("button", name=QUESTION, exact=True).click()
    assert branch(page) == before
    assert words(body_text(page)) == words(before[1]["content"])


def test_the_dashboard_shows_moving_numbers(page, server):
    is_over = threading.Event()

    def load():
        while not is_over.is_set():
            ask_api(server, messages=[{"role": "user", "content": QUESTION}], max_tokens=32)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        page.click("#tab-dashboard")
        wait_until(page, "Number(document.querySelector('[data-metric=generationRate]').textContent.replace(/,/g, '')) > 0")
        wait_until(page, "/\\d/.test(document.querySelector('[data-metric=ttft50]').textContent)")
        wait_until(page, "/\\d/.test(document.querySelector('[data-metric=cacheUse]').textContent)")
        totals = "Number(document.querySelectorAll('.totals dd')[1].textContent.replace(/,/g, ''))"
        before = page.evaluate(totals)
        wait_until(page, f"{totals} > {before}")
        drawn = page.evaluate("""() => [...document.querySelectorAll('.plot canvas')].map((canvas) => {
          const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          return data.some((value) => value > 0);
        })""")
        assert drawn == [True] * 5
    finally:
        is_over.set()
        thread.join()


def test_the_dashboard_rests_while_the_page_is_hidden(page):
    page.click("#tab-dashboard")
    wait_until(page, "document.querySelectorAll('.totals dd').length > 0")
    page.evaluate("""() => {
      Object.defineProperty(document, 'hidden', {configurable: true, get: () => true});
      document.dispatchEvent(new Event('visibilitychange'));
    }""")
    page.wait_for_timeout(300)
    count = sum(url.endswith("/metrics") for url in page.urls)
    page.wait_for_timeout(2500)
    assert sum(url.endswith("/metrics") for url in page.urls) <= count


def test_nothing_is_polled_before_the_dashboard_is_opened(page):
    page.wait_for_timeout(1500)
    assert not any(url.endswith("/metrics") for url in page.urls)


def test_a_story_of_markup_stays_text(page):
    """Whatever the model makes of it, our own message and its title come back as text."""
    attack = "<img src=x onerror=alert(1)><script>alert(2)</script>[x](javascript:alert(3))"
    set_sampling(page, max_tokens=8)
    say(page, attack)
    wait_done(page)
    assert page.locator(".message.user .body").inner_text() == attack
    assert page.locator("#messages img, #messages script, #sidebar img, #messages a[href^=javascript]").count() == 0
    reload(page)
    assert page.locator(".message.user .body").inner_text() == attack


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_switch(open_page, theme):
    page = open_page(theme=theme)
    brightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 3"
    assert (page.evaluate(brightness) > 128) == (theme == "light")
    other = "dark" if theme == "light" else "light"
    while page.get_attribute("#theme", "aria-label") != f"Theme: {other}":
        page.click("#theme")
    assert (page.evaluate(brightness) > 128) == (other == "light")
    reload(page)
    assert (page.evaluate(brightness) > 128) == (other == "light")


def test_a_phone_has_no_sideways_scrolling(open_page):
    page = open_page(width=360, height=640, is_mobile=True, has_touch=True)
    fits = "document.documentElement.scrollWidth <= 360 && document.getElementById('scroller').scrollWidth <= document.getElementById('scroller').clientWidth + 1"
    assert page.evaluate(fits)
    set_sampling(page, max_tokens=24)
    say(page, QUESTION + " " + "long" * 60)
    wait_done(page)
    assert page.evaluate(fits)
    page.click("#open-sidebar")
    assert page.locator("#conversations li").count() == 1
    page.locator("#conversations .open").click()  # closes the drawer
    wait_until(page, "!document.getElementById('app').classList.contains('has-scrim')")
    page.click("#tab-dashboard")
    wait_until(page, "document.querySelectorAll('.totals dd').length > 0")
    assert page.evaluate("document.documentElement.scrollWidth <= 360")
    assert page.evaluate("document.getElementById('dashboard').scrollWidth <= 360")
