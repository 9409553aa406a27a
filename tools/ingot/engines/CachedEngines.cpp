//===- CachedEngines.cpp - See CachedEngines.h -----------------------------===//
#include "tools/ingot/engines/CachedEngines.h"

#include "runtime/engine/EngineFile.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>

namespace ingot::cli {

namespace fs = std::filesystem;

namespace {

/// Returns the requested weight formats ("int8", "as stored"), followed by a note if the weights are dummy weights.
std::string formatsOf(const fb::Engine &table) {
  std::string formats, weights;
  if (const auto *attributes = table.provenance())
    for (const auto *attribute : *attributes) {
      const std::string key = attribute->key()->str();
      if (key == "quantize")
        formats = attribute->value()->str();
      else if (key == "weights")
        weights = ", dummy weights: " + attribute->value()->str();
    }
  return formats + weights;
}

} // namespace

std::vector<CachedEngine> cachedEngines(const fs::path &folder) {
  std::vector<CachedEngine> engines;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    struct stat info = {};
    if (at->path().extension() != ".ingot" || ::stat(at->path().c_str(), &info) != 0 ||
        !S_ISREG(info.st_mode))
      continue;
    CachedEngine engine{at->path().stem().string(), "", "", static_cast<uint64_t>(info.st_size),
                        info.st_atime};
    if (auto file = runtime::EngineFile::open(at->path().string())) {
      engine.model = (*file)->table().model()->name()->str();
      engine.formats = formatsOf((*file)->table());
    }
    const timespec times[2] = {info.st_atim,
                               {0, UTIME_OMIT}}; // restore the access time, which reading may
                                                 // have changed
    ::utimensat(AT_FDCWD, at->path().c_str(), times, 0);
    engines.push_back(std::move(engine));
  }
  std::ranges::sort(engines, {}, &CachedEngine::name);
  return engines;
}

void noteUse(const fs::path &engine) {
  // Sets the access time explicitly, because on most mounts a read updates it at most once a day.
  const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  ::utimensat(AT_FDCWD, engine.c_str(), times, 0);
}

GeneratedCode generatedCode(const fs::path &folder) {
  GeneratedCode code;
  std::error_code failure;
  for (fs::recursive_directory_iterator at(folder / "code", failure), end; !failure && at != end;
       at.increment(failure))
    if (std::error_code gone; at->is_regular_file(gone)) {
      ++code.files;
      code.bytes += at->file_size(gone);
    }
  return code;
}

} // namespace ingot::cli
