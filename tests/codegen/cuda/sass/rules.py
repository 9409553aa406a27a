"""Rules for SASS (docs/gpu-kernels.md): computes figures of a kernel, and lists the rules that they break.

  R1  no fence and no L1 invalidation in a main loop                           fences, fence_kinds
  R2  an epilogue loads its addends before it stores, not alternately          round_trips, narrow
  R3  wgmmas are in flight together: one wait for all of a group               per_wait, serialised
  R4  no local memory                                                          spills
  R5  a thread stores contiguous bytes 16 at a time                            split_stores
  R6  registers, and issue slots per 512 bytes of weights, as stored or lower  registers, slots

A main loop is an innermost loop that multiplies (mma, wgmma) or loads multiplicands (TMA, bulk copies, cp.async).
The epilogue is the code reachable from a multiplying loop and outside all of them.
"""
from collections import defaultdict

# ERRBAR and CGAERRBAR accompany a MEMBAR of GPU or cluster scope.
FENCES = ("MEMBAR", "ERRBAR", "CGAERRBAR", "FENCE")
# The number of loads that an epilogue loop should have in flight per latency that it waits for.
NARROW = 4


def is_fence(instruction):
    return instruction.name in FENCES or (instruction.name == "CCTL" and "IVALL" in instruction.modifiers())


def is_weight_load(instruction):
    """Loads of codes (or floats): ld_stream in device/memory.cuh, 16 bytes each, 512 per
    warp. Scales use smaller loads."""
    return instruction.name == "LDG" and "CONSTANT" in instruction.modifiers() and instruction.width() == 16


def multiplying_loops(kernel):
    return kernel.main_loops(lambda i: i.is_multiplication())


def bringing_loops(kernel):
    return kernel.main_loops(lambda i: i.brings_tiles())


def fences(kernel):
    """{opcode: count} in main loops. When wgmma reads data that cp.async loaded, a proxy fence is needed,
    MEMBAR.ALL.CTA with FENCE.VIEW.ASYNC: this pair is allowed where cp.async is used."""
    found = defaultdict(int)
    blocks = set().union(*(loop.blocks for loop in multiplying_loops(kernel)), set())
    copying = set()
    for loop in bringing_loops(kernel):
        if any(i.name == "LDGSTS" for i in kernel.instructions_of(loop.blocks)):
            copying |= loop.blocks
        blocks |= loop.blocks
    for number in blocks:
        code = kernel.blocks[number].instructions
        for at, i in enumerate(code):
            pair = (i, code[at + 1]) if at + 1 < len(code) else (i, i)
            if i.name == "FENCE" and at:
                pair = (code[at - 1], i)
            proxy = pair[0].opcode == "MEMBAR.ALL.CTA" and pair[1].opcode.startswith("FENCE.VIEW.ASYNC")
            if is_fence(i) and not (proxy and number in copying):
                found[i.opcode] += 1
    return dict(found)


def epilogue(kernel):
    blocks = set().union(*(loop.blocks for loop in multiplying_loops(kernel)), set())
    outer = set().union(*(loop.blocks for loop in kernel.loops if loop.blocks & blocks), set())
    behind = kernel.behind(blocks)
    # With a loop around the main loop (over a block's rows), code before the main loop can also be reached from it.
    ahead = {b for b in behind & outer if any(kernel.dominates(b, loop.head) for loop in multiplying_loops(kernel))}
    return behind - ahead


class _Flow:
    """Forward data flow of loaded values along every path of the epilogue; loops are walked once."""

    def __init__(self, kernel, blocks):
        self.kernel, self.blocks = kernel, blocks
        self.order = [b for b in kernel.order if b in blocks]

    def walk(self, start, step, merge):
        """Applies step(state, instruction) over all paths; a block starts with the merged
        states of its predecessors."""
        after = {}
        for number in self.order:
            block = self.kernel.blocks[number]
            states = [after[b] for b in block.before
                      if b in after and (b, number) not in self.kernel.back_edges]
            state = merge(states) if states else start()
            for instruction in block.instructions:
                state = step(state, instruction)
            after[number] = state
        return after


