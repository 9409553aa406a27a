//===- PackBuffers.cpp - Interval packing of the arenas -------------------===//
//
//   offset
//     ^   +-----------+
//     |   |     h     |        In each case that uses it, a buffer is a rectangle: its width is its
//     |   +---+---+---+        lifetime in launches, its height its bytes. The largest is placed
//     |   | q |   |  d |       first, and each at the lowest offset where it meets no other one in
//     |   +---+---+----+       any case (first fit decreasing). Cases never run at the same time,
//     |   |  x (persistent) |  so buffers of different cases may overlap freely.
//     +------------------------> launch
//
// A value read in a case was written earlier in the case, or in all cases of an earlier section (then the
// buffer lives from there to here), or it is persistent. A value that the host reads lives to the end of the
// step. The lower bound is the largest sum of bytes alive at one launch.
//===----------------------------------------------------------------------===//
#include "dialects/plan/ops/Entry.h"
#include "dialects/plan/ops/Program.h"
#include "dialects/plan/ops/Section.h"
#include "passes/Passes.h"

#include "llvm/ADT/StringSet.h"

#include <cassert>

namespace ingot {
#define GEN_PASS_DEF_PACKBUFFERSPASS
#include "passes/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::plan;

namespace {

/// The lifetime of a buffer in a case, counted in barriers.
struct Span {
  size_t at; ///< index among all cases of all sections
  int64_t first, last;
};

/// A case of the program.
struct Place {
  size_t section;
  Case launches;
  int64_t end = 0; ///< number of barriers
};

struct Interval {
  mutable BufferOp buffer; // ops are handles, so constness does not apply
  SmallVector<Span> spans; // ascending in `at`
  int64_t offset = -1;

  bool meets(const Interval &other) const {
    auto b = other.spans.begin();
    for (const Span &a : spans) {
      while (b != other.spans.end() && b->at < a.at)
        ++b;
      if (b != other.spans.end() && b->at == a.at && a.first <= b->last && b->first <= a.last)
        return true;
    }
    return false;
  }
  int64_t end() const { return offset + int64_t(buffer.getBytes()); }
};

/// How cases use one buffer.
struct Uses {
  SmallVector<Span> spans;
  SmallVector<size_t> writers;  ///< cases that write it
  SmallVector<LaunchOp> before; ///< the reading launch, in each case that reads before it writes
  SmallVector<size_t> readers;  ///< the cases of `before`

  bool writes(size_t at) const { return llvm::is_contained(writers, at); }
};

struct PackBuffers : ingot::impl::PackBuffersPassBase<PackBuffers> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    SmallVector<Place> places;
    llvm::StringMap<Uses> uses;
    collect(program, places, uses);
    llvm::StringSet<> outputs;
    for (EntryOp entry : program.getBody().getOps<EntryOp>())
      for (OutputOp output : entry.getBody().getOps<OutputOp>())
        outputs.insert(output.getBuffer());
    SmallVector<int64_t> peak, lowerBound;
    for (BufferClass kind : {BufferClass::PerToken, BufferClass::PerRow, BufferClass::Fixed}) {
      SmallVector<Interval> intervals;
      for (BufferOp buffer : llvm::make_early_inc_range(program.getBody().getOps<BufferOp>())) {
        if (buffer.getClassKind() != kind)
          continue;
        auto it = uses.find(buffer.getSymName());
        if (it == uses.end()) {
          buffer.erase(); // no launch uses it
          continue;
        }
        Interval interval{buffer, {}, -1};
        if (buffer.getPersistent()) {
          for (auto [at, place] : llvm::enumerate(places))
            interval.spans.push_back({at, 0, place.end});
        } else if (failed(place(it->second, places, outputs.contains(buffer.getSymName()),
                                interval.spans))) {
          return signalPassFailure();
        }
        intervals.push_back(std::move(interval));
      }
      peak.push_back(pack(intervals));
      lowerBound.push_back(largestSum(intervals, places));
      assert(peak.back() >= lowerBound.back() && "buffers that live at once overlap");
      for (const Interval &interval : intervals)
        interval.buffer.setOffset(interval.offset);
    }
    Builder b(&getContext());
    program.setPeakAttr(b.getDenseI64ArrayAttr(peak));
    program.setLowerBoundAttr(b.getDenseI64ArrayAttr(lowerBound));
  }

