"""Tests the page of `ingot serve` in Chromium: its requests, what it shows, what it stores, and what it blocks.

Answers come from the engine, unless a check needs particular words: then the browser gets a scripted stream
instead of the server's. Screenshots are written to page/ next to the JUnit file.
"""
import gzip
import json
import re
import time

import browser as browsers
import page_talk
import page_versions
import suite as suites
from server import Server, Stream

EVIL = """Ends: <script>window.evil = 1</script> <img src=x onerror="window.evil = 2"> <svg onload="window.evil = 3"></svg>
[click](javascript:window.evil=4) [data](data:text/html,<script>parent.evil=5</script>) ![picture](https://evil.example/pixel.png)
<iframe srcdoc="<script>parent.evil = 6</script>"></iframe> <a href="javascript:window.evil=7">there</a> <style>body { display: none }</style>"""

MARKDOWN = """# A title

Some **bold**, *slanted* and `inline` words, a [link](https://example.com/a?b=1&c=2) and 3 < 4 &amp; more.

1. one
2. two
   - nested

| name | value |
|------|------:|
| a    |     1 |

```python
def greet(name):
    return f"<b>{name}</b>"
```

> said

"""


def scripted(*deltas, finish="stop"):
    """The text of a stream with these deltas."""
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": None})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


def in_pieces(text, size=7):
    return [{"content": text[i:i + size]} for i in range(0, len(text), size)]


