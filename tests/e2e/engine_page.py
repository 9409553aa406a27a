"""Tests the page of `ingot inspect --html` in Chromium: every view, in both themes and two
widths, for engines of several kinds.

Screenshots are written to page/ next to the JUnit file.
"""
import base64
import contextlib
import json
import pathlib
import subprocess
import sys

import browser as browsers
import suite as suites

TESTS = pathlib.Path(__file__).parent.parent
NAME = "</script><script>window.evil = 1</script><img src=x onerror='window.evil = 2'>"
VIEWS = ("model", "arena", "roofline", "weights", "evidence")


class Checks:
    def __init__(self, ingot, browser, pictures):
        self.ingot, self.browser, self.pictures = ingot, browser, pictures

    @contextlib.contextmanager
    def opened(self, engine, *options, width=1400, height=900, at=""):
        """Opens the engine's page; checks that there are no complaints and that it requests no other file."""
        path = self.ingot.work / "engine.html"
        self.ingot("inspect", engine, "--html", path, *options)
        page = self.browser.open(f"file://{path}{at}", width, height)
        page.wait("document.querySelector('#tabs button')")
        yield page
        assert not page.complaints, f"the console: {page.complaints}"
        other = [url for url in page.requests if not url.startswith(f"file://{path}")]
        assert not other, f"it asks for {other}"
        self.browser.command("Target.closeTarget", targetId=page.target)

    def picture(self, page, name):
        data = page.command("Page.captureScreenshot", format="png")["data"]
        (self.pictures / f"engine-{name}.png").write_bytes(base64.b64decode(data))

    # ------------------------------------------------------------- checks

    def views(self, engine):
        """Checks that each view has its contents, without sideways scrolling, in either theme and width."""
        with self.opened(engine) as page:
            for theme in ("light", "dark"):
                page.prefer(theme)
                colours = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.documentElement).backgroundColor]")
                light = [sum(map(int, colour[4:-1].split(",")[:3])) for colour in colours]
                assert (light[0] < light[1]) == (theme == "light"), (theme, colours)
                for width in (1400, 400):
                    page.size(width, 900)
                    for view in VIEWS:
                        page.click(f"#tab-{view}")
                        page.wait(f"document.querySelector('#tab-{view}').getAttribute('aria-selected') === 'true'")
                        drawn = {"model": ".launch b", "arena": "svg.arena rect.hot[rx]", "roofline": "svg.roofline circle", "weights": "#weights tbody tr",
                                 "evidence": "#evidence td"}[view]
                        page.wait(f"document.querySelectorAll({json.dumps(drawn)}).length > 2")
                        wide = page.evaluate("document.documentElement.scrollWidth")
                        assert wide <= width, f"{view} is {wide} wide in a window of {width}"
                        self.picture(page, f"{view}-{theme}-{width}")
            size = page.evaluate("document.documentElement.outerHTML.length")
            return f"{page.evaluate('performance.getEntriesByType(`navigation`)[0].domComplete | 0')} ms, {size // 1000} kB"

    def launches(self, engine):
        """A launch shows its region, kernel and code; specialisations and steps can be
        chosen; the address leads back to it."""
        with self.opened(engine) as page:
            page.evaluate("[...document.querySelectorAll('.launch')].find(e => e.innerText.startsWith('gate_up_0')).id = 'gate'")
            page.click("#gate b")
            page.wait("document.querySelector('.details h2').innerText === 'gate_up_0'")
            page.wait("[...document.querySelectorAll('.details h3')].some(e => e.innerText === 'Machine code')")
            page.wait("document.querySelectorAll('.details pre').length === 3")
            region, kernel, code = page.texts(".details pre")
            assert 'lm.fused "gate_up"' in region and "lm.activation silu" in region, region
            assert kernel.startswith("kernel.func @gate_up_0("), kernel
            assert "retq" in code and "%ymm" in code, code[:300]
            assert "Limits: measured" in page.text("#view"), page.text("#view")[:500]
            rows = dict(line.split("\t", 1) for line in page.text(".details table").splitlines() if "\t" in line)
            assert {"bytes", "of weights", "operations", "time, predicted", "share of the step"} <= set(rows), rows
            times = page.text(".facts")
            page.evaluate("[...document.querySelectorAll('.group button')].find(e => e.innerText.startsWith('prompt')).click()")
            page.wait(f"document.querySelector('.facts').innerText !== {json.dumps(times)}")
            # The specialisation of another mode has other launches.
            case = "[...document.querySelectorAll('#view .cases button')].find(e => e.getAttribute('aria-pressed') === 'false')"
            words = page.evaluate(f"{case}.innerText")
            page.evaluate(f"{case}.click()")
            page.wait(f"[...document.querySelectorAll('.cases button[aria-pressed=true]')].some(e => e.innerText === {json.dumps(words)})")
            place = page.evaluate("location.hash")
            name = page.text(".details h2")
        with self.opened(engine, at=place) as page:
            page.wait(f"document.querySelector('.details h2').innerText === {json.dumps(name)}")

    def searches(self, engine):
        """Searches by keyboard: launches, weights, lines of IR and of code."""
        with self.opened(engine) as page:
            def search(text, kind):
                page.press("/")
                page.wait("document.activeElement.id === 'search'")
                page.fill("#search", text)
                page.wait(f"[...document.querySelectorAll('#found h4')].some(e => e.textContent === {json.dumps(kind)})")

            search("residual_1", "Launches")
            page.press("ArrowDown")
            page.wait("document.querySelectorAll('.hit')[1].getAttribute('aria-selected') === 'true'")
            page.press("ArrowUp")
            page.press("Enter")
            page.wait("document.querySelector('.details h2').innerText === 'residual_1'")
            search("math.exp", "IR of kernels")
            page.press("Enter")
            page.wait("document.querySelector('pre .here')?.innerText.includes('math.exp')")
            search("retq", "Code")
            page.press("Enter")
            page.wait("document.querySelector('pre .here')?.innerText.includes('retq')")
            search("blk.3.ffn_down", "Weights")
            page.press("Enter")
            page.wait("document.querySelectorAll('#weights tbody tr').length === 1")
            search("lm-fuse-gate-up", "Evidence")
            page.press("Escape")
            page.wait("document.querySelector('#found').hidden")

    def tables(self, engine):
        """Filters and sorts the weights; checks that the theme survives a reload."""
        with self.opened(engine) as page:
            page.click("#tab-weights")
            page.fill("#weight-filter", "ffn q4_1")
            page.wait("document.querySelectorAll('#weights tbody tr').length === 3")
            page.click("#weights th")
            names = page.texts("#weights tbody td:first-child")
            assert names == sorted(names), names
            page.click("#weights th")
            page.wait(f"document.querySelector('#weights tbody td').innerText === {json.dumps(names[-1])}")
            page.click("#theme")
            page.wait("document.documentElement.dataset.theme === 'light'")
            page.reload()
            page.wait("document.documentElement.dataset.theme === 'light'")
            page.evaluate("localStorage.clear()")

    def hostile(self, engine):
        """Checks that a model's name is treated as text."""
        with self.opened(engine) as page:
            for view in VIEWS:
                page.click(f"#tab-{view}")
            assert page.text("#name") == NAME, page.text("#name")
            assert page.evaluate("document.title") == NAME
            assert page.evaluate("window.evil") is None and page.evaluate("document.querySelectorAll('img').length") == 0
            assert page.evaluate("document.querySelectorAll('script').length") == 4

    def kinds(self, engines):
        """Experts, recurrent states, GPUs, several programs, and engines of older
        compilers: all views render without complaints."""
        for name, engine in engines.items():
            with self.opened(engine, width=400, height=800) as page:
                programs = page.evaluate("document.querySelectorAll('#program option').length") or 1
                for program in range(programs):
                    if programs > 1:
                        page.evaluate(f"(s => {{ s.value = {program}; s.dispatchEvent(new Event('change')) }})(document.querySelector('#program'))")
                    for view in VIEWS:
                        page.click(f"#tab-{view}")
                        page.wait("document.querySelector('#view').innerText.length > 20")
                        assert "undefined" not in page.text("#view") and "NaN" not in page.text("#view"), (name, view, page.text("#view"))
                        wide = page.evaluate("document.documentElement.scrollWidth")
                        assert wide <= 400, f"{name}: {view} is {wide} wide"
                page.size(1400, 900)
                page.click("#tab-model")
                if name == "two":  # the second program is shown, the GPU's
                    page.wait("[...document.querySelectorAll('.details pre')].some(e => e.innerText.includes('EXPORT_KERNEL'))")
                self.picture(page, f"of-{name}")


