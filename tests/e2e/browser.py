"""Headless Chromium, driven over its debugging pipe (the DevTools protocol), with no package in between.

  with Browser(program) as browser:
      page = browser.open("http://127.0.0.1:8000/")
      page.wait("document.querySelector('#question')")
"""
import base64
import collections
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chromium-headless-shell")
KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), "Tab": ("Tab", 9, "")}


def find_chromium():
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    def __init__(self, program):
        self.program = program

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="ingot-browser-")
        commands, self.out = os.pipe()
        self.into, answers = os.pipe()
        # The browser reads descriptor 3 and writes 4, so move other descriptors out of the way first.
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (commands, answers)]

        def place():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        # It opens only our own page; its sandbox needs rights that containers do not give.
        self.log = open(os.path.join(self.profile, "log"), "w")
        self.process = subprocess.Popen(
            [self.program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "--no-sandbox", "--disable-gpu",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio", "--password-store=basic", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=(3, 4), preexec_fn=place)
        for fd in (commands, answers, *ends):
            os.close(fd)
        self.held, self.last, self.answers, self.pages = b"", 0, {}, {}
        try:
            self.command("Browser.getVersion")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.profile, ignore_errors=True)

    def send(self, method, session=None, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        return self.last

    def command(self, method, session=None, seconds=30, **parameters):
        number, end = self.send(method, session, **parameters), time.monotonic() + seconds
        while number not in self.answers:
            assert time.monotonic() < end, f"{method}: the browser does not answer"
            self.receive(0.2)
        answer = self.answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def receive(self, seconds):
        """Processes the browser's messages for up to `seconds`."""
        if not select.select([self.into], [], [], seconds)[0]:
            return
        data = os.read(self.into, 1 << 20)
        assert data, f"the browser has ended: {pathlib.Path(self.log.name).read_text()[-1000:]}"
        *messages, self.held = (self.held + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].event(message["method"], message["params"])

    def open(self, url, width=1280, height=800, **options):
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session, target, **options)
        page.prepare(width, height)
        page.go(url)
        return page


class Page:
    """`complaints`: console errors, exceptions, policy violations. `requests`: all URLs."""

    def __init__(self, browser, session, target, password=None):
        self.browser, self.session, self.target, self.password = browser, session, target, password
        self.requests, self.complaints, self.counts = [], [], collections.Counter()
        self.answers = {}  # part of a URL -> (status, content type, body), used instead of the server's answer

    def command(self, method, **parameters):
        return self.browser.command(method, self.session, **parameters)

    def prepare(self, width, height):
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.command(f"{domain}.enable")
        self.size(width, height)
        # Violations are reported to the console as well; this adds the directive.
        self.command("Page.addScriptToEvaluateOnNewDocument",
                     source="addEventListener('securitypolicyviolation', e => console.error('policy', e.violatedDirective, e.blockedURI))")
        if self.password:
            self.command("Fetch.enable", handleAuthRequests=True)

    def event(self, method, of):
        self.counts[method] += 1
        if method == "Network.requestWillBeSent":
            self.requests.append(of["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(of["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and of["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in of["args"]))
        elif method == "Log.entryAdded" and of["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{of['entry']['source']}: {of['entry']['text']} {of['entry'].get('url', '')}")
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append(f"dialog: {of['message']}")
            self.browser.send("Page.handleJavaScriptDialog", self.session, accept=True)
        elif method == "Fetch.requestPaused":
            self.answer_request(of)
        elif method == "Fetch.authRequired":
            self.browser.send("Fetch.continueWithAuth", self.session, requestId=of["requestId"], authChallengeResponse={
                "response": "ProvideCredentials", "username": "anybody", "password": self.password})

    def answer_request(self, of):
        for part, (status, kind, body) in self.answers.items():
            if part in of["request"]["url"]:
                self.browser.send("Fetch.fulfillRequest", self.session, requestId=of["requestId"], responseCode=status,
                                  responseHeaders=[{"name": "Content-Type", "value": kind}], body=base64.b64encode(body.encode()).decode())
                return
        self.browser.send("Fetch.continueRequest", self.session, requestId=of["requestId"])

    def instead(self, part, status, kind, body):
        """From now on requests whose URL contains `part` get this answer instead of the server's."""
        self.answers = {part: (status, kind, body), "health?caught": (200, "text/plain", "caught")}
        self.command("Fetch.enable", patterns=[{"urlPattern": f"*{part}*"}, {"urlPattern": "*health?caught*"}])
        # Interception begins only some time after the browser has answered: wait for that.
        if self.evaluate("location.protocol.startsWith('http')"):
            self.wait("fetch('health?caught').then(answer => answer.text()).then(text => text === 'caught')")

    def hold_answer(self, text):
        """The next answer of a conversation begins with this text and does not end until it is stopped."""
        self.evaluate(f"""(real => {{ window.fetch = (url, more) => {{
            if (!/chat.completions/.test(url)) return real(url, more)
            window.fetch = real
            const body = new ReadableStream({{start(stream) {{
                stream.enqueue(new TextEncoder().encode({json.dumps(text)}))
                more.signal.addEventListener('abort', () => stream.error(more.signal.reason)) }} }})
            return Promise.resolve(new Response(body, {{headers: {{'Content-Type': 'text/event-stream'}}}})) }} }})(window.fetch)""")

    def no_more_instead(self):
        self.answers = {}
        self.command("Fetch.disable")

    def go(self, url):
        loads = self.counts["Page.loadEventFired"]
        failed = self.command("Page.navigate", url=url).get("errorText")
        assert not failed, f"{url}: {failed}"
        self.until(lambda: self.counts["Page.loadEventFired"] > loads, f"{url} does not load")

    def reload(self):
        loads = self.counts["Page.loadEventFired"]
        self.command("Page.reload")
        self.until(lambda: self.counts["Page.loadEventFired"] > loads, "the page does not load again")

    def size(self, width, height, phone=False):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.command("Emulation.setTouchEmulationEnabled", enabled=phone)

    def prefer(self, scheme):
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, script):
        done = self.command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        assert "exceptionDetails" not in done, f"{script}: {done['exceptionDetails']}"
        return done["result"].get("value")

    def until(self, holds, why, seconds=20):
        end = time.monotonic() + seconds
        while not (value := holds()):
            assert time.monotonic() < end, why
            self.browser.receive(0.05)
        return value

    def wait(self, script, seconds=20):
        """Waits until the expression is true; returns its value."""
        try:
            return self.until(lambda: self.evaluate(f"(v => v instanceof Node || v)({script})"), "", seconds)
        except AssertionError as error:
            shown = self.evaluate("document.body.innerText")[-600:]
            raise AssertionError(f"in {seconds} s this did not come true: {script} {error}\nthe page says: {shown}") from None

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText")

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText)")

    def click(self, selector):
        """Clicks with the mouse at its position: a covered, hidden or disabled element cannot be clicked."""
        place = self.wait(f"""(() => {{
            const e = document.querySelector({json.dumps(selector)})
            if (!e || e.disabled) return null
            e.scrollIntoView({{block: 'center'}})
            const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2
            return e.contains(document.elementFromPoint(x, y)) ? [x, y] : null }})()""")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.command("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def fill(self, selector, text):
        """Replaces the contents of a field, as typing does."""
        self.click(selector)
        self.evaluate("document.activeElement.select?.()")
        if text:
            self.command("Input.insertText", text=text)
        else:
            self.press("Delete")

    def press(self, key):
        name, code, text = KEYS.get(key, (key, 46 if key == "Delete" else 0, ""))
        more = {"text": text} if text else {}
        self.command("Input.dispatchKeyEvent", type="keyDown", key=name, code=name, windowsVirtualKeyCode=code, **more)
        self.command("Input.dispatchKeyEvent", type="keyUp", key=name, code=name, windowsVirtualKeyCode=code)

    def choose_file(self, selector, path):
        found = self.command("Runtime.evaluate", expression=f"document.querySelector({json.dumps(selector)})")["result"]["objectId"]
        self.command("DOM.setFileInputFiles", files=[str(path)], objectId=found)

    def nameless(self):
        """The roles of controls that have no accessible name."""
        nodes = self.command("Accessibility.getFullAXTree")["nodes"]
        roles = {"button", "link", "textbox", "combobox", "spinbutton", "checkbox", "meter", "img", "dialog", "region"}
        return [node["role"]["value"] for node in nodes
                if not node["ignored"] and node["role"]["value"] in roles and not node.get("name", {}).get("value", "").strip()]

    def picture(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.browser.command("Target.closeTarget", targetId=self.target)
