# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the page's tests: a headless Chromium, and pages that watch what they do.

Expected from tests/conftest.py: `server`, an object whose `url` ("http://127.0.0.1:PORT", no slash at the
end) is that of an `ingot serve` with the default model, without API keys. It may be shared by all tests.
"""

import atexit
import functools
import json
import shutil
import time
import urllib.request

import pytest
from playwright.sync_api import sync_playwright

# Answers that the test itself writes: window.answer.push(text) and so on. What goes to other routes,
# and everything while no script is set, goes to the server.
SCRIPTED_FETCH = """
window.answer = {requests: [], streams: [],
  push(text, more) { this.chunk({choices: [{index: 0, delta: {content: text}, ...more}]}); },
  chunk(value) { this.raw('data: ' + JSON.stringify(value) + '\\n\\n'); },
  raw(text) { this.streams.at(-1).enqueue(new TextEncoder().encode(text)); },
  finish(reason) {
    this.push('', {finish_reason: reason || 'stop'});
    this.raw('data: [DONE]\\n\\n');
    this.streams.at(-1).close();
  },
  cut() { this.streams.at(-1).close(); },
  replies: []};
const realFetch = window.fetch;
window.fetch = async (path, options) => {
  if (!String(path).includes('chat/completions')) return realFetch(path, options);
  answer.requests.push({body: JSON.parse(options.body), headers: options.headers});
  const reply = answer.replies.shift();
  if (reply === 'lost') throw new TypeError('network error');
  if (reply) return new Response(reply.body, {status: reply.status, headers: reply.headers});
  return new Response(new ReadableStream({start(controller) {
    answer.streams.push(controller);
    options.signal.addEventListener('abort', () => controller.error(options.signal.reason));
  }}), {headers: {'Content-Type': 'text/event-stream'}});
};
"""


@functools.cache
def start_browser(path: str):
    """One for all test files: each that imports the fixture has its own copy of it."""
    playwright = sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
    atexit.register(playwright.stop)
    atexit.register(browser.close)
    return browser


@pytest.fixture(scope="session")
def browser():
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("chromium is not installed; run `make test`, which installs it")
    return start_browser(path)


@pytest.fixture
def open_page(browser, server):
    """open_page(width=, height=, theme=, script=, hash=): a page in a browser of its own. At the end it has made
    no request to anywhere else, thrown nothing, and broken no rule of its policy."""
    opened = []

    def open_one(width=1280, height=800, theme="light", script=None, hash="", **more):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, **more)
        context.set_default_timeout(60000)
        page = context.new_page()
        page.urls, page.troubles = [], []
        page.on("request", lambda request: page.urls.append(request.url))
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("console", lambda message: note(page, message))
        page.on("dialog", lambda dialog: (page.troubles.append("dialog"), dialog.dismiss()))
        if script:
            page.add_init_script(script)
        page.goto(server.url + "/" + hash)
        wait_until(page, "window.ingot !== undefined")
        opened.append((context, page))
        return page

    def note(page, message):
        if "Content Security Policy" in message.text or "Uncaught" in message.text:
            page.troubles.append(message.text)

    yield open_one
    for context, page in opened:
        foreign = [url for url in page.urls if not url.startswith((server.url, "data:", "blob:"))]
        troubles = list(page.troubles)
        context.close()
        assert foreign == []
        assert troubles == []


@pytest.fixture
def page(open_page):
    return open_page()


@pytest.fixture
def scripted(open_page):
    """A page whose answers the test writes: see SCRIPTED_FETCH."""
    return open_page(script=SCRIPTED_FETCH)


def wait_until(page, expression: str, seconds: float = 60) -> None:
    """Playwright's own waiting evaluates strings inside the page, which the page's policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"still not so: {expression}"
        page.wait_for_timeout(30)


def reload(page) -> None:
    page.reload()
    wait_until(page, "window.ingot !== undefined")


def say(page, text):
    page.fill("#input", text)
    page.press("#input", "Enter")


def wait_done(page):
    page.wait_for_selector("#send:not(.stop)", timeout=120000)  # the machine may be busy with other tests


def branch(page):
    """The messages that are shown, as stored."""
    return page.evaluate("""() => {
      const {conversation} = ingot.chat;
      const byId = new Map(conversation.messages.map((m) => [m.id, m]));
      const shown = [];
      for (let m = byId.get(conversation.head); m; m = byId.get(m.parent)) shown.unshift(m);
      return JSON.parse(JSON.stringify(shown));  // without what is undefined
    }""")


def set_sampling(page, **values):
    """Settings through the panel, as a user would."""
    if page.get_attribute("#open-settings", "aria-expanded") == "false":
        page.click("#open-settings")
    for name, value in values.items():
        page.fill(f"#setting-{name}", str(value))
    if page.is_visible(".has-scrim"):
        page.keyboard.press("Escape")


def ask_api(server, **body) -> dict:
    request = urllib.request.Request(server.url + "/v1/chat/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)
