"""Tests the page around an answer: it is announced, counted, highlighted, named and found again."""
import json
import re

from server import Stream

ANSWER = """Here is `f`. It is short:

```python
# Half of "it".
def f(x):
    return x / 2
```

Call it. That is all"""

SPOKEN = ["Here is f .", "It is short:", "Code in python.", "Call it.", "That is all"]

LUMINANCE = """(() => {
    const channels = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number)
    const light = colour => channels(colour).map(c => c / 255).map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0)
    const under = light(getComputedStyle(document.querySelector('.markdown .code')).backgroundColor)
    return [...document.querySelectorAll('.code span[class]')].map(e => light(getComputedStyle(e).color))
        .map(l => (Math.max(l, under) + .05) / (Math.min(l, under) + .05)) })()"""


def scripted(*contents):
    """A complete stream with these pieces of text."""
    deltas = [{"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": None}]} for content in contents]
    deltas.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return "".join(f"data: {json.dumps(delta)}\n\n" for delta in deltas) + "data: [DONE]\n\n"


def told(page):
    page.wait("document.querySelector('.message:last-child .again') && !document.querySelector('#stop')", 60)


def heard(checks):
    """A screen reader hears each sentence once; code is named, not read; a stream's partial sentence waits."""
    page = checks.page
    page.click("#new")
    role = page.evaluate("(e => [e.role, e.ariaLive])(document.querySelector('#spoken'))")
    assert role == ["log", "polite"], role
    # Checks the text added to the live region, piece by piece: nothing twice, nothing removed.
    page.evaluate("""window.added = []; new MutationObserver(all => all.forEach(one => one.addedNodes.forEach(node =>
        node.nodeType === 1 ? window.added.push(...(node.matches('p') ? [node] : node.querySelectorAll('p'))) : window.added.push(node))))
        .observe(document.querySelector('#spoken'), {childList: true, subtree: true, characterData: true})""")
    page.instead("v1/chat/completions", 200, "text/event-stream", scripted(*[ANSWER[i:i + 3] for i in range(0, len(ANSWER), 3)]))
    checks.ask("Show me f.")
    told(page)
    page.wait("document.querySelectorAll('#spoken p').length === 5")
    assert page.texts("#spoken p") == SPOKEN, page.texts("#spoken p")
    assert page.evaluate("window.added.map(node => node.textContent)") == SPOKEN
    assert page.evaluate("document.querySelector('.notice .away').innerText") == "The answer is complete."
    checks.settle(page)


def coloured(checks):
    page = checks.page
    checks.reopen("Show me f")
    found = page.evaluate("[...document.querySelectorAll('.code span[class]')].map(e => [e.className, e.textContent])")
    assert found == [["comment", '# Half of "it".'], ["keyword", "def"], ["name", "f"], ["keyword", "return"], ["number", "2"]], found
    assert page.evaluate("document.querySelector('.code code').textContent") == '# Half of "it".\ndef f(x):\n    return x / 2'
    least = []
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        least.append(min(page.evaluate(LUMINANCE)))
    page.prefer("light")
    assert min(least) >= 4.5, f"contrast {least}"
    checks.settle(page)
    return f"contrast {least[0]:.1f} light, {least[1]:.1f} dark"


def counted(checks):
    """The token count of the pending message is shown below the field, with a warning if it is too large."""
    page = checks.page
    page.click("#new")
    checks.set({"system": "You are brief."})
    page.fill("#question", "How long is a piece of string?")
    said = page.wait("/tokens/.test(document.querySelector('#count').innerText) && document.querySelector('#count').innerText")
    messages = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": "How long is a piece of string?"}]
    expected = checks.server.post("/tokenize", {"messages": messages})[2]
    assert said == f"{expected['count']} of {expected['max_model_len']} tokens", (said, expected)
    page.fill("#question", "word " * 600)
    page.wait("/too long/.test(document.querySelector('#count.over')?.innerText)")
    page.fill("#question", "")
    page.wait("document.querySelector('#count').innerText === ''")
    checks.set({"system": ""})
    checks.settle(page)
    return said


def attached(checks):
    """A text file is sent with a question, folded on the page and whole to the model; other files are rejected."""
    page = checks.page
    page.click("#new")
    notes, picture = checks.pictures / "notes.txt", checks.pictures / "small.png"
    notes.write_text("The secret word is ```plum```.\n")
    picture.write_bytes(b"\x89PNG\r\n\0\0")
    page.choose_file("#attachments", picture)
    page.wait("/small.png is not a text file/.test(document.querySelector('.notice').innerText)")
    page.choose_file("#attachments", notes)
    page.wait("document.querySelector('.composer .files li')?.innerText.trim() === 'notes.txt'")
    page.evaluate("""(real => { window.fetch = (url, more) => { if (/chat/.test(url)) window.sent = JSON.parse(more.body)
        return real(url, more) } })(window.fetch)""")
    page.instead("v1/chat/completions", 200, "text/event-stream", scripted("Plum."))
    checks.ask("Which word is it?")
    told(page)
    assert page.evaluate("window.sent.messages.at(-1).content") == \
        "Which word is it?\n\nnotes.txt:\n````\nThe secret word is ```plum```.\n````"
    assert not page.texts(".composer .files li")
    page.reload()
    checks.reopen("Which word")
    assert page.evaluate("document.querySelector('.message.user details.file').open") is False
    assert page.evaluate("document.querySelector('.message.user .file pre').textContent") == notes.read_text()
    notes.unlink(), picture.unlink()
    checks.settle(page)


