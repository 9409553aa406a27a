//===- EngineWriter.h - Writes an engine file, whole or not at all --------===//
//
// The table is known before the bulk data: the writer lays out all segments,
// takes the disk space, then lets threads fill pieces of segments in any order
// (weights are packed tensor by tensor straight into the file), hashes what is
// there, and only then gives the file its name:
//
//   .NAME.<random>.ingot-tmp, locked  ->  fill  ->  hash, table, header
//        ->  fsync  ->  rename to NAME  ->  fsync of the folder
//
// A failure or a kill leaves NAME as it was; temporary files that no living process
// holds the lock of are removed by the next run. The bytes depend on the table and
// on what the jobs write, not on threads, time, path or host.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"
#include "runtime/schema/engine_generated.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ingot::compiler {

/// One independent piece of a segment. `fill` gets `size` zeroed bytes, 64-byte aligned, which
/// end up at `offset` of the segment; it is called once, on any thread. The buffer is
/// private memory of that thread, so pieces decide the peak memory: threads * largest piece, or 16 MiB
/// where several are written at once.
struct FillJob {
  uint64_t offset = 0;
  uint64_t size = 0;
  std::function<Result<void>(std::span<std::byte>)> fill;
};

/// Bytes that no job covers are zero. Jobs of a segment must not overlap.
struct SegmentSource {
  fb::SegmentKind kind = fb::SegmentKind::Code;
  uint64_t size = 0;
  std::vector<FillJob> jobs;
};

/// A segment of bytes that are at hand.
SegmentSource segmentOf(fb::SegmentKind kind, std::string contents);

/// Bytes that a thread writes at once, of so many in all: as many as a few huge pages of 2 MiB have, if
/// there is work for all threads.
constexpr uint64_t bytesAtOnce(uint64_t total, int threads) {
  return std::clamp(total / (4 * uint64_t(std::max(threads, 1))), uint64_t(4) << 20,
                    uint64_t(16) << 20);
}

struct WriteOptions {
  int threads = 1;
  /// Called with monotonic values, never from two threads at once; may be empty.
  std::function<void(uint64_t doneBytes, uint64_t totalBytes)> progress = {};
};

struct WriteResult {
  uint64_t fileBytes = 0;
};

/// Writes the engine `table` to `path`. The caller fills everything of the table except what
/// follows from the rest, which the writer sets: `segments` (index i is sources[i]),
/// and of each program `bytes_per_*`, `bytes_fixed`, `seed_bytes` and the entries' `launches`.
/// The finished file is opened with the loader's own checks before it is renamed; a table
/// that does not pass is our bug: E0399, exit 70.
/// Errors of the disk, exit 3: E0390 … E0396. The first error of a job is passed through.
Result<WriteResult> writeEngine(const std::string &path, fb::EngineT table,
                                std::vector<SegmentSource> sources,
                                const WriteOptions &options = {});

} // namespace ingot::compiler
