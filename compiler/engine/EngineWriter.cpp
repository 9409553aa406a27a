//===- EngineWriter.cpp - See EngineWriter.h ------------------------------===//
//
// The positions of segments depend on the size of the table, and the table holds their positions and hashes. The
// table is therefore serialised twice: once to measure it, and once for the file. All defaults are written
// explicitly, so its size does not depend on these positions and hashes.
//===----------------------------------------------------------------------===//
#include "compiler/engine/EngineWriter.h"

#include "compiler/files/TemporaryFile.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Hash.h"
#include "runtime/engine/Memory.h"
#include "runtime/engine/Pages.h"
#include "runtime/engine/Program.h"
#include "runtime/engine/Verify.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>
#include <xxhash.h>

namespace ingot::compiler {
namespace {

using runtime::EngineHeader;
using runtime::Hash128;
using std::to_string;

constexpr size_t kReadBack = 1 << 20;

Error ourBug(const std::string &why) {
  return {ExitCode::Internal, errors::kEngineFailsItsChecks,
          "the compiler wrote an engine that fails its own checks", why,
          "please report this with the model's name and the command line"};
}

flatbuffers::DetachedBuffer serialise(const fb::EngineT &table) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  builder.ForceDefaults(true);
  fb::FinishEngineBuffer(builder, fb::Engine::Pack(builder, &table));
  return builder.Release();
}

std::span<const std::byte> bytesOf(const flatbuffers::DetachedBuffer &buffer) {
  return {reinterpret_cast<const std::byte *>(buffer.data()), buffer.size()};
}

Result<void> checkSources(const std::vector<SegmentSource> &sources) {
  for (size_t i = 0; i < sources.size(); ++i) {
    const SegmentSource &source = sources[i];
    if (source.size == 0)
      return ourBug("segment " + to_string(i) + " is empty");
    std::vector<const FillJob *> order;
    for (const FillJob &job : source.jobs)
      order.push_back(&job);
    std::sort(order.begin(), order.end(),
              [](const auto *a, const auto *b) { return a->offset < b->offset; });
    uint64_t end = 0;
    for (const FillJob *job : order) {
      if (job->offset < end || job->offset > source.size || job->size > source.size - job->offset)
        return ourBug("segment " + to_string(i) + " of " + to_string(source.size) +
                      " bytes: a piece of " + to_string(job->size) + " bytes at " +
                      to_string(job->offset) + " is out of bounds or overlaps another piece");
      end = job->offset + job->size;
    }
  }
  return {};
}

/// Sets the derived fields of one program. `packed` is the same program, serialised.
Result<void> completeProgram(fb::ProgramT &table, const fb::Program &packed) {
  for (const fb::Entry *entry : *packed.entries())
    for (const fb::Step *step : *entry->steps())
      if (step->section() >= packed.sections()->size() ||
          packed.sections()->Get(step->section())->cases()->size() == 0)
        return ourBug("a step runs section " + to_string(step->section()));
  std::optional<runtime::MemoryCoefficients> memory = runtime::memoryCoefficients(packed);
  if (!memory)
    return ourBug("the sizes of its buffers overflow, or a state has no size");
  table.bytes_per_token = memory->perToken;
  table.bytes_per_row = memory->perRow;
  table.bytes_fixed = memory->fixed;
  table.bytes_per_page = memory->perPage;
  table.bytes_per_slot = memory->perSlot;
  table.seed_bytes = runtime::seedBytes(packed).value_or(0);
  for (size_t i = 0; i < table.entries.size(); ++i)
    table.entries[i]->launches = static_cast<uint32_t>(
        runtime::launchesOf(*packed.entries()->Get(static_cast<unsigned>(i)), packed));
  return {};
}

/// Sets the derived fields of each program in the table.
Result<void> complete(fb::EngineT &table) {
  if (!table.model)
    return ourBug("the table does not describe the model");
  for (const auto &program : table.programs)
    if (!program->abi)
      return ourBug("a program does not specify its target");
  flatbuffers::DetachedBuffer draft = serialise(table);
  Result<const fb::Engine *> engine = runtime::verifyStructure(bytesOf(draft), "the table");
  if (!engine)
    return ourBug("a required field is missing: " + engine.error().why);
  for (size_t i = 0; i < table.programs.size(); ++i)
    if (Result<void> ok = completeProgram(*table.programs[i],
                                          *(*engine)->programs()->Get(static_cast<unsigned>(i)));
        !ok)
      return ok;
  return {};
}

/// A 64-byte aligned buffer that one thread reuses from job to job.
class JobBuffer {
public:
  ~JobBuffer() { std::free(data); }
  std::span<std::byte> zeroed(uint64_t size) {
    uint64_t room = (size + 63) / 64 * 64;
    if (room > capacity) {
      std::free(data);
      data = static_cast<std::byte *>(std::aligned_alloc(64, room));
      capacity = data ? room : 0;
    }
    if (!data)
      return {};
    std::memset(data, 0, size);
    return {data, size};
  }

private:
  std::byte *data = nullptr;
  uint64_t capacity = 0;
};

/// Writes a file in whole huge pages. If the operating system's page cache supports large folios, it creates one for
/// each huge page that a single write covers, and maps it as a huge page when the engine runs (docs/cpu.md). If a
/// piece shares a huge page with its neighbours, its part of that page is held in memory until the other parts are
/// complete. This class is thread-safe once all pieces have been announced with expect().
class HugePageWriter {
public:
  explicit HugePageWriter(TemporaryFile &file) : file(file) {}

