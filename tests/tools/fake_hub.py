"""A hub on loopback, for tests: the requests that `ingot` and huggingface_hub make, and
faults on demand. Standard library only.

  with Hub() as hub:
      hub.add("tiny/llama", {"config.json": b"…", "model.safetensors": b"…"})
      hub.faults["model.safetensors"] = [("cut", 1000), ("status", 429, {"Retry-After": "1"})]
      subprocess.run(…, env={"HF_ENDPOINT": hub.endpoint, …})
      hub.requests      all requests: Request(server, method, path, headers)

There are two servers, as with real hubs: the hub itself, and a storage server on another port, to which it redirects
requests for weights. A fault is consumed by one request for the bytes of its file ("api" stands for the list of
files, "head" for a HEAD request of any file):

  ("cut", N)             N bytes of the body, then the connection ends
  ("status", S, HEADERS) an error
  ("whole",)             the range is ignored: 200 and all bytes
  ("wrong",)             other bytes of the same length
  ("stall", N)           N bytes, then nothing until the test says hub.go()
"""
import collections
import hashlib
import http.server
import json
import re
import threading
import urllib.parse

Request = collections.namedtuple("Request", "server method path headers")
LARGE = (".safetensors", ".gguf", ".bin")


def etag_of(path, data):
    if path.endswith(LARGE):
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Repository:
    def __init__(self, files, token):
        self.commits = {}  # commit -> files
        self.revisions = {}
        self.token = token  # required for access; None: open to all
        self.gated = False
        self.push(files)

    def push(self, files, revision="main"):
        commit = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        self.commits[commit] = files
        self.revisions[revision] = commit
        return commit


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that disconnected, as tests do


class Hub:
    def __init__(self):
        self.repositories, self.faults, self.requests = {}, {}, []
        self.relative_redirects = False  # small files are behind a redirect, as on the public hub
        self.lock, self.gate = threading.Lock(), threading.Event()
        self.servers = [self.serve("hub"), self.serve("storage")]
        self.endpoint, self.storage = (f"http://127.0.0.1:{server.server_port}" for server in self.servers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.gate.set()
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def add(self, name, files, token=None):
        self.repositories[name] = Repository(files, token)
        return self.repositories[name]

    def go(self):
        self.gate.set()

    def clear(self):
        self.requests.clear()
        self.faults.clear()

    def fetched(self, path):
        """The requests for the bytes of a file, at the server that has it."""
        server = "storage" if path.endswith(LARGE) else "hub"
        return [one for one in self.requests
                if one.server == server and one.method == "GET" and one.path.split("?")[0].endswith("/" + path)]

    def serve(self, name):
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                with hub.lock:
                    hub.requests.append(Request(name, self.command, self.path, dict(self.headers)))
                (hub.answer_hub if name == "hub" else hub.answer_storage)(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def take_fault(self, name):
        with self.lock:
            return self.faults[name].pop(0) if self.faults.get(name) else None

    def answer_hub(self, client):
        path = urllib.parse.unquote(client.path.split("?")[0])
        api = re.fullmatch(r"/api/models/(.+)/revision/(.+)", path) or re.fullmatch(r"/api/models/([^/]+/[^/]+)", path)
        file = re.fullmatch(r"/(.+?)/resolve/([^/]+)/(.+)", path) or re.fullmatch(r"/cache/(.+?)/([0-9a-f]{40})/(.+)", path)
        tree = re.fullmatch(r"/api/models/(.+)/tree/([^/]+)", path)  # used by huggingface_hub
        found = api or file or tree
        repository = found and self.repositories.get(found[1])
        if fault := self.take_fault("api" if api else "head" if client.command == "HEAD" else ""):
            return send(client, fault[1], fault[2])
        if repository is None:
            return send(client, 401, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
        opens = repository.token is None or client.headers.get("Authorization") == f"Bearer {repository.token}"
        if not opens and repository.gated and file:
            return send(client, 401, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to this model is restricted"})
        if not opens and not repository.gated:
            return send(client, 401, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
        revision = found[2] if found.re.groups > 1 else "main"
        commit = repository.revisions.get(revision, revision)
        if commit not in repository.commits:
            return send(client, 404, {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id: " + revision})
        files = repository.commits[commit]
        if api:
            siblings = [{"rfilename": name} | ({"size": len(data)} if "blobs=true" in client.path else {}) for name, data in files.items()]
            return send(client, 200, {"Content-Type": "application/json"},
                        json.dumps({"id": found[1], "modelId": found[1], "sha": commit, "private": False, "siblings": siblings}).encode())
        if tree:
            return send(client, 200, {"Content-Type": "application/json"}, json.dumps(
                [{"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()} |
                 ({"lfs": {"oid": etag_of(name, data), "size": len(data), "pointerSize": 130}} if name.endswith(LARGE) else {})
                 for name, data in files.items()]).encode())
        name = found[3]
        if name not in files:
            return send(client, 404, {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found", "X-Repo-Commit": commit})
        data = files[name]
        headers = {"X-Repo-Commit": commit, "ETag": '"' + etag_of(name, data) + '"'}
        if name.endswith(LARGE):
            return send(client, 302, headers | {"ETag": '"of-the-redirect"', "X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(len(data)),
                                                "Location": f"{self.storage}/{found[1]}/{commit}/{name}?signature=s"})
        if self.relative_redirects and not path.startswith("/cache/"):
            return send(client, 307, headers | {"X-Linked-Size": str(len(data)), "Location": f"/cache/{found[1]}/{commit}/{name}"})
        self.send_bytes(client, name, data, headers)

    def answer_storage(self, client):
        path = urllib.parse.unquote(client.path.split("?")[0])
        found = re.fullmatch(r"/(.+?)/([0-9a-f]{40})/(.+)", path)
        self.send_bytes(client, found[3], self.repositories[found[1]].commits[found[2]][found[3]], {"ETag": '"of-the-storage"'})

    def send_bytes(self, client, name, data, headers):
        fault = self.take_fault(name) if client.command == "GET" else None
        kind = fault and fault[0]
        if kind == "status":
            return send(client, fault[1], fault[2])
        if kind == "wrong":
            data = data[:-1] + bytes([data[-1] ^ 1])
        first, last = 0, len(data) - 1
        status = 200
        if (range_ := re.fullmatch(r"bytes=(\d+)-(\d*)", client.headers.get("Range", ""))) and kind != "whole":
            first, last = int(range_[1]), min(int(range_[2] or last), last)
            if first > last:
                return send(client, 416, {"Content-Range": f"bytes */{len(data)}"})
            status = 206
            headers = headers | {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
        body = data[first:last + 1]
        if kind in ("cut", "stall"):
            client.send_response(status)
            for key, value in (headers | {"Content-Length": str(len(body))}).items():
                client.send_header(key, value)
            client.end_headers()
            client.wfile.write(body[:fault[1]])
            client.wfile.flush()
            if kind == "stall":
                self.gate.wait(60)
            client.close_connection = True
            return
        send(client, status, headers, body)


def send(client, status, headers, body=b""):
    client.send_response(status)
    for key, value in headers.items():
        client.send_header(key, value)
    client.send_header("Content-Length", str(len(body)))
    client.end_headers()
    if client.command != "HEAD":
        client.wfile.write(body)
