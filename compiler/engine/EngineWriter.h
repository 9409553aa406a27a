//===- EngineWriter.h - Writes an engine file, all or nothing -------------===//
//
// The table is known before the bulk data: the writer lays out all segments, reserves the disk space, then
// lets threads fill pieces of segments in any order (weights are packed tensor by tensor straight into the
// file), hashes the result, and only then gives the file its name:
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

/// One independent piece of a segment. `fill` gets a buffer of `size` zeroed bytes, 64-byte aligned, which is
/// written at `offset` of the segment; it is called once, on any thread. The buffer is private to that
/// thread, so the size of pieces determines peak memory: threads * the largest piece, or 16 MiB where several
/// pieces are written at once.
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

/// A segment whose bytes are already in memory.
SegmentSource segmentOf(fb::SegmentKind kind, std::string contents);

/// Number of bytes that a thread writes at once, given the total: 4 to 16 MiB, a few huge pages of 2 MiB, if
/// there is enough work for all threads.
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

/// Writes the engine `table` to `path`. The caller fills the whole table except for derived fields, which the
/// writer sets: `segments` (index i is sources[i]) and, for each program, `bytes_per_*`, `bytes_fixed`,
/// `seed_bytes` and the entries' `launches`. The finished file is opened with the loader's own checks before
/// it is renamed; a table that fails them is our bug: E0399, exit code 70. Disk errors have exit code 3:
/// E0390 … E0396. The first error of a job is returned unchanged.
Result<WriteResult> writeEngine(const std::string &path, fb::EngineT table,
                                std::vector<SegmentSource> sources,
                                const WriteOptions &options = {});

} // namespace ingot::compiler