  /// Announces that these bytes will be written, once.
  void expect(uint64_t offset, uint64_t size) {
    forEachShared(offset, size, [&](uint64_t page, uint64_t begin, uint64_t end) {
      Shared &one = shared.try_emplace(page, Shared{begin, end, 0, {}}).first->second;
      one.begin = std::min(one.begin, begin);
      one.end = std::max(one.end, end);
      one.missing += end - begin;
    });
  }

  Result<void> write(uint64_t offset, std::span<const std::byte> bytes) {
    const uint64_t end = offset + bytes.size(),
                   first = (offset + kHugePage - 1) / kHugePage * kHugePage,
                   last = end / kHugePage * kHugePage;
    if (first < last)
      if (Result<void> ok = file.write(first, bytes.subspan(first - offset, last - first)); !ok)
        return ok;
    Result<void> result;
    forEachShared(offset, bytes.size(), [&](uint64_t page, uint64_t from, uint64_t to) {
      if (result)
        result = share(page, from, bytes.subspan(from - offset, to - from));
    });
    return result;
  }

private:
  struct Shared {
    uint64_t begin, end; ///< the part of the page that is written, as file offsets
    uint64_t missing;    ///< bytes of that part not yet written
    std::vector<std::byte> bytes;
  };

  /// Visits each huge page that a piece covers only partly, with the part that it covers.
  template <typename Visit> static void forEachShared(uint64_t offset, uint64_t size, Visit visit) {
    const uint64_t end = offset + size;
    for (uint64_t page : {offset / kHugePage, (end - 1) / kHugePage}) {
      const uint64_t from = std::max(offset, page * kHugePage),
                     to = std::min(end, (page + 1) * kHugePage);
      if (size && to - from < kHugePage)
        visit(page, from, to);
      if (offset / kHugePage == (end - 1) / kHugePage)
        return;
    }
  }

  Result<void> share(uint64_t page, uint64_t from, std::span<const std::byte> bytes) {
    std::vector<std::byte> whole;
    uint64_t begin = 0;
    {
      std::lock_guard lock(mutex);
      Shared &one = shared.at(page);
      one.bytes.resize(one.end - one.begin);
      std::memcpy(one.bytes.data() + (from - one.begin), bytes.data(), bytes.size());
      one.missing -= bytes.size();
      if (one.missing)
        return {};
      whole = std::move(one.bytes);
      begin = one.begin;
    }
    return file.write(begin, whole);
  }

