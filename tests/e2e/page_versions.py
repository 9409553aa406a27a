"""Tests what a conversation keeps: versions of its answers and questions, its place at the
top of the list; also how formulas appear."""
import json

from page_talk import scripted, told

FORMULAS = r"""Euler: $e^{i\pi}+1=0$, for $5 or $6 a piece, `$x$` in code.

$$
\int_0^1 x\,dx = \frac12
$$

So \(a<b\), $\frac{$ is none, and $\href{javascript:window.evil=1}{x}$ no link.
"""


def answer(checks, text):
    checks.page.instead("v1/chat/completions", 200, "text/event-stream", scripted(text))


def said(page):
    return page.texts(".message .plain, .message .markdown")


def versions(checks):
    """Another answer or question becomes a version of the first; each version has its own
    continuation; a reload changes nothing."""
    page = checks.page
    page.click("#new")
    answer(checks, "First.")
    checks.ask("One?")
    told(page)
    assert not page.evaluate("document.querySelector('.versions')"), "there is one version"
    answer(checks, "Second.")
    page.click(".again")
    page.wait("document.querySelector('.versions span')?.innerText === '2/2'")
    told(page)
    assert said(page) == ["One?", "Second."], said(page)
    page.click(".versions button:first-child")
    page.wait("document.querySelector('.message.assistant .markdown').innerText === 'First.'")
    answer(checks, "Third.")
    checks.ask("More?")
    told(page)
    answer(checks, "Fourth.")
    page.click(".message.user:nth-of-type(3) .edit")
    page.fill(".editor textarea", "Much more?")
    page.click(".editor .main")
    page.wait("[...document.querySelectorAll('.markdown')].at(-1)?.innerText === 'Fourth.'")
    told(page)
    assert said(page) == ["One?", "First.", "Much more?", "Fourth."], said(page)
    assert page.texts(".versions span") == ["1/2", "2/2"], page.texts(".versions span")
    page.picture(checks.pictures / "versions.png")
    page.prefer("dark")
    page.picture(checks.pictures / "versions-dark.png")
    page.prefer("light")
    assert not page.nameless(), f"nameless: {page.nameless()}"
    page.click(".versions button:last-child")  # the second answer, which has no continuation
    page.wait("document.querySelectorAll('.message').length === 2")
    assert said(page) == ["One?", "Second."], said(page)
    page.reload()
    page.wait("document.querySelector('.history .title')")
    checks.reopen("One")
    page.wait("document.querySelector('.versions span')?.innerText === '2/2'")
    page.click(".versions button:first-child")
    page.wait("document.querySelectorAll('.message').length === 4")
    assert said(page) == ["One?", "First.", "Much more?", "Fourth."], said(page)
    page.click(".message.user:nth-of-type(3) .versions button:first-child")
    page.wait("document.querySelectorAll('.message')[2]?.innerText.includes('More?')")
    assert said(page) == ["One?", "First.", "More?", "Third."], said(page)
    # A failed answer does not become a version.
    page.instead("v1/chat/completions", 503, "application/json", '{"error": {"message": "no"}}')
    page.click(".again")
    page.wait("document.querySelector('.failure')")
    assert said(page) == ["One?", "First.", "More?", "Third."], said(page)
    page.complaints.clear()  # Chromium logs the 503
    page.no_more_instead()
    checks.settle(page)


def pinned(checks):
    page = checks.page
    page.wait("document.querySelectorAll('.history .title').length > 2")
    titles = page.texts(".history .title")
    page.evaluate("document.querySelectorAll('.history .pin')[2].click()")
    first = "document.querySelector('.history .title').innerText === "
    page.wait(first + json.dumps(titles[2]))
    page.reload()
    page.wait("document.querySelectorAll('.history .title').length > 2")
    assert page.texts(".history .title") == [titles[2], *titles[:2], *titles[3:]], page.texts(".history .title")
    page.picture(checks.pictures / "pinned.png")
    page.evaluate("document.querySelector('.history .pin').click()")
    page.wait(first + json.dumps(titles[0]))
    checks.settle(page)


def formulas(checks):
    """Formulas are drawn by the browser; the code for them is fetched with the first one; currency signs stay
    text."""
    page = checks.page
    page.click("#new")
    assert not [url for url in page.requests if "katex" in url], "it is fetched before it is needed"
    answer(checks, FORMULAS)
    checks.ask("Show me formulas.")
    told(page)
    page.wait("document.querySelectorAll('.formula math').length >= 3")
    text = page.text(".message.assistant .markdown")
    assert "for $5 or $6 a piece" in text and page.text(".message.assistant code") == "$x$", text
    assert page.evaluate("document.querySelector('.formula.block math').getAttribute('display')") == "block"
    assert page.evaluate("document.querySelector('.formula.block mfrac') !== null")
    checks.expect_evil_asleep(page)
    assert len([url for url in page.requests if "katex" in url]) == 1, page.requests
    page.picture(checks.pictures / "formulas.png")
    page.size(390, 844, phone=True)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390, f"the page is {wide} wide on a phone of 390"
    page.picture(checks.pictures / "formulas-phone.png")
    page.size(1280, 800)
    page.no_more_instead()
    checks.settle(page)


def add(suite, checks):
    suite.check("page: versions of answers and questions", checks.afresh(lambda: versions(checks)))
    suite.check("page: pins", checks.afresh(lambda: pinned(checks)))
    suite.check("page: formulas", checks.afresh(lambda: formulas(checks)))