def found_again(checks):
    """Conversations can be renamed, and found by their words."""
    page = checks.page
    checks.reopen("Which word")
    page.evaluate("document.querySelector('.history .current .rename').click()")
    page.fill(".rename-field", "Fruit")
    page.press("Enter")
    page.wait("document.querySelector('.history .current .title')?.innerText === 'Fruit'")
    page.evaluate("document.querySelector('.history .current .rename').click()")
    page.fill(".rename-field", "Vegetable")
    page.press("Escape")
    page.wait("!document.querySelector('.rename-field')")
    page.reload()
    page.wait("document.querySelector('.history .title')")
    before = page.texts(".history .title")
    assert before.count("Fruit") == 1 and "Vegetable" not in before, before
    page.fill("#search", "PLUM")  # in the answer, not in the title
    page.wait("document.querySelectorAll('.history .title').length === 1")
    assert page.texts(".history .title") == ["Fruit"]
    page.fill("#search", "no such words")
    page.wait("/No conversation/.test(document.querySelector('.history').innerText)")
    page.press("Escape")
    page.wait(f"document.querySelectorAll('.history .title').length === {len(before)}")
    checks.settle(page)


def says_why(checks):
    """Enter while an answer streams, a server error, a choice of models, examples, hints on a phone."""
    page = checks.page
    page.click("#new")
    # The partial answer is shown while it streams. (A real engine's may be over before the next question is typed.)
    page.hold_answer(scripted("Well, then").split("\n\n")[0] + "\n\n")
    page.click(".examples button")
    page.wait("document.querySelector('.message.assistant .markdown')?.innerText === 'Well, then'")
    page.fill("#question", "And then?")
    page.press("Enter")
    page.wait("/still answering/.test(document.querySelector('.notice').innerText)")
    page.press("Escape")
    told(page)
    page.instead("v1/chat/completions", 400, "application/json", json.dumps({"error": {"message": "this is `wrong`"}}))
    page.press("Enter")
    page.wait("document.querySelector('.failure p')")
    assert page.text(".failure p") == "This is wrong." and page.text(".failure p code") == "wrong", page.text(".failure")
    page.complaints.clear()  # Chromium logs the 400
    assert page.evaluate("matchMedia('(hover: none)').matches === (getComputedStyle(document.querySelector('.keys')).display === 'none')")
    models = {"data": [{"id": name, "max_model_len": 512} for name in ("small", "large")]}
    page.instead("v1/models", 200, "application/json", json.dumps(models))
    page.reload()
    width = page.wait("document.querySelector('select.model')?.getBoundingClientRect().width")
    assert width < 200, f"the arrow is {width} pixels from the name's beginning"
    page.no_more_instead()
    checks.settle(page)


def live_of_many(checks):
    """Two models with 60 requests each are stacked on a screen or two; no tile arrives late."""
    server = checks.server
    stream = Stream(server, "Once", max_tokens=2)
    assert stream.head() == 200
    server.idle()
    report = server.get("/live.json")[2]
    request = {"id": "r", "state": "decode", "choices": 1, "prompt_tokens": 3, "new_tokens": 4, "age_s": 1.0}
    busy = {**report["models"][0], "requests": [{**request, "id": f"r{i}"} for i in range(60)]}
    page = checks.browser.open("about:blank")
    page.instead("live.json", 200, "application/json", json.dumps({**report, "models": [busy, {**busy, "name": "second", "prefix_queries": 0}]}))
    page.go(checks.url + "live")
    page.wait("document.querySelectorAll('section').length === 2")
    tops = page.evaluate("[...document.querySelectorAll('section')].map(e => e.getBoundingClientRect().top)")
    assert tops[1] - tops[0] < 1300, f"the second model begins {tops[1] - tops[0]} pixels below the first"
    tiles = page.evaluate("[...document.querySelectorAll('section')].map(e => e.querySelectorAll('.tiles > div').length)")
    assert tiles == [8, 8], tiles
    page.instead("live.json", 401, "application/json", json.dumps({"error": {"message": "give the `key`"}}))
    page.wait("document.querySelector('.failure code')?.innerText === 'key'")
    assert re.search(r"Give the key\.", page.text(".failure")), page.text(".failure")
    page.close()
    return f"{tops[1] - tops[0]:.0f} pixels"


def add(suite, checks):
    suite.check("page: heard sentence by sentence", checks.afresh(lambda: heard(checks)))
    suite.check("page: colours of code", checks.afresh(lambda: coloured(checks)))
    suite.check("page: tokens before sending", checks.afresh(lambda: counted(checks)))
    suite.check("page: text files", checks.afresh(lambda: attached(checks)))
    suite.check("page: rename and search", checks.afresh(lambda: found_again(checks)))
    suite.check("page: says why", checks.afresh(lambda: says_why(checks)))
