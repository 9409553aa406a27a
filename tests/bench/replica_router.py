"""A small router for measurements: the policies of `ingot simulate --router` in front of real servers.

It does what runtime/schedule/simulate/Router.cpp does, in asyncio: load is the requests that were sent and have not
ended, ties go to the replica that was chosen longest ago, and `prefix` remembers hashes of blocks of 16 ids. Not a
product: it reads ids from the body, requires a Content-Length, and opens a connection for each request.

    replica_router.py --port 8000 --policy prefix http://127.0.0.1:8001 http://127.0.0.1:8002
"""
import argparse
import asyncio
import collections
import hashlib
import json
import random
import resource
import signal
import sys

BLOCK, BLOCKS, FACTOR, SLACK = 16, 32768, 1.25, 4
SEED = 1


class Replica:
    def __init__(self, url):
        host, port = url.removeprefix("http://").split(":")
        self.host, self.port = host, int(port)
        self.load, self.chosen, self.requests = 0, 0, 0
        self.sent = collections.OrderedDict()  # block hashes, most recently sent last

    def remember(self, chain):
        for block in reversed(chain):
            self.sent[block] = None
            self.sent.move_to_end(block)
        while len(self.sent) > BLOCKS:
            self.sent.popitem(last=False)

    def matched(self, chain):
        count = 0
        while count < len(chain) and chain[count] in self.sent:
            count += 1
        return count


def blocks(ids):
    chain, name = [], b""
    for at in range(0, len(ids) - BLOCK + 1, BLOCK):
        part = b"".join(one.to_bytes(4, "little") for one in ids[at:at + BLOCK])
        name = hashlib.blake2b(name + part, digest_size=8).digest()
        chain.append(name)
    return chain


class Router:
    def __init__(self, policy, urls):
        self.policy, self.replicas, self.sends = policy, [Replica(url) for url in urls], 0
        self.random = random.Random(SEED)

    def choose(self, ids):
        def order(one):
            return one.load, one.chosen
        if self.policy == "random":
            return self.random.choice(self.replicas)
        if self.policy == "round-robin":
            return min(self.replicas, key=lambda one: one.chosen)
        least = min(self.replicas, key=order)
        if self.policy == "least":
            return least
        chain = blocks(ids)
        free = [one for one in self.replicas if one.load <= least.load * FACTOR + SLACK]
        best = min(free, key=lambda one: (-one.matched(chain), *order(one)))
        best.remember(chain)
        return best

    def send(self, ids):
        chosen = self.choose(ids)
        self.sends += 1
        chosen.chosen, chosen.load, chosen.requests = self.sends, chosen.load + 1, chosen.requests + 1
        return chosen

    async def serve(self, reader, writer):
        chosen = upstream = None
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")
                           if line.lower().startswith(b"content-length:")), 0)
            body = await reader.readexactly(length)
            ids = json.loads(body)["prompt"] if length and self.policy == "prefix" else []
            chosen = self.send(ids)
            answers, upstream = await asyncio.open_connection(chosen.host, chosen.port)
            upstream.write(head + body)
            while piece := await answers.read(65536):
                writer.write(piece)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # one side has disconnected; the other sees the end of its stream
        finally:
            if chosen:
                chosen.load -= 1
            for one in (writer, upstream):
                if one:
                    one.close()


async def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--policy", choices=("random", "round-robin", "least", "prefix"), default="prefix")
    parser.add_argument("servers", nargs="+")
    given = parser.parse_args()
    router = Router(given.policy, given.servers)
    server = await asyncio.start_server(router.serve, "127.0.0.1", given.port)
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    print("ready", flush=True)
    await end.wait()
    server.close()
    used = resource.getrusage(resource.RUSAGE_SELF)
    json.dump({"cpu_s": used.ru_utime + used.ru_stime, "requests": [one.requests for one in router.replicas]},
              sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
