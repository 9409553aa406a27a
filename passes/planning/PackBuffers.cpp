//===- PackBuffers.cpp - Interval packing of the arenas -------------------===//
//
//   offset
//     ^   +-----------+
//     |   |     h     |        A buffer is a rectangle: launches it lives in
//     |   +---+---+---+        across, bytes up. Sorted by bytes, each takes the
//     |   | q |   |  d |       lowest offset where it meets no other rectangle
//     |   +---+---+----+       (first fit decreasing). Sections never run at the
//     |   |  x (persistent) |  same time, so their buffers may overlap freely; nor do
//     +------------------------> launch   the cases of one. What the host reads lives on.
//
// The lower bound is the largest sum of bytes alive at one launch.
//===----------------------------------------------------------------------===//
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_PACKBUFFERSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::plan;

namespace {

struct Interval {
  mutable BufferOp buffer; // ops are handles: nothing of them is const
  int64_t first, last;     // in barriers passed, over all sections
  int64_t offset = -1;

  bool meets(const Interval &other) const { return first <= other.last && other.first <= last; }
  int64_t end() const { return offset + int64_t(buffer.getBytes()); }
};

struct PackBuffers : ingot::impl::PackBuffersPassBase<PackBuffers> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    llvm::MapVector<StringRef, Interval> live;
    int64_t now = 0;
    for (SectionOp section : program.getBody().getOps<SectionOp>())
      for (const Case &one : section.cases())
        for (LaunchOp launch : one.launches()) {
          for (Attribute operand : launch.getArgs())
            if (auto ref = dyn_cast<BufferRefAttr>(operand)) {
              auto [it, isNew] = live.insert({ref.getSymbol().getValue(), Interval{{}, now, now}});
              it->second.last = now;
            }
          if (!launch.getNoBarrier()) // launches without a barrier between them overlap in time
            ++now;
        }
    for (EntryOp entry : program.getBody().getOps<EntryOp>())
      for (OutputOp output : entry.getBody().getOps<OutputOp>())
        if (auto it = live.find(output.getBuffer()); it != live.end())
          it->second.last = now;
    SmallVector<int64_t> peak, lowerBound;
    for (BufferClass kind : {BufferClass::PerToken, BufferClass::PerRow, BufferClass::Fixed}) {
      SmallVector<Interval> intervals;
      for (BufferOp buffer : llvm::make_early_inc_range(program.getBody().getOps<BufferOp>())) {
        if (buffer.getClassKind() != kind)
          continue;
        auto it = live.find(buffer.getSymName());
        if (it == live.end()) {
          buffer.erase(); // nobody launches on it
          continue;
        }
        it->second.buffer = buffer;
        if (buffer.getPersistent())
          it->second.first = 0, it->second.last = now;
        intervals.push_back(it->second);
      }
      peak.push_back(pack(intervals));
      lowerBound.push_back(largestSum(intervals, now));
      for (const Interval &interval : intervals)
        interval.buffer.setOffset(interval.offset);
    }
    Builder b(&getContext());
    program.setPeakAttr(b.getDenseI64ArrayAttr(peak));
    program.setLowerBoundAttr(b.getDenseI64ArrayAttr(lowerBound));
  }

  static int64_t pack(MutableArrayRef<Interval> intervals) {
    SmallVector<Interval *> order(llvm::make_pointer_range(intervals));
    llvm::sort(order, [](Interval *a, Interval *b) {
      uint64_t first = a->buffer.getBytes(), second = b->buffer.getBytes();
      return first != second ? first > second : a < b; // of one array: in its order
    });
    int64_t peak = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      SmallVector<Interval *> neighbours;
      for (size_t j = 0; j < i; ++j)
        if (order[j]->meets(*order[i]))
          neighbours.push_back(order[j]);
      llvm::sort(neighbours, [](Interval *a, Interval *b) { return a->offset < b->offset; });
      int64_t at = 0;
      for (Interval *other : neighbours) {
        if (at + int64_t(order[i]->buffer.getBytes()) <= other->offset)
          break;
        at = std::max(at, other->end());
      }
      order[i]->offset = at;
      peak = std::max(peak, order[i]->end());
    }
    return peak;
  }

  static int64_t largestSum(ArrayRef<Interval> intervals, int64_t launches) {
    int64_t largest = 0;
    for (int64_t t = 0; t <= launches; ++t) {
      int64_t sum = 0;
      for (const Interval &interval : intervals)
        if (interval.first <= t && t <= interval.last)
          sum += interval.buffer.getBytes();
      largest = std::max(largest, sum);
    }
    return largest;
  }
};
} // namespace