  TemporaryFile &file;
  std::map<uint64_t, Shared> shared; ///< by page number
  std::mutex mutex;                  ///< guards the pages' bytes
};

/// Runs all jobs of all segments on several threads and stops at the first error. Adjacent jobs of a segment
/// are written together, including the zeros between them.
class Filler {
public:
  Filler(TemporaryFile &file, const fb::EngineT &table, std::vector<SegmentSource> &sources,
         const WriteOptions &options)
      : pages(file), options(options) {
    for (const SegmentSource &source : sources)
      for (const FillJob &job : source.jobs)
        total += job.size;
    const uint64_t most = bytesAtOnce(total, options.threads);
    for (size_t i = 0; i < sources.size(); ++i) {
      Group *last = nullptr;
      for (FillJob &job : sources[i].jobs) {
        uint64_t offset = table.segments[i]->offset + job.offset;
        if (last && last->takes(offset, job.size, most)) {
          last->size = offset + job.size - last->offset;
          last->jobs.push_back(&job);
        } else {
          last = &groups.emplace_back(Group{offset, job.size, {&job}, job.offset});
        }
      }
    }
    for (const Group &group : groups)
      pages.expect(group.offset, group.size);
  }

  Result<void> run() {
    size_t threads = std::clamp<size_t>(options.threads, 1, std::max<size_t>(groups.size(), 1));
    std::vector<std::jthread> others;
    try {
      for (size_t i = 1; i < threads; ++i)
        others.emplace_back([this] { work(); });
    } catch (const std::system_error &) { // too few threads; the ones that run do all the work
    }
    work();
    others.clear(); // joins
    return failure;
  }

private:
  struct Group {
    uint64_t offset, size; ///< the range of the file
    std::vector<FillJob *> jobs;
    uint64_t inSegment; ///< the group's offset in the segment

    /// Returns whether a piece can join the group. It must start after the group's last piece, with only alignment
    /// padding in between, and the group must stay within `most` bytes.
    bool takes(uint64_t next, uint64_t bytes, uint64_t most) const {
      return next >= offset + size && next - (offset + size) < 4096 &&
             next + bytes - offset <= most && (next - offset) % 64 == 0;
    }
  };

  void work() {
    JobBuffer buffer;
    while (!stop.load(std::memory_order_relaxed)) {
      size_t index = next.fetch_add(1);
      if (index >= groups.size())
        return;
      report(runGroup(groups[index], buffer), groups[index]);
    }
  }

  Result<void> runGroup(const Group &group, JobBuffer &buffer) {
    std::span<std::byte> bytes = buffer.zeroed(group.size);
    if (bytes.size() != group.size)
      return Error{ExitCode::File, "E0395", "out of memory while packing",
                   to_string(group.size) + " bytes for one piece", "use fewer threads: -j 1"};
    for (FillJob *job : group.jobs) {
      if (Result<void> filled = job->fill(bytes.subspan(job->offset - group.inSegment, job->size));
          !filled)
        return filled;
      job->fill = nullptr; // releases what the closure holds
    }
    return pages.write(group.offset, bytes);
  }

  void report(const Result<void> &result, const Group &group) {
    std::lock_guard lock(mutex);
    if (!result && failure) {
      failure = result;
      stop = true;
    }
    for (const FillJob *job : group.jobs)
      done += job->size;
    if (failure && options.progress)
      options.progress(done, total);
  }