def flowing_loads(kernel, blocks):
    """Addresses of the global loads whose values later flow into a store to global memory."""
    found = set()

    def step(taint, i):
        if i.name in ("STG", "ST"):
            for register in i.stored():
                found.update(taint.get(register, ()))
            return taint
        written = i.destinations()
        if not written:
            return taint
        value = frozenset({i.address}) if i.name == "LDG" else \
            frozenset().union(*(taint.get(r, frozenset()) for r in i.sources()), frozenset())
        taint = dict(taint)
        for register in written:
            old = taint.pop(register, frozenset())
            left = value | old if i.guard else value  # a guarded write may not happen
            if left:
                taint[register] = left
        return taint

    def merge(states):
        merged = defaultdict(frozenset)
        for state in states:
            for register, loads in state.items():
                merged[register] |= loads
        return dict(merged)

    _Flow(kernel, blocks).walk(dict, step, merge)
    return found


def latencies(kernel, blocks, flowing):
    """Returns (memory latencies that the longest path waits for in sequence; how many of them begin after a store
    of a loaded value). Loads in flight together count once."""
    # waited: latencies so far. arrives: {register of a load in flight: latencies when it arrives}. first: latencies
    # when the first loaded value was stored; None before that.
    def step(state, i):
        waited, arrives, first = state
        stores = i.name in ("STG", "ST")
        read = set(i.sources()) | (set(i.stored()) if stores or i.name == "STS" else set())
        used = read & arrives.keys()
        if used:
            waited = max(waited, *(arrives[r] for r in used))
            arrives = {r: at for r, at in arrives.items() if at > waited}
        if stores and waited and first is None:
            first = waited
        if i.address in flowing:
            arrives = {**arrives, **dict.fromkeys(i.destinations(), waited + 1)}
        elif arrives.keys() & set(i.destinations()):
            arrives = {r: at for r, at in arrives.items() if r not in i.destinations()}
        return waited, arrives, first

    def merge(states):
        arrives = {}
        for _, more, _ in states:
            for register, at in more.items():
                arrives[register] = max(at, arrives.get(register, 0))
        waited = max(state[0] for state in states)
        firsts = [state[2] for state in states if state[2] is not None]
        return waited, {r: at for r, at in arrives.items() if at > waited}, min(firsts, default=None)

    after = _Flow(kernel, blocks).walk(lambda: (0, {}, None), step, merge)
    return (max((waited for waited, _, _ in after.values()), default=0),
            max((waited - first for waited, _, first in after.values() if first is not None), default=0))


def round_trips(kernel):
    """Returns (latencies that begin after a store; loops with too few loads in flight before their stores)."""
    blocks = epilogue(kernel)
    flowing = flowing_loads(kernel, blocks)
    narrow = 0
    for loop in kernel.loops:
        code = kernel.instructions_of(loop.blocks) if loop.blocks <= blocks else []
        inside = {i.address for i in code} & flowing
        if inside and any(i.name == "STG" for i in code):
            narrow += len(inside) < NARROW * latencies(kernel, loop.blocks, inside)[0]
    return latencies(kernel, blocks, flowing)[1], narrow


def wgmmas_per_wait(kernel):
    """The smallest number of wgmma per wait in any main loop; None if no loop has wgmma. If ptxas serialises the
    products, it puts a wait after each, and the number is 1."""
    least = None
    for loop in multiplying_loops(kernel):
        code = kernel.instructions_of(loop.blocks)
        products = sum(i.is_wgmma() for i in code)
        waits = sum(i.opcode.startswith("WARPGROUP.DEPBAR") for i in code)
        if products:
            ratio = products / max(waits, 1)
            least = ratio if least is None else min(least, ratio)
    return least


def spills(kernel):
    return sum(i.name in ("LDL", "STL") for i in kernel.instructions)


