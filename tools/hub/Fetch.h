//===- Fetch.h - From a model's name to a checkpoint on this machine ------===//
//
// Each fetch requests the list of files, which is one small request, to notice a branch that has moved.
// The files that the commit needs and the cache lacks are fetched, small files first. No request is made
// for a commit that is complete in the cache, nor with HF_HUB_OFFLINE. If the hub does not answer, the
// cached files of the revision are used and a line reports it.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/hub/HubCache.h"
#include "tools/hub/HubClient.h"

#include <optional>
#include <string>

namespace ingot::hub {

/// Fetches a model and returns the path for openCheckpoint: the snapshot's folder, or a file in it. Errors:
/// E0151: there is no place for models; E0160: offline and not all files are cached; all errors of HubClient,
/// WantedFiles and BlobFile.
Result<std::string> fetchModel(const Reference &reference, const Settings &settings,
                               Listener &listener);

/// Returns the same path from the cache alone, if the cache has all files that the model needs.
std::optional<std::string> localModel(const Reference &reference, const Settings &settings);

/// A model without its weights, which is enough to decide whether it would compile.
struct Outline {
  std::string folder; ///< the snapshot, with config.json and the files of the tokenizer
  struct Weights {
    std::string file, header; ///< the JSON at the head of a safetensors file
    uint64_t bytes = 0;       ///< of the whole file
  };
  std::vector<Weights> weights;
};

/// Fetches the small files as fetchModel does, but only the header of each safetensors file, by range
/// requests. Errors: as fetchModel; E0166: the model is a GGUF, which has no outline until it is fetched.
Result<Outline> fetchOutline(const Reference &reference, const Settings &settings,
                             Listener &listener);

/// Returns the size of a safetensors header, from the file's first 8 bytes; nothing if the size is not valid.
std::optional<uint64_t> headerBytes(std::string_view firstBytes);

} // namespace ingot::hub
