"""check_lsp.py mlir|pdll SERVER [OPTIONS…] [--includes=FOLDER;FOLDER]: tests a language
server over stdio, with an editor's requests.

--includes are passed to the server in a compilation database. A file with a mistake gives a diagnostic at the
right place, one without gives none; definitions and hovers are found.
"""
import json
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading

kind, *command = sys.argv[1:]

MLIR = """kernel.func @scaled(%x: !kernel.activation<64, f32>, %y: !kernel.activation<64, f32>) {
  kernel.rowwise ins(%x : !kernel.activation<64, f32>) outs(%y : !kernel.activation<64, f32>) attributes {extent = #kernel.extent<tokens>} {
  ^bb0(%one: f32):
    %two = arith.addf %one, %one : f32
    kernel.yield %two : f32
  }
  kernel.return
}
"""
PDLL = """#include "dialects/lm/LmOps.td"
#include "passes/patterns/Natives.pdll"

Pattern SumOfTwins {
  let root = op<lm.add>(x: Value, x);
  replace root with op<lm.scale>(x) {factor = attr<"2.0 : f32">};
}
"""
# Each case has a correct text, a text with a mistake, and the word and the line of its diagnostic. Then follow a use
# (line, column) with the line of its definition, and the position of an op with its hover text.
CASES = {
    "mlir": (MLIR, MLIR.replace("%one, %one", "%one, %tow"), ("undeclared", 3), (3, 22), 2, (3, 16), "arith.addf"),
    "pdll": (PDLL, PDLL.replace("op<lm.add>(x: Value, x)", "op<lm.add>(x: Value, y)"), ("undefined reference to", 4), (5, 11), 4, (4, 18), "lm.add"),
}


class Server:
    def __init__(self):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said, self.last, self.diagnostics = queue.Queue(), 0, {}
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while header := self.process.stdout.readline():
            length = 0
            while header.strip():
                if header.lower().startswith(b"content-length:"):
                    length = int(header.split(b":")[1])
                header = self.process.stdout.readline()
            self.said.put(json.loads(self.process.stdout.read(length)))
        self.said.put(None)

    def send(self, **message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def next(self):
        message = self.said.get(timeout=60)
        assert message is not None, f"the server has ended: {self.process.stderr.read().decode()[-1000:]}"
        return message

    def ask(self, method, **parameters):
        self.last += 1
        self.send(id=self.last, method=method, params=parameters)
        while (answer := self.next()).get("id") != self.last:
            self.note(answer)
        assert "error" not in answer, f"{method}: {answer}"
        return answer["result"]

    def note(self, message):
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]

    def open(self, path, text):
        path.write_text(text)
        uri = path.as_uri()
        self.send(method="textDocument/didOpen", params={"textDocument": {"uri": uri, "languageId": kind, "version": 1, "text": text}})
        while uri not in self.diagnostics:
            self.note(self.next())
        return uri, self.diagnostics[uri]


right, wrong, (word, line), use, definition, over, hovered = CASES[kind]
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    if command[-1].startswith("--includes="):
        database, includes = folder / "pdll.yml", command[-1].partition("=")[2]
        database.write_text("".join(f'--- !FileInfo:\n  filepath: "{folder}/{name}.pdll"\n  includes: "{includes}"\n' for name in ("right", "wrong")))
        command[-1] = f"--pdll-compilation-database={database}"
    server = Server()
    abilities = server.ask("initialize", processId=None, rootUri=folder.as_uri(), capabilities={})["capabilities"]
    assert abilities["definitionProvider"] and abilities["hoverProvider"], abilities
    server.send(method="initialized", params={})
    uri, found = server.open(folder / f"wrong.{kind}", wrong)
    assert any(word in one["message"] and one["range"]["start"]["line"] == line for one in found), f"a mistake is not seen: {found}"
    uri, found = server.open(folder / f"right.{kind}", right)
    assert not found, f"a file without mistakes: {found}"
    at = lambda place: {"textDocument": {"uri": uri}, "position": {"line": place[0], "character": place[1]}}
    places = server.ask("textDocument/definition", **at(use))
    assert [place["range"]["start"]["line"] for place in places] == [definition], places
    says = server.ask("textDocument/hover", **at(over))
    assert hovered in json.dumps(says), says
    server.ask("shutdown")
    server.send(method="exit")
    assert server.process.wait(timeout=30) == 0, server.process.stderr.read().decode()[-500:]
print("fine")