  HugePageWriter pages;
  const WriteOptions &options;
  std::vector<Group> groups;
  uint64_t total = 0, done = 0;
  std::atomic<size_t> next = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex; ///< guards failure and done
  Result<void> failure;
};

/// Reads a segment back, so that the hash covers what the file actually holds.
Result<Hash128> hashSegment(const TemporaryFile &file, uint64_t offset, uint64_t size) {
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                 XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::vector<std::byte> chunk(std::min<uint64_t>(size, kReadBack));
  for (uint64_t end = offset + size; offset < end;) {
    std::span<std::byte> part(chunk.data(), std::min<uint64_t>(chunk.size(), end - offset));
    if (Result<void> ok = file.read(offset, part); !ok)
      return ok.error();
    XXH3_128bits_update(state.get(), part.data(), part.size());
    offset += part.size();
  }
  XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return Hash128{hash.low64, hash.high64};
}

EngineHeader headerOf(std::span<const std::byte> table, uint64_t fileBytes) {
  EngineHeader header{};
  std::memcpy(header.magic, runtime::kMagic, sizeof header.magic);
  header.major = runtime::kFormatMajor;
  header.minor = runtime::kFormatMinor;
  header.fileSize = fileBytes;
  header.tableOffset = sizeof header;
  header.tableSize = table.size();
  header.tableHash = runtime::hash128(table);
  header.checksum = runtime::headerChecksum(header);
  return header;
}

} // namespace

SegmentSource segmentOf(fb::SegmentKind kind, std::string contents) {
  SegmentSource source{kind, contents.size(), {}};
  source.jobs.push_back({0, contents.size(),
                         [contents = std::move(contents)](std::span<std::byte> to) -> Result<void> {
                           std::memcpy(to.data(), contents.data(), contents.size());
                           return {};
                         }});
  return source;
}

Result<WriteResult> writeEngine(const std::string &path, fb::EngineT table,
                                std::vector<SegmentSource> sources, const WriteOptions &options) {
  if (Result<void> ok = checkSources(sources); !ok)
    return ok.error();
  table.segments.clear();
  for (const SegmentSource &source : sources) {
    auto segment = std::make_unique<fb::SegmentT>();
    segment->kind = source.kind;
    segment->size = source.size;
    table.segments.push_back(std::move(segment));
  }
  if (Result<void> ok = complete(table); !ok)
    return ok.error();

  uint64_t tableSize = serialise(table).size(), end = sizeof(EngineHeader) + tableSize;
  for (auto &segment : table.segments) {
    segment->offset = runtime::nextSegment(end);
    end = segment->offset + segment->size;
  }
  uint64_t fileBytes = runtime::nextSegment(end);

  Result<std::unique_ptr<TemporaryFile>> created = TemporaryFile::create(path);
  if (!created)
    return created.error();
  TemporaryFile &file = **created;
  if (Result<void> ok = file.allocate(fileBytes); !ok)
    return ok.error();
  if (Result<void> ok = Filler(file, table, sources, options).run(); !ok)
    return ok.error();
  for (auto &segment : table.segments) {
    Result<Hash128> hash = hashSegment(file, segment->offset, segment->size);
    if (!hash)
      return hash.error();
    segment->hash_lo = hash->low;
    segment->hash_hi = hash->high;
  }

  flatbuffers::DetachedBuffer final = serialise(table);
  if (final.size() != tableSize)
    return ourBug("its table has " + to_string(final.size()) + " bytes instead of " +
                  to_string(tableSize));
  EngineHeader header = headerOf(bytesOf(final), fileBytes);
  if (Result<void> ok = file.write(0, std::as_bytes(std::span(&header, 1))); !ok)
    return ok.error();
  if (Result<void> ok = file.write(sizeof header, bytesOf(final)); !ok)
    return ok.error();

  if (auto loaded = runtime::EngineFile::open(file.path()); !loaded) {
    const Error &error = loaded.error();
    if (error.code == errors::kCannotMapEngine ||
        error.code == errors::kOutOfMemory) // no damage, but no memory to check the file
      return Error{ExitCode::File, "E0396", "not enough memory to check the engine", error.why,
                   error.fix};
    return ourBug(error.code + ": " + error.why);
  }
  if (Result<void> ok = file.commit(); !ok)
    return ok.error();
  return WriteResult{fileBytes};
}

} // namespace ingot::compiler
