"""Finds the replica that has a prompt's beginning, by hashes of leading blocks and the replicas that they were sent to.

This module does not import Ray. ingot.ray's router and the tests use it. The hashes with which an engine names its
KV pages are secret to its process, so blocks are cut from the request's own fields, in the order in which a chat
template would write them. A conversation that grows keeps its leading blocks.
"""
from __future__ import annotations

import hashlib
import json
from collections import Counter, OrderedDict
from typing import Any, Dict, Generic, Hashable, Iterator, List, Mapping, Sequence, Tuple, TypeVar

BLOCK = 64  # characters
MOST_BLOCKS = 1024  # per request; later blocks no longer distinguish replicas
HASH = 8  # bytes

# Fields that determine the prompt, for each protocol, in the order in which a template uses them.
_BEFORE = ("tools", "functions", "documents", "chat_template_kwargs")
_PROMPT = ("system", "instructions", "messages", "input", "prompt", "input_prefix", "content")


def conversation_text(body: Mapping[str, Any]) -> str:
    """Returns the beginning of a request's prompt as text. It is not the rendered template, but it
    is equal for two requests if their rendered texts are equal."""
    parts: List[str] = []
    for field in _BEFORE:
        if body.get(field):
            parts.append(f"{field}={json.dumps(body[field], sort_keys=True, ensure_ascii=False)}\n")
    for field in _PROMPT:
        value = body.get(field)
        if not value:
            continue
        if isinstance(value, str):
            parts.append(value)
        elif isinstance(value, list):
            # A list may have messages, prompts or ids. If there are several prompts, the first one decides.
            several = field == "prompt" and isinstance(value[0], (str, list))
            for item in value[:1] if several else value:
                parts.append(_item_text(item))
        if sum(map(len, parts)) >= BLOCK * MOST_BLOCKS:
            break
    return "".join(parts)


def _item_text(item: Any) -> str:
    if not isinstance(item, dict):
        return item if isinstance(item, str) else json.dumps(item)
    content = item.get("content")
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True, ensure_ascii=False)
    more = {name: value for name, value in item.items() if name not in ("role", "content")}
    rest = json.dumps(more, sort_keys=True, ensure_ascii=False) if more else ""
    return f"\x1e{item.get('role', '')}\x1f{text}{rest}"


def prefix_blocks(key: Sequence[str], text: str, block: int = BLOCK) -> bytes:
    """Returns the hashes of the text's whole blocks, HASH bytes each. Each also covers all text before its block.
    `key`: values that must also be equal for two prompts to share a prefix (the model, the cache salt)."""
    hashed = hashlib.blake2b("\0".join(key).encode("utf-8", "surrogatepass"), digest_size=HASH).digest()
    out = []
    for begin in range(0, min(len(text), block * MOST_BLOCKS) - block + 1, block):
        piece = text[begin : begin + block].encode("utf-8", "surrogatepass")
        hashed = hashlib.blake2b(hashed + piece, digest_size=HASH).digest()
        out.append(hashed)
    return b"".join(out)


def _each(blocks: bytes) -> Iterator[bytes]:
    return (blocks[at : at + HASH] for at in range(0, len(blocks), HASH))


_Replica = TypeVar("_Replica", bound=Hashable)


class PrefixPolicy(Generic[_Replica]):
    """Chooses the replica that has received the longest part of a prompt before, unless it is overloaded.

    A replica's load is the number of requests sent to it that have not ended. It is overloaded if its load is
    more than `slack_share` times the least load plus `slack`. Among the others, the replica with the longest
    matching prefix gets the request. Without a match, the least loaded one does. Among equals, the one that has
    received the fewest requests so far does. `blocks` blocks are stored per replica, and the least recently
    requested ones are dropped first. If `prefix` is false, only loads decide.
    """

    def __init__(self, slack_share: float = 1.25, slack: float = 4, blocks: int = 32768, prefix: bool = True) -> None:
        if slack_share < 1 or slack < 0 or blocks < 1:
            raise ValueError("slack_share is 1 at least, slack 0, blocks 1")
        self.slack_share, self.slack, self.blocks, self.prefix = slack_share, slack, blocks, prefix
        self._known: Dict[_Replica, "OrderedDict[bytes, None]"] = {}
        self._under_way: Dict[str, _Replica] = {}
        self._loads: "Counter[_Replica]" = Counter()
        self._sent: "Counter[_Replica]" = Counter()

    def load(self, replica: _Replica) -> int:
        return self._loads[replica]

    def matching(self, replica: _Replica, blocks: bytes) -> int:
        """Returns the number of leading blocks that the replica has received."""
        known = self._known.get(replica)
        if not known:
            return 0
        count = 0
        for one in _each(blocks):
            if one not in known:
                break
            count += 1
        return count

    def order(self, replicas: Sequence[_Replica], blocks: bytes) -> List[_Replica]:
        """Returns all replicas, the preferred one first. The others are used if it has no capacity."""
        if not replicas:
            return []

        def rank(replica: _Replica) -> Tuple[int, int]:
            return self._loads[replica], self._sent[replica]

        found = sorted(replicas, key=rank)
        if self.prefix and blocks:
            most = self._loads[found[0]] * self.slack_share + self.slack
            matches = {replica: self.matching(replica, blocks) for replica in found if self._loads[replica] <= most}
            best = min(matches, key=lambda replica: (-matches[replica], *rank(replica)))
            if matches[best]:
                found.remove(best)
                found.insert(0, best)
        return found

    def chosen(self, request: str, replica: _Replica) -> None:
        """Called when the request is on its way to the replica. It counts for this replica from now
        on, and no longer for the one where it counted before."""
        before = self._under_way.get(request)
        if before == replica:
            return
        if before is not None:
            self._loads[before] -= 1
        self._under_way[request] = replica
        self._loads[replica] += 1

    def sent(self, request: str, replica: _Replica, blocks: bytes) -> None:
        """Called when the replica has accepted the request, so that its cache has the blocks."""
        self.chosen(request, replica)
        self._sent[replica] += 1
        if not self.prefix:
            return
        known = self._known.setdefault(replica, OrderedDict())
        # Store the last block first, so that the end of a prompt is forgotten before its beginning.
        for one in reversed(list(_each(blocks))):
            known[one] = None
            known.move_to_end(one)
        while len(known) > self.blocks:
            known.popitem(last=False)

    def ended(self, request: str, replica: _Replica) -> None:
        """Called when the request has ended, whatever its outcome. Ignored if it has moved to another replica."""
        if self._under_way.get(request) == replica:
            del self._under_way[request]
            self._loads[replica] -= 1

    def drop(self, request: str) -> None:
        """Drops a request that was on its way and will not be sent."""
        replica = self._under_way.pop(request, None)
        if replica is not None:
            self._loads[replica] -= 1

    def keep(self, replicas: Sequence[_Replica]) -> None:
        """Forgets all replicas that are not in `replicas`."""
        kept = set(replicas)
        for table in (self._known, self._loads, self._sent):
            for gone in [replica for replica in table if replica not in kept]:
                del table[gone]
        self._under_way = {request: replica for request, replica in self._under_way.items() if replica in kept}