  static void collect(ProgramOp program, SmallVectorImpl<Place> &places,
                      llvm::StringMap<Uses> &uses) {
    for (auto [section, op] : llvm::enumerate(program.getBody().getOps<SectionOp>()))
      for (const Case &one : op.cases()) {
        const size_t at = places.size();
        int64_t now = 0;
        for (LaunchOp launch : one.launches()) {
          auto effects = launch.operandEffects();
          for (bool writing : {false, true}) // reads come first: a launch does not read its own
                                             // writes
            for (auto [effect, operand] : llvm::zip(effects, launch.getArgs()))
              if (auto ref = dyn_cast<BufferRefAttr>(operand);
                  ref && (writing ? effect.writes : effect.reads)) {
                Uses &use = uses[ref.getSymbol().getValue()];
                if (use.spans.empty() || use.spans.back().at != at)
                  use.spans.push_back({at, now, now});
                use.spans.back().last = now;
                if (writing && !use.writes(at)) {
                  use.writers.push_back(at);
                } else if (!writing && !use.writes(at) && !llvm::is_contained(use.readers, at)) {
                  use.readers.push_back(at);
                  use.before.push_back(launch);
                }
              }
          if (!launch.getNoBarrier()) // launches without a barrier between them overlap in time
            ++now;
        }
        places.push_back({section, one, now});
      }
  }

  /// The lifetime of a buffer that is not persistent.
  static LogicalResult place(const Uses &uses, ArrayRef<Place> places, bool isOutput,
                             SmallVector<Span> &spans) {
    spans = uses.spans;
    size_t from = isOutput ? uses.spans.front().at : places.size(),
           to = isOutput ? places.size() : 0;
    for (auto [reader, at] : llvm::zip_equal(uses.before, uses.readers)) {
      std::optional<size_t> writer; // the latest earlier section all of whose cases write it
      for (size_t first = 0, end;
           first < places.size() && places[first].section < places[at].section; first = end) {
        bool all = true;
        for (end = first; end < places.size() && places[end].section == places[first].section;
             ++end)
          all &= uses.writes(end);
        if (all)
          writer = first;
      }
      if (!writer && !uses.writers.empty())
        return LaunchOp(reader).emitOpError(
            "reads rows that neither this case nor every case of an earlier section has written: "
            "expects its buffers to be persistent");
      from = std::min(from, writer.value_or(at));
      to = std::max(to, at);
    }
    if (from >= to)
      return success();
    // Across sections the buffer lives from its first use to its last.
    const size_t first = places[from].section,
                 last = to < places.size() ? places[to].section : places.size();
    SmallVector<Span> all;
    for (auto [at, place] : llvm::enumerate(places)) {
      const Span *own = llvm::find_if(spans, [&](const Span &span) { return span.at == at; });
      const bool begun = place.section > first && place.section <= last,
                 goesOn = place.section >= first && place.section < last;
      if (own == spans.end() && !(begun && goesOn))
        continue;
      Span span = own == spans.end() ? Span{at, 0, place.end} : *own;
      if (begun)
        span.first = 0;
      if (goesOn)
        span.last = place.end;
      all.push_back(span);
    }
    spans = std::move(all);
    return success();
  }

  static int64_t pack(MutableArrayRef<Interval> intervals) {
    SmallVector<Interval *> order(llvm::make_pointer_range(intervals));
    llvm::sort(order, [](Interval *a, Interval *b) {
      uint64_t first = a->buffer.getBytes(), second = b->buffer.getBytes();
      return first != second ? first > second : a < b; // ties: in array order
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
        assert(other->offset >= 0 && "larger buffers have their place");
        if (at + int64_t(order[i]->buffer.getBytes()) <= other->offset)
          break;
        at = std::max(at, other->end());
      }
      order[i]->offset = at;
      peak = std::max(peak, order[i]->end());
    }
    return peak;
  }

  static int64_t largestSum(ArrayRef<Interval> intervals, ArrayRef<Place> places) {
    int64_t largest = 0;
    for (auto [at, place] : llvm::enumerate(places)) {
      SmallVector<int64_t> sums(place.end + 1);
      for (const Interval &interval : intervals)
        for (const Span &span : interval.spans)
          for (int64_t t = span.first; span.at == at && t <= span.last; ++t)
            sums[t] += interval.buffer.getBytes();
      largest = std::max(largest, *llvm::max_element(sums));
    }
    return largest;
  }
};
} // namespace
