//===- Memory.cpp - See Memory.h ------------------------------------------===//
#include "compiler/reference/interpreter/Memory.h"
#include "dialects/plan/ops/Program.h"

#include <algorithm>
#include <cassert>

using namespace ingot;
using namespace ingot::reference::interpreter;
using plan::BufferClass;

void Findings::add(std::string code, std::string what, std::string why) {
  if (!found)
    found = Error{ExitCode::Internal, std::move(code), std::move(what), std::move(why), ""};
}

void Timeline::begin(std::string launch) { launches.push_back({std::move(launch), phase}); }

bool Timeline::meets(const Touch &before, int64_t item) const {
  if (before.launch == 0 || launches[before.launch].phase != phase)
    return false;
  return before.launch != now() || before.item != item || item == Items::kEvery;
}

std::optional<Touch> Timeline::note(Unit &unit, bool writes, int64_t item) const {
  std::optional<Touch> met;
  if (meets(unit.write, item))
    met = unit.write;
  if (writes && meets(unit.read, item))
    met = unit.read;
  const Touch own{now(), static_cast<int32_t>(item)};
  if (writes)
    unit.write = own;
  else if (unit.read.launch == 0 || launches[unit.read.launch].phase != phase)
    unit.read = own;
  else if (unit.read.launch != own.launch || unit.read.item != own.item)
    unit.read.item = Items::kEvery; // Only the first of several readers is stored. With kEvery, a
                                    // write by any work item conflicts with it.
  return met;
}

Memory::Memory(plan::ProgramOp program, int64_t tokens, int64_t rows, Timeline &timeline,
               Findings &findings)
    : timeline(timeline), findings(findings) {
  // Rows of activations are whole cache lines; several keys or ids share a line.
  constexpr int64_t kUnits[] = {64, 4, 64};
  int64_t ends[3] = {};
  for (plan::BufferOp op : program.getBody().getOps<plan::BufferOp>()) {
    const BufferClass kind = op.getClassKind();
    const int64_t many = kind == BufferClass::PerToken ? tokens
                         : kind == BufferClass::PerRow ? rows
                                                       : 1;
    int64_t &end = ends[size_t(kind)];
    const int64_t bytes = int64_t(op.getBytes()) * many,
                  address = op.getOffset() ? int64_t(*op.getOffset()) * many : end;
    end = std::max(end, address + bytes);
    byName[op.getSymName().str()] = int64_t(buffers.size());
    buffers.push_back({op.getSymName().str(), kind, address, bytes, op.getPersistent()});
  }
  for (size_t kind = 0; kind < 3; ++kind) {
    arenas[kind].unit = kUnits[kind];
    arenas[kind].bytes.assign(size_t(ends[kind]), std::byte{0xff});
    arenas[kind].units.resize(size_t(ends[kind] / kUnits[kind]));
  }
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].persistent && buffers[i].kind != BufferClass::PerToken)
      clear(int64_t(i));
}

void Memory::beginStep() {
  for (Arena &arena : arenas)
    for (size_t i = 0; i < arena.units.size(); ++i) {
      Unit &unit = arena.units[i];
      if (unit.buffer < 0)
        continue;
      const Buffer &owner = buffers[size_t(unit.buffer)];
      if (owner.persistent && owner.kind != BufferClass::PerToken)
        continue;
      unit = {};
      std::fill_n(arena.bytes.begin() + int64_t(i) * arena.unit, arena.unit, std::byte{0xff});
    }
}

void Memory::clear(int64_t index) {
  const Buffer &own = buffers[size_t(index)];
  Arena &arena = arenaOf(own);
  std::fill_n(arena.bytes.begin() + own.address, own.bytes, std::byte{0});
  for (int64_t i = own.address / arena.unit; i * arena.unit < own.address + own.bytes; ++i)
    arena.units[size_t(i)] = Unit{{}, {}, static_cast<int32_t>(index)};
}

std::byte *Memory::peek(int64_t index, int64_t at) {
  const Buffer &own = buffers[size_t(index)];
  assert(at >= 0 && at <= own.bytes && "a place in the buffer");
  return arenaOf(own).bytes.data() + own.address + at;
}

void Memory::reportStale(const Buffer &own, const Unit &unit, int64_t at) {
  const std::string where =
      "@" + own.name + ", byte " + std::to_string(at) + " of " + std::to_string(own.bytes);
  if (unit.buffer < 0)
    findings.add("E0882", timeline.current() + " reads uninitialised memory", where);
  else
    findings.add(
        "E0882", timeline.current() + " reads memory that another buffer has overwritten",
        where + ": " +
            (unit.write.launch ? timeline.nameOf(unit.write) + " wrote it as @" : "it holds @") +
            buffers[size_t(unit.buffer)].name);
}

std::byte *Memory::touch(int64_t index, int64_t at, int64_t bytes, Items items, bool writes) {
  const Buffer &own = buffers[size_t(index)];
  Arena &arena = arenaOf(own);
  assert(at >= 0 && at + bytes <= own.bytes && "a row of the buffer");
  const int64_t first = (own.address + at) / arena.unit,
                last = (own.address + at + bytes - 1) / arena.unit;
  for (int64_t i = first; i <= last; ++i) {
    Unit &unit = arena.units[size_t(i)];
    const int64_t item = items.pieceBytes == 0 || items.first == Items::kEvery
                             ? items.first
                             : items.first + (i - first) * arena.unit / items.pieceBytes;
    if (!writes && unit.buffer != index)
      reportStale(own, unit, i * arena.unit - own.address);
    const bool read = unit.read.launch != 0;
    std::optional<Touch> met = timeline.note(unit, writes, item);
    if (met) {
      const bool itself = met->launch == timeline.now();
      findings.add("E0881",
                   itself ? "work items of " + timeline.current() + " touch the same bytes"
                          : "there is no barrier between " + timeline.nameOf(*met) + " and " +
                                timeline.current(),
                   "@" + own.name + ", byte " + std::to_string(i * arena.unit - own.address) +
                       ": the second " + (writes ? "writes" : "reads") + " what the first " +
                       (writes && read ? "may still read" : "writes"));
    }
    if (writes)
      unit.buffer = static_cast<int32_t>(index);
  }
  return arena.bytes.data() + own.address + at;
}

std::byte *Memory::read(int64_t buffer, int64_t at, int64_t bytes, Items items) {
  return touch(buffer, at, bytes, items, /*writes=*/false);
}
std::byte *Memory::write(int64_t buffer, int64_t at, int64_t bytes, Items items) {
  return touch(buffer, at, bytes, items, /*writes=*/true);
}