class Checks:
    def __init__(self, server, browser, pictures):
        self.server, self.browser, self.pictures = server, browser, pictures
        self.url = f"http://127.0.0.1:{server.port}/"
        self.page = None

    def afresh(self, check):
        """Runs a check on a freshly loaded page, whatever state the previous one has left."""
        def run():
            self.page = self.page or self.browser.open(self.url)
            self.page.size(1280, 800)
            self.page.no_more_instead()
            self.page.go(self.url)
            self.page.complaints.clear()
            self.page.wait("document.querySelector('.model')?.innerText === 'm'")
            return check()
        return run

    def settle(self, page, url=None):
        """Waits until nothing is in progress; checks that there are no complaints and no requests to other hosts."""
        page.wait("!document.querySelector('#stop')", 60)
        assert not page.complaints, f"the console: {page.complaints}"
        own = url or self.url
        outside = [url for url in page.requests if not url.startswith((own, "blob:" + own))]
        assert not outside, f"requests to elsewhere: {outside}"
        page.requests.clear()

    def ask(self, text, page=None):
        page = page or self.page
        page.fill("#question", text)
        page.press("Enter")

    def expect_evil_asleep(self, page):
        time.sleep(0.2)  # an image that fails to load takes a moment
        assert page.evaluate("window.evil") is None, f"a script of the model's ran: {page.evaluate('window.evil')}"
        strange = page.evaluate("document.querySelectorAll('.message script, .message img, .message iframe, .message style, .message svg[onload]').length")
        assert strange == 0, f"{strange} elements came out of a message"
        links = page.evaluate("[...document.querySelectorAll('.markdown a')].map(a => a.href)")
        assert all(link.startswith(("http:", "https:", "mailto:")) for link in links), links

    # ------------------------------------------------------------- checks, in order

    def headers(self):
        """Checks files, their types, caching and the content security policy."""
        status, head, html = self.server.request("GET", "/")
        assert status == 200 and head["Content-Type"] == "text/html; charset=utf-8", (status, head.items())
        policy = head["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy, policy
        assert head["X-Content-Type-Options"] == "nosniff" and head["Referrer-Policy"] == "no-referrer", head.items()
        assert head["Cache-Control"] == "no-cache" and head["ETag"], head.items()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", html), html
        again = self.server.request("GET", "/", headers={"If-None-Match": head["ETag"]})
        assert again[0] == 304 and not again[2], again
        compressed = 0
        for asset in re.findall(r'(?:src|href)="\./(assets/[^"]+)"', html):
            _, plain_head, plain = self.server.request("GET", "/" + asset)
            assert "immutable" in plain_head["Cache-Control"] and "Content-Encoding" not in plain_head, plain_head.items()
            connection = self.server.connect()
            connection.request("GET", "/" + asset, headers={"Accept-Encoding": "br, gzip"})
            answer = connection.getresponse()
            data = answer.read()
            assert answer.headers["Content-Encoding"] == "gzip" and gzip.decompress(data).decode() == plain
            compressed += len(data)
        assert 0 < compressed < 150_000, f"{compressed} bytes"
        assert self.server.request("GET", "/assets/none.js")[0] == 404
        assert self.server.request("POST", "/live.json", {})[0] == 405
        return f"{compressed / 1000:.0f} kB compressed"

    def answers(self):
        page = self.page
        self.set({"temperature": "0", "max_tokens": "40", "system": "You are brief."})
        self.ask("What is a compiler? Two sentences.")
        page.wait("/ new of /.test(document.querySelector('.facts')?.innerText)", 60)
        facts = page.text(".facts")
        # A busy browser reads the whole answer at once; the page then shows no rate.
        assert re.search(r"^cut at the limit of tokens · (\d+ tokens/s · )?first after .* · 40 new of \d+ tokens", facts), facts
        messages = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": "What is a compiler? Two sentences."}]
        expected = self.server.post("/v1/chat/completions", {"messages": messages, "temperature": 0, "max_tokens": 40})[2]
        expected = expected["choices"][0]["message"]["content"]
        first = re.split(r"[\n*`_]", expected)[0].strip()
        assert first and first in page.text(".message.assistant .markdown"), f"{expected!r} is not {page.text('.markdown')!r}"
        self.settle(page)
        return facts

    def set(self, values):
        self.page.click("#settings")
        for name, value in values.items():
            self.page.fill(f"#{name}", value)
        self.page.click("dialog header button")
        self.page.wait("!document.querySelector('dialog')")
        kept = self.page.evaluate("JSON.parse(localStorage['ingot.settings'])")
        kept = {**kept, **kept["numbers"]}
        for name, value in values.items():
            assert str(kept[name] if kept[name] is not None else "") == value, f"{name} is {kept[name]!r}, not {value!r}"

    def watch_copying(self):
        """`window.copied` is what was written to the clipboard; reading the clipboard would need a permission."""
        self.page.evaluate("(clip => { const write = clip.writeText.bind(clip); clip.writeText = text => write(text).then(() => { window.copied = text }) })(navigator.clipboard)")

    def reopen(self, word):
        """Opens the conversation with this word in its title."""
        self.page.evaluate(f"[...document.querySelectorAll('.history .title')].find(e => /{word}/.test(e.innerText)).click()")
        self.page.wait("document.querySelector('.message')")

    def keeps(self):
        page = self.page
        page.click(".history .title")
        page.wait("document.querySelectorAll('.message').length === 2")
        before = page.text(".messages")
        assert "40 new of" in before, before
        page.reload()
        page.wait("document.querySelectorAll('.history li').length === 1")
        page.click(".history .title")
        page.wait("document.querySelectorAll('.message').length === 2")
        assert page.text(".messages") == before, "the conversation is not what it was"
        page.click("#settings")
        kept = page.evaluate("['temperature', 'max_tokens', 'system', 'top_p'].map(id => document.getElementById(id).value)")
        assert kept == ["0", "40", "You are brief.", ""], kept
        assert page.evaluate("Object.keys(localStorage).some(key => /key/.test(key))") is False
        page.press("Escape")
        page.wait("!document.querySelector('dialog')")
        self.settle(page)

    def stops(self):
        page = self.page
        self.set({"max_tokens": ""})
        page.click("#new")
        self.ask("Tell me a very long story about the sea. Do not stop before it has ten chapters.")
        page.wait("document.querySelector('.message.assistant .markdown')?.innerText.length > 20")
        running = self.server.metric("vllm:num_requests_running")
        assert running == 1, f"{running} requests are running"
        page.press("Escape")
        took = self.server.idle(5)
        page.wait("/stopped/.test(document.querySelector('.facts')?.innerText)")
        length = len(page.text(".markdown"))
        page.click(".again")
        page.wait("document.querySelector('#stop')")
        page.click("#stop")
        self.server.idle(5)
        self.settle(page)
        return f"after {length} letters; the place was free {took * 1000:.0f} ms later"

    def changes(self):
        """Edit asks again, regenerate gives the same greedy answer, copy copies."""
        page = self.page
        page.click("#new")
        self.set({"max_tokens": "8"})
        self.ask("Say one word.")
        page.wait("document.querySelector('.again')", 60)
        answer = page.text(".message.assistant .markdown")
        page.evaluate("document.querySelector('.message.assistant').old = true")
        page.click(".again")
        page.wait("(e => e && !e.old && e.querySelector('.facts'))(document.querySelector('.message.assistant'))", 60)
        assert page.text(".message.assistant .markdown") == answer
        self.watch_copying()
        page.click(".message.assistant .copy")
        page.wait("document.querySelector('.message.assistant .copy').ariaLabel === 'Copied'")
        assert page.evaluate("window.copied").strip() == answer.strip()
        page.evaluate("document.querySelector('.message.user .edit').focus()")
        page.click(".message.user .edit")
        page.fill(".editor textarea", "Say another word.")
        page.click(".editor .main")
        page.wait("document.querySelector('.message .plain')?.innerText === 'Say another word.'")
        page.wait("document.querySelector('.message.assistant .facts')", 60)
        assert len(page.texts(".message")) == 2
        self.settle(page)

    def renders(self):
        page = self.page
        page.instead("v1/chat/completions", 200, "text/event-stream", scripted({"reasoning_content": "Let me *think*."}, *in_pieces(MARKDOWN)))
        page.click("#new")
        self.ask("Show me everything.")
        page.wait("document.querySelector('.facts')")
        found = page.evaluate("""({title: document.querySelector('.markdown h2')?.innerText, bold: document.querySelector('.markdown strong')?.innerText,
            slanted: document.querySelector('.message > .markdown em')?.innerText, item: document.querySelectorAll('.markdown ol > li').length,
            nested: document.querySelector('.markdown ol ul li')?.innerText, cell: document.querySelector('td.to-right')?.innerText,
            code: document.querySelector('.code code')?.textContent, language: document.querySelector('.code figcaption span')?.innerText,
            quote: document.querySelector('blockquote')?.innerText.trim(), link: document.querySelector('.markdown a')?.href,
            folded: !document.querySelector('.reasoning').open, text: document.querySelector('.message > .markdown p').innerText})""")
        assert found == {"title": "A title", "bold": "bold", "slanted": "slanted", "item": 2, "nested": "nested", "cell": "1",
                         "code": 'def greet(name):\n    return f"<b>{name}</b>"', "language": "python", "quote": "said",
                         "link": "https://example.com/a?b=1&c=2", "folded": True,
                         "text": "Some bold, slanted and inline words, a link and 3 < 4 & more."}, found
        self.watch_copying()
        page.click(".code .copy")
        page.wait("document.querySelector('.code .copy').ariaLabel === 'Copied'")
        assert page.evaluate("window.copied") == found["code"]
        page.instead("v1/chat/completions", 200, "text/event-stream", scripted(
            {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": ' "Oslo"}'}}]}, finish="tool_calls"))
        self.ask("And the weather?")
        page.wait("document.querySelector('.results')")
        assert "weather" in page.text(".call summary") and '"city": "Oslo"' in page.text(".call pre"), page.text(".call")
        page.instead("v1/chat/completions", 200, "text/event-stream", scripted({"content": "Rain."}))
        page.fill(".results textarea", "rain")
        page.click(".results button")
        page.wait("[...document.querySelectorAll('.markdown')].at(-1).innerText === 'Rain.'")
        self.settle(page)

    def pictures_of_chat(self):
        page = self.page
        self.reopen("everything")
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            page.evaluate("document.querySelector('.messages').scrollTo(0, 0)")
            page.picture(self.pictures / f"chat-{scheme}.png")
        backgrounds = []
        for _ in range(4):
            backgrounds.append(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
            page.click("#theme")
        dark, light = backgrounds[0], backgrounds[1]  # system (dark), light, dark, system again
        assert dark != light and backgrounds == [dark, light, dark, dark], backgrounds
        page.click("#theme")
        page.click("#settings")
        page.picture(self.pictures / "settings-dark.png")
        page.press("Escape")
        page.reload()
        page.wait("document.querySelector('#theme')")
        kept = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        page.evaluate("localStorage.removeItem('ingot.theme')")
        page.prefer("light")
        page.reload()
        page.wait("document.querySelector('.model')?.innerText === 'm'")
        return f"{light} and {dark}, kept {kept}"

    def harmless(self):
        """Checks that a model's output, and the contents of imported files, stay text."""
        page = self.page
        page.instead("v1/chat/completions", 200, "text/event-stream",
                     scripted({"reasoning_content": EVIL}, *in_pieces(EVIL, 5), {"content": "\n\n```html\n" + EVIL + "\n```\n\n[ref]: javascript:window.evil=8\n[ref] | [x][ref]"}))
        page.click("#new")
        self.ask(EVIL)
        page.wait("document.querySelector('.facts')")
        self.expect_evil_asleep(page)
        assert "<script>window.evil = 1</script>" in page.text(".message > .markdown"), page.text(".message > .markdown")
        page.no_more_instead()
        file = self.pictures / "import.json"
        message = {"role": "assistant", "content": EVIL, "reasoning": EVIL, "toolCalls": [{"id": EVIL, "name": EVIL, "arguments": EVIL}],
                   "ending": "__proto__", "timing": {"tokens": EVIL}, "model": EVIL, "__html": EVIL, "dangerouslySetInnerHTML": {"__html": EVIL}}
        file.write_text(json.dumps({"format": "ingot-conversations", "version": 1, "conversations": [
            {"id": "\"><script>window.evil=9</script>", "title": EVIL, "updated": 9e15, "from": 1e9, "messages": [message, message]}]}))
        page.choose_file("#import", file)
        page.wait("/Imported one/.test(document.querySelector('.notice').innerText)")
        page.click(".history .title")
        page.wait("document.querySelectorAll('.message.assistant').length === 2")
        self.expect_evil_asleep(page)
        for wrong in ("{", '{"format": "ingot-conversations", "conversations": [{"messages": [3]}]}', "[]"):
            file.write_text(wrong)
            before = page.text(".notice")
            page.choose_file("#import", file)
            page.wait(f"document.querySelector('.notice').innerText !== {json.dumps(before)}")
            assert "mported one" not in page.text(".notice"), page.text(".notice")
        file.unlink()
        # An export can be imported again.
        exported = page.evaluate("""new Promise(done => { const make = URL.createObjectURL
            URL.createObjectURL = blob => { blob.text().then(done); return make(blob) }; document.querySelector('#export').click() })""")
        titles = [one["title"] for one in json.loads(exported)["conversations"]]
        assert len(titles) == page.evaluate("document.querySelectorAll('.history li').length") and EVIL[:200] in titles, titles
        # Deleting can be undone.
        before = page.texts(".history .title")
        page.click("#delete-all")
        page.wait("!document.querySelector('.history li')")
        assert page.evaluate("Object.keys(localStorage).filter(key => /chat/.test(key)).length") == 0
        page.click(".notice button")
        page.wait("document.querySelector('.history li')")
        assert page.texts(".history .title") == before
        self.settle(page)

    def fails_in_words(self):
        """Checks that errors are shown, and that there is a way to continue."""
        page = self.page
        page.click("#new")
        self.set({"max_tokens": "8"})
        long = "word " * 200  # 512 positions fit two of them, but not three
        for asked in range(1, 4):
            self.ask(long)
            page.wait(f"document.querySelectorAll('.message.user').length === {asked}")
            page.wait("!document.querySelector('#stop') && document.querySelector('.failure, .message:last-child.assistant .facts')", 60)
        assert "longer than the model" in page.text(".failure") and re.search(r"\d", page.text(".failure p")), page.text(".failure")
        page.click(".failure .main")
        page.wait("document.querySelector('.left-out') && document.querySelector('.message:last-child.assistant .facts')", 60)
        for status, error, words, way in ((429, {"message": "full", "code": "E0560"}, "busy", "Try again"), (500, {}, "500", "Try again"),
                                          (401, {"message": "no key"}, "API key", "Give a key"), (404, {"message": "no model"}, "model", "settings")):
            page.instead("v1/chat/completions", status, "application/json", json.dumps({"error": error}))
            self.ask("Hello?")
            page.wait(f"new RegExp({json.dumps(words)}).test(document.querySelector('.failure')?.innerText)")
            assert way in page.text(".failure .row"), page.text(".failure")
        # A stream that breaks off keeps the text that has arrived.
        page.instead("v1/chat/completions", 200, "text/event-stream", scripted({"content": "Half an"}).split("data: [DONE]")[0])
        page.click(".failure .row button:last-child")
        page.wait("/broke off/.test(document.querySelector('.failure')?.innerText)")
        assert page.texts(".markdown")[-1] == "Half an" and "broke off" in page.texts(".facts")[-1]
        # A full storage is reported; the page continues to work.
        page.evaluate("""(() => { let kept = ''
            for (let n = 1 << 23; n; n >>= 1) try { localStorage.filler = kept + 'x'.repeat(n); kept += 'x'.repeat(n) } catch {} })()""")
        page.instead("v1/chat/completions", 200, "text/event-stream", scripted({"content": "Not kept."}))
        self.ask("Is there room?")
        page.wait("/no room for more history/.test(document.querySelector('.messages').innerText)")
        page.wait("[...document.querySelectorAll('.markdown')].at(-1).innerText === 'Not kept.'")
        page.evaluate("localStorage.removeItem('filler')")
        page.no_more_instead()
        # Chromium itself logs error responses to the console.
        assert len([c for c in page.complaints if "the server responded with a status of" in c]) >= 5, page.complaints
        page.complaints = [c for c in page.complaints if "the server responded with a status of" not in c]
        self.settle(page)

    def reachable(self):
        """Checks that every control has a name, that Tab reaches it, and that a phone's
        width needs no sideways scrolling."""
        page = self.page
        assert not page.nameless(), f"nameless: {page.nameless()}"
        page.click("#settings")
        assert not page.nameless(), f"nameless in the settings: {page.nameless()}"
        page.press("Escape")
        page.wait("!document.querySelector('dialog')")
        self.reopen("everything")
        page.wait("document.querySelector('.code')")
        page.evaluate("document.activeElement.blur()")
        reached = set()
        for _ in range(90):
            page.press("Tab")
            reached.add(page.evaluate("(e => e.id || e.ariaLabel || e.className || e.tagName)(document.activeElement)"))
        missing = {"new", "search", "export", "import-button", "delete-all", "theme", "attach", "settings", "question", "title", "Another answer"} - reached
        assert not missing, f"Tab does not reach {missing}: {reached}"
        page.size(390, 844, phone=True)
        page.reload()
        page.wait("document.querySelector('.model')?.innerText === 'm'")
        assert page.evaluate("getComputedStyle(document.querySelector('nav')).visibility") == "hidden"
        page.click("header .narrow")
        page.wait("document.querySelector('nav').getBoundingClientRect().x === 0")
        page.picture(self.pictures / "phone-list.png")
        self.reopen("everything")
        page.wait("document.querySelector('.code')")
        page.wait("document.querySelector('nav').getBoundingClientRect().right <= 0")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, f"the page is {wide} wide on a phone of 390"
        page.evaluate("document.querySelector('.messages').scrollTo(0, 300)")
        page.picture(self.pictures / "phone.png")
        self.settle(page)

    def no_bar_in_the_field(self):
        """Checks that the field is as high as its text, so that no scroll bar covers the
        send button at any window width."""
        page = self.page
        page.click("#new")
        # Overlay scroll bars have no width.
        over = """(e => { return [e.scrollHeight - e.clientHeight, e.offsetWidth - e.clientWidth] })
            (document.querySelector('#question'))"""
        for width, height in ((1280, 800), (900, 700), (390, 844)):
            page.size(width, height)
            for text in ("", "one line", "a line\nand another\nand a third", "word " * 60):
                page.fill("#question", text)
                page.wait(f"{over}[0] <= 0")  # the height follows the text once the page is drawn
                past, beside = page.evaluate(over)
                assert past <= 0 and beside <= 2, f"{width} x {height}, {text!r}: {past} px more than the field has, {beside} px beside it"
        page.fill("#question", "")
        page.size(1280, 800)

    def live(self, server):
        """Uses a separate server with a context so long that even a fast machine does not finish an answer before it is
        inspected."""
        url = f"http://127.0.0.1:{server.port}/"
        page = self.browser.open(url + "live", height=1000)
        page.wait("document.querySelector('#requests')")
        assert not page.nameless(), f"nameless: {page.nameless()}"
        streams = [Stream(server, "Once upon a time", max_tokens=4000, ignore_eos=True) for _ in range(4)]
        try:
            for stream in streams:
                assert stream.head() == 200
            page.wait("document.querySelector('#running').innerText === '4' && Number(document.querySelector('#pages').innerText) > 0")
            page.wait("document.querySelectorAll('#requests .state').length === 4")
            row = page.texts("#requests tbody tr:first-child td")
            assert row[1] in ("answering", "reading the prompt") and int(row[2]) > 2, row
            page.wait("Number(document.querySelector('#rate').innerText) > 0")
            page.wait("document.querySelectorAll('.bars i').length > 3 && document.querySelector('.rates polyline')")
            rate = page.text("#rate")
            page.wait("document.querySelectorAll('.first-token path').length > 0")
            page.picture(self.pictures / "live.png")
            name = page.texts("#requests tbody tr:first-child td")[0]
            page.click("#requests .cancel")
            page.wait("document.querySelector('#running').innerText === '3'")
            page.wait(f"document.querySelector('.said').innerText.includes('{name}')")
            # Four connections reach the server in any order: the first row is not always the first stream.
            [ended] = [stream for stream in streams if stream.headers["x-request-id"] == name]
            ends = [event["error"]["code"] for event in ended.events() if "error" in event]
            assert ends == ["E0559"], ends
            page.size(390, 844, phone=True)
            wide = page.evaluate("document.documentElement.scrollWidth")
            page.picture(self.pictures / "live-phone.png")
            assert wide <= 390, f"the page is {wide} wide on a phone of 390"
            page.size(1280, 1000)
        finally:
            for stream in streams:
                stream.leave()
        page.wait("document.querySelector('#running').innerText === '0' && document.querySelector('#pages').innerText === '0'")
        page.wait("/Nothing is under way/.test(document.querySelector('#requests').innerText)")
        page.prefer("dark")
        page.picture(self.pictures / "live-dark.png")
        self.settle(page, url)
        page.close()
        return f"{rate} tokens/s"


def with_key(ingot, engine, browser):
    """With --api-key, a browser is asked for the key before it gets any byte of the page."""
    with Server(ingot, engine, "--api-key", "secret-1", "--context", "512") as server:
        for path in ("/", "/live", "/live.json"):
            assert server.request("GET", path, headers={"Accept": "text/html"})[0] == 401, path
        url = f"http://127.0.0.1:{server.port}/"
        page = browser.open(url, password="secret-1")
        page.wait("document.querySelector('.model')?.innerText === 'm'")
        page.fill("#question", "Hi")
        page.press("Enter")
        page.wait("document.querySelector('.facts')", 60)
        page.go(url + "live")
        page.wait("document.querySelector('#requests')")
        page.close()


def live_report(ingot, engine):
    """/live.json of a server with one sequence slot: running and waiting requests, under their own ids."""
    with Server(ingot, engine, "--max-seqs", "1", "--context", "512") as server:
        streams = [Stream(server, "Once upon a time", max_tokens=400, ignore_eos=True) for _ in range(3)]
        assert streams[0].head() == 200
        end = time.monotonic() + 20
        while True:
            report = server.get("/live.json")[2]["models"][0]
            states = sorted(request["state"] for request in report["requests"])
            if states == ["decode", "queued", "queued"]:
                break
            assert time.monotonic() < end, report
            time.sleep(0.05)
        assert report["running"] == 1 and report["waiting"] == 2 and 0 < report["kv_pages_used"] <= report["kv_pages"], report
        assert len({request["id"] for request in report["requests"]}) == 3
        for request in report["requests"]:
            assert request["prompt_tokens"] > 2 and request["choices"] == 1 and request["age_s"] >= 0, request
            assert (request["new_tokens"] > 0) == (request["state"] == "decode"), request
        for kind in ("ttft", "itl"):
            histogram = report[kind]
            assert len(histogram["counts"]) == len(histogram["bounds"]) + 1 and sum(histogram["counts"]) == histogram["count"], histogram
        for stream in streams:
            stream.leave()
        server.idle()
        assert server.get("/live.json")[2]["models"][0]["requests"] == []


def add(suite, ingot, checkpoint, pictures):
    suite.check("live.json: requests and numbers", lambda: live_report(ingot, checkpoint.engines["fast"]))
    program = browsers.find_chromium()
    if not program:
        def skip():
            raise suites.Skip("there is no Chromium; ./dev setup installs Debian's")
        return suite.check("page: in Chromium", skip)
    pictures.mkdir(parents=True, exist_ok=True)
    engine = checkpoint.engines["fast"]

    def built():
        status, _, text = server.get("/")
        if status == 404 and "without its page" in text:
            raise suites.Skip(text.strip())

    try:
        with Server(ingot, engine, "--context", "512", "--kv-memory", "256MiB") as server, browsers.Browser(program) as browser:
            if not suite.check("page: is there", built) or "page: is there" in suite.skipped:
                return None
            checks = Checks(server, browser, pictures)
            suite.check("page: types, caches, policy", checks.headers)
            if suite.check("page: a streamed answer", checks.afresh(checks.answers)):
                suite.check("page: history and settings are kept", checks.afresh(checks.keeps))
                suite.check("page: stop frees the place", checks.afresh(checks.stops))
                suite.check("page: edit, regenerate, copy", checks.afresh(checks.changes))
                suite.check("page: markdown, code, reasoning, tools", checks.afresh(checks.renders))
                suite.check("page: light and dark", checks.afresh(checks.pictures_of_chat))
                suite.check("page: hostile text stays text", checks.afresh(checks.harmless))
                suite.check("page: failures in words", checks.afresh(checks.fails_in_words))
                page_talk.add(suite, checks)
                page_versions.add(suite, checks)
                suite.check("page: no bar in the field", checks.afresh(checks.no_bar_in_the_field))
                suite.check("page: names, Tab, a phone's width", checks.afresh(checks.reachable))
            with Server(ingot, engine, "--context", "4096", "--max-seqs", "4") as roomy:
                suite.check("page: live", lambda: checks.live(roomy))
            suite.check("page: live, two busy models", lambda: page_talk.live_of_many(checks))
            suite.check("page: with a key", lambda: with_key(ingot, engine, browser))
    except AssertionError as error:
        suite.check("page: the browser starts", lambda why=error: (_ for _ in ()).throw(why))
    return None