def split_stores(kernel):
    """Counts 16 contiguous bytes from one address register that are stored in smaller pieces. Blocks are taken in
    layout order: code between two stores branches out and comes back (a division's slow path)."""
    found, places = 0, defaultdict(dict)
    for i in kernel.instructions:
        if i.name in ("STG", "ST") and i.width() < 16:
            base, offset = i.place()
            places[base][offset] = i.width()
        for register in i.destinations():
            for base in [b for b in places if f"R{register}" in _words(b)]:
                found += _pieces(places.pop(base))
    return found + sum(_pieces(offsets) for offsets in places.values())


def _words(text):
    return text.replace("[", " ").replace("]", " ").replace(".", " ").split()


def _pieces(offsets):
    pieces, run, end = 0, 0, None
    for offset in sorted(offsets):
        run = run + offsets[offset] if offset == end else offsets[offset]
        end = offset + offsets[offset]
        if run >= 16:
            pieces, run = pieces + 1, 0
    return pieces


def issue_slots(kernel):
    """Returns (instructions per 512 bytes; bytes per warp and pass) of the main loop that reads the most weights."""
    best = (None, 0)
    for loop in multiplying_loops(kernel):
        code = kernel.instructions_of(loop.blocks)
        weight_bytes = 32 * sum(i.width() for i in code if is_weight_load(i))
        if weight_bytes > best[1]:
            best = (round(len(code) * 512 / weight_bytes, 1), weight_bytes)
    return best


def figures(kernel):
    chain, narrow = round_trips(kernel)
    slots, weight_bytes = issue_slots(kernel)
    kinds = fences(kernel)
    return {"fences": sum(kinds.values()), "fence_kinds": kinds, "round_trips": chain, "narrow": narrow,
            "per_wait": wgmmas_per_wait(kernel), "spills": spills(kernel), "split_stores": split_stores(kernel),
            "slots": slots, "weight_bytes": weight_bytes}


def once(found, passes):
    """Normalises the figures of a kernel in which a thread is known to make `passes` passes over the epilogue.
    Each pass loads once, so there are passes - 1 round trips, however many passes ptxas unrolls."""
    if found["round_trips"] or found["narrow"]:
        return {**found, "round_trips": passes - 1, "narrow": 0}
    return found


def broken(found, group_steps):
    """[(rule, figure, message)] for R1 to R5. group_steps: the number of wgmmas that can be
    in flight before a group's sum is needed."""
    wrong = []
    if found["fences"]:
        kinds = ", ".join(f"{count} {opcode}" for opcode, count in sorted(found["fence_kinds"].items()))
        wrong.append(("R1", found["fences"], f"{found['fences']} fences in main loops: {kinds}"))
    if found["round_trips"] or found["narrow"]:
        wrong.append(("R2", found["round_trips"] + found["narrow"],
                      f"{found['round_trips']} times the epilogue asks for memory behind a store, "
                      f"{found['narrow']} of its loops ask for less than {NARROW} loads at once"))
    if found["serialised"]:
        wrong.append(("R3", 1, "ptxas serialises its wgmmas"))
    elif found["per_wait"] is not None and found["per_wait"] < group_steps:
        wrong.append(("R3", 1, f"{found['per_wait']:.1f} wgmmas for each wait, {group_steps} could be"))
    if found["spills"]:
        wrong.append(("R4", found["spills"], f"{found['spills']} loads and stores of local memory"))
    if found["split_stores"]:
        wrong.append(("R5", found["split_stores"], f"{found['split_stores']} x 16 bytes stored in pieces"))
    return wrong


def above(found, stored):
    """[(rule, figure, message)] for R6, and [message] for figures below the stored ones."""
    wrong, lower = [], []
    for name in ("registers", "slots"):
        have, had = found[name], stored[name]
        if have is None and had is None:
            continue
        if had is None or (have is not None and have > had):
            wrong.append(("R6", have, f"{name} {have}, stored {had}"))
        elif have is None or have < had:
            lower.append(f"{name} {have}, stored {had}")
    return wrong, lower
