//===- EngineWriter.h - Writes an engine file, all or nothing -------------===//
//
// The table is known before the bulk data. The writer lays out all segments and reserves the disk space. Threads then
// fill pieces of segments in any order (weights are packed tensor by tensor straight into the file). The writer
// hashes the result, and only then gives the file its name:
//
//   .NAME.<random>.ingot-tmp, locked  ->  fill  ->  hash, table, header
//        ->  fsync  ->  rename to NAME  ->  fsync of the folder
//
// A failure or a kill leaves NAME unchanged; the next run removes temporary files that no living process has
// locked. The bytes depend on the table and on what the jobs write, not on threads, time, path or host.
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

/// One independent piece of a segment. `fill` is called once, on any thread. It gets a 64-byte aligned buffer of `size`
/// zeroed bytes, which the writer then writes at `offset` of the segment. Each thread has its own buffer, so the size
/// of pieces determines peak memory. A buffer holds the largest piece, or up to 16 MiB of pieces that are written at
/// once.
struct FillJob {
  uint64_t offset = 0;
  uint64_t size = 0;
  std::function<Result<void>(std::span<std::byte>)> fill;
};

/// A segment and the jobs that fill it. Bytes that no job covers are zero. Jobs of a segment must not overlap.
struct SegmentSource {
  fb::SegmentKind kind = fb::SegmentKind::Code;
  uint64_t size = 0;
  std::vector<FillJob> jobs;
};

/// Returns a segment from bytes that are already in memory.
SegmentSource segmentOf(fb::SegmentKind kind, std::string contents);

/// Returns the number of bytes that a thread writes at once: 4 to 16 MiB, which is a few huge pages of 2 MiB. The more
/// work there is for each thread, the larger it is.
constexpr uint64_t bytesAtOnce(uint64_t total, int threads) {
  return std::clamp(total / (4 * uint64_t(std::max(threads, 1))), uint64_t(4) << 20,
                    uint64_t(16) << 20);
}

struct WriteOptions {
  int threads = 1;
  /// The writer calls this with increasing values, and never from two threads at once. It may be empty.
  std::function<void(uint64_t doneBytes, uint64_t totalBytes)> progress = {};
};

struct WriteResult {
  uint64_t fileBytes = 0;
};

/// Writes the engine `table` to `path`. The caller fills the whole table except for derived fields, which the writer
/// sets: `segments` (index i is sources[i]) and, for each program, `bytes_per_*`, `bytes_fixed`, `seed_bytes` and the
/// entries' `launches`. The finished file is opened with the loader's own checks before it is renamed. A table that
/// fails them is a bug of the compiler: E0399, exit code 70. Disk errors have exit code 3: E0390 … E0396. The first
/// error of a job is returned unchanged.
Result<WriteResult> writeEngine(const std::string &path, fb::EngineT table,
                                std::vector<SegmentSource> sources,
                                const WriteOptions &options = {});

} // namespace ingot::compiler
