"""A disassembled kernel as a graph: instructions, blocks, loops and data flow.

The output of nvdisasm (`nvdisasm -c CUBIN`) is the only description of SASS, so this parses its text:

        /*0a50*/              @!P0 LDG.E.NA.128.CONSTANT R24, desc[UR4][R58.64] ;
   .L_x_181:
        /*0970*/                   BSYNC B0 ;

Loops are natural loops: the blocks that reach a branch to a block that dominates it. Convergence barriers
(BSSY, BSYNC) do not branch; a call returns.
"""
import re
from dataclasses import dataclass, field

_LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P[0-9T])\s+)?([A-Z][A-Z0-9_.]*)\s*(.*?)\s*;")
_LABEL = re.compile(r"^(\.L_x_\d+|\$[\w$]+):")
_TARGET = re.compile(r"`\(([^)]+)\)")
_REGISTER = re.compile(r"(?<![\w.])(R\d+|UR\d+)(\.64)?")
_ADDRESS = re.compile(r"\[[^\]]*\]")


@dataclass
class Instruction:
    address: int
    guard: str  # "P0", "!P0", "" for always
    opcode: str  # with modifiers: "LDG.E.128"
    operands: str

    @property
    def name(self):
        return self.opcode.split(".")[0]

    def modifiers(self):
        return self.opcode.split(".")[1:]

    def width(self):
        """The bytes that a load or store moves per thread."""
        for modifier in self.modifiers():
            if modifier in ("U8", "S8"):
                return 1
            if modifier in ("U16", "S16"):
                return 2
            if modifier in ("64", "128"):
                return int(modifier) // 8
        return 4

    def is_multiplication(self):
        return self.name in ("HMMA", "IMMA", "QMMA", "HGMMA", "QGMMA", "IGMMA")

    def is_wgmma(self):
        return self.name in ("HGMMA", "QGMMA", "IGMMA")

    def brings_tiles(self):
        """Whether it copies into a ring in shared memory: TMA, bulk copies, cp.async."""
        return self.name in ("UTMALDG", "UBLKCP", "LDGSTS")

    def destinations(self):
        """The numbers of the general-purpose registers that it writes."""
        if self.name in _NO_RESULT or self.is_wgmma():
            return ()
        first = self.operands.split(",")[0].strip()
        found = re.fullmatch(r"R(\d+)", first)
        if not found:
            return ()
        count = self.width() // 4 if self.name in ("LDG", "LDS", "LDC", "LD", "LDL") else 1
        if self.name in ("HMMA", "QMMA", "IMMA"):
            count = 4
        elif self.name in ("CS2R", "DADD", "DMUL", "DFMA") or {"WIDE", "64"} & set(self.modifiers()):
            count = 2
        elif self.name == "LDSM":
            count = {"2": 2, "4": 4}.get(self.modifiers()[-1], 1)
        return tuple(range(int(found[1]), int(found[1]) + max(count, 1)))

    def sources(self):
        """The registers that it reads, approximately: a pair or four where the operand's width implies it."""
        parts = self.operands if self.name in _NO_RESULT else ",".join(self.operands.split(",")[1:])
        found = []
        for register, pair in _REGISTER.findall(parts):
            if register.startswith("R"):
                number = int(register[1:])
                found += range(number, number + (2 if pair or {"WIDE"} & set(self.modifiers()) else 1))
        return found

    def stored(self):
        """The registers whose values a store writes to memory: the operands after its address."""
        behind = self.operands.rsplit("]", 1)[-1]
        found = re.search(r"\bR(\d+)\b", behind)
        if not found:
            return ()
        return tuple(range(int(found[1]), int(found[1]) + max(self.width() // 4, 1)))

    def place(self):
        """(base of the address; offset in bytes) of a load or store."""
        address = _ADDRESS.findall(self.operands)[-1]
        offset = re.search(r"([+-])(-?)0x([0-9a-f]+)\]", address)
        if not offset:
            return address, 0
        value = int(offset[3], 16) * (-1 if (offset[1] == "-") != bool(offset[2]) else 1)
        return address[: offset.start()] + "]", value


_NO_RESULT = {"STG", "STS", "ST", "STL", "RED", "BRA", "EXIT", "BAR", "BSYNC", "BSSY", "LDGSTS", "SYNCS", "MEMBAR",
              "CCTL", "CALL", "RET", "WARPSYNC", "UTMALDG", "UBLKCP", "NOP", "DEPBAR", "R2UR"}


@dataclass
class Block:
    number: int
    instructions: list = field(default_factory=list)
    next: list = field(default_factory=list)  # successor blocks
    before: list = field(default_factory=list)


@dataclass
class Loop:
    head: int
    blocks: set


class Kernel:
    def __init__(self, symbol, instructions, labels):
        self.symbol = symbol
        self.instructions = instructions
        self._make_blocks(labels)
        self._find_dominators()
        self._find_loops()

    def _make_blocks(self, labels):
        addresses = [i.address for i in self.instructions]
        starts = set(addresses[:1]) | {a for a in labels.values() if a in set(addresses)}
        for at, instruction in enumerate(self.instructions):
            if instruction.name in ("BRA", "EXIT", "RET", "BRX", "BRXU", "CALL", "KILL") and at + 1 < len(addresses):
                starts.add(addresses[at + 1])
        self.blocks, number_at = [], {}
        for instruction in self.instructions:
            if instruction.address in starts:
                number_at[instruction.address] = len(self.blocks)
                self.blocks.append(Block(len(self.blocks)))
            self.blocks[-1].instructions.append(instruction)
        for block in self.blocks:
            last = block.instructions[-1]
            named = [labels[t] for t in _TARGET.findall(last.operands) if t in labels]
            falls = True
            if last.name in ("BRA", "BRX", "BRXU"):
                block.next += [number_at[a] for a in named if a in number_at]
                # `BRA P1, label`, `BRA.DIV UR4, label`: conditional without a guard
                conditional = last.guard or "," in last.operands.split("`")[0]
                falls = bool(conditional)
            elif last.name in ("EXIT", "RET", "KILL"):
                falls = bool(last.guard)
            if falls and block.number + 1 < len(self.blocks):
                block.next.append(block.number + 1)
            block.next = list(dict.fromkeys(block.next))
        for block in self.blocks:
            for follower in block.next:
                self.blocks[follower].before.append(block.number)

    def _order(self):
        """The reachable blocks in reverse postorder."""
        seen, order, stack = {0}, [], [(0, iter(self.blocks[0].next))]
        while stack:
            block, followers = stack[-1]
            for follower in followers:
                if follower not in seen:
                    seen.add(follower)
                    stack.append((follower, iter(self.blocks[follower].next)))
                    break
            else:
                order.append(block)
                stack.pop()
        return order[::-1]

    def _find_dominators(self):
        """Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm."""
        self.order = self._order()
        place = {block: at for at, block in enumerate(self.order)}
        self.dominator = {0: 0}
        changed = True
        while changed:
            changed = False
            for block in self.order[1:]:
                best = None
                for other in self.blocks[block].before:
                    if other not in self.dominator:
                        continue
                    if best is None:
                        best = other
                        continue
                    while best != other:
                        while place[best] > place[other]:
                            best = self.dominator[best]
                        while place[other] > place[best]:
                            other = self.dominator[other]
                if self.dominator.get(block) != best:
                    self.dominator[block] = best
                    changed = True

    def dominates(self, above, block):
        while block != above and block != 0:
            block = self.dominator[block]
        return block == above

    def _find_loops(self):
        loops = {}
        self.back_edges = set()
        for block in self.order:
            for head in self.blocks[block].next:
                if not self.dominates(head, block) or "ANY" in self.blocks[block].instructions[-1].modifiers():
                    continue  # BRA.U.ANY: ptxas handles the threads of a warp one by one (UTMALDG)
                self.back_edges.add((block, head))
                body, work = loops.setdefault(head, {head}), [block]
                while work:
                    member = work.pop()
                    if member not in body:
                        body.add(member)
                        work += [b for b in self.blocks[member].before if b in self.dominator]
        self.loops = [Loop(head, body) for head, body in loops.items()]

    def instructions_of(self, blocks):
        return [i for number in sorted(blocks) for i in self.blocks[number].instructions]

    def main_loops(self, wanted):
        """The innermost loops with an instruction that is `wanted`; loops inside them
        without one (spin waits) belong to them."""
        having = [loop for loop in self.loops if any(wanted(i) for i in self.instructions_of(loop.blocks))]
        return [loop for loop in having if not any(other.blocks < loop.blocks for other in having)]

    def behind(self, blocks):
        """The blocks that can be reached from `blocks`, without these."""
        found, work = set(), list(blocks)
        while work:
            for follower in self.blocks[work.pop()].next:
                if follower not in found and follower not in blocks:
                    found.add(follower)
                    work.append(follower)
        return found


def parse(text):
    """Parses the kernels in nvdisasm's output."""
    kernels, symbol, instructions, labels, waiting = [], None, [], {}, []

    def finish():
        if symbol and instructions:
            kernels.append(Kernel(symbol, instructions, labels))

    for line in text.splitlines():
        if line.lstrip().startswith(".section"):
            finish()
            found = re.search(r"\.section\s+\.text\.(\w+)", line)
            symbol, instructions, labels, waiting = found and found[1], [], {}, []
            continue
        label = _LABEL.match(line)
        if label:
            waiting.append(label[1])
            continue
        found = _LINE.match(line)
        if found and symbol:
            instructions.append(Instruction(int(found[1], 16), found[2] or "", found[3], found[4]))
            for name in waiting:
                labels[name] = instructions[-1].address
            waiting = []
    finish()
    return kernels