def add(suite, ingot, checkpoint, pictures):
    program = browsers.find_chromium()
    if not program:
        def skip():
            raise suites.Skip("there is no Chromium; ./dev setup installs Debian's")
        return suite.check("engine page: in Chromium", skip)
    pictures.mkdir(parents=True, exist_ok=True)
    engine = checkpoint.engines["fast"]
    stored = TESTS / "engines"
    engines = {"gpu": stored / "v2.0-gpu.ingot", "seed": stored / "v2.0-seed.ingot"}

    def compiled():
        for name in ("qwen3moe-gguf", "lfm2-gguf-mixed"):
            engines[name] = ingot.work / f"page-{name}.ingot"
            ingot("compile", TESTS / "checkpoints" / "tiny" / name / "model.gguf", "-o", engines[name], "--target", "cpu:avx2")
        # Its name looks like HTML, and it has two programs.
        subprocess.run([sys.executable, TESTS / "tools" / "make_tiny.py", ingot.work / "hostile.gguf", "--name", NAME], check=True)
        engines["two"] = ingot.work / "hostile.ingot"
        ingot("compile", ingot.work / "hostile.gguf", "-o", engines["two"], "--target", "cpu:avx2", "--target", "cuda-emulator:sm_80")

    if not suite.check("engine page: engines of all kinds", compiled):
        return None
    with browsers.Browser(program) as browser:
        checks = Checks(ingot, browser, pictures)
        suite.check("engine page: all views, two themes, two widths", lambda: checks.views(engine))
        suite.check("engine page: launches, cases, steps", lambda: checks.launches(engine))
        suite.check("engine page: search by keyboard", lambda: checks.searches(engine))
        suite.check("engine page: filter, sort, theme", lambda: checks.tables(engine))
        suite.check("engine page: a hostile name stays text", lambda: checks.hostile(engines["two"]))
        suite.check("engine page: experts, states, GPUs, old engines", lambda: checks.kinds(engines))
    return None
