//===- Fetch.h - From a model's name to a checkpoint on this machine ------===//
//
// The list of files is asked for each time, so that a branch that has moved on is noticed: one small
// request. What its commit needs and the cache lacks is fetched, small files first. No request is made for a
// commit that is all there, nor with HF_HUB_OFFLINE; and where nobody answers, what the cache has of the
// revision is taken, with a line that says so.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/hub/HubCache.h"
#include "tools/hub/HubClient.h"

#include <optional>
#include <string>

namespace ingot::hub {

/// What openCheckpoint takes: the snapshot's folder, or a file in it. Errors: E0151 there is no place for
/// models, E0160 offline and not all there, those of HubClient, WantedFiles and BlobFile.
Result<std::string> fetchModel(const Reference &reference, const Settings &settings,
                               Listener &listener);

/// The same from the cache alone, if all that it needs is there.
std::optional<std::string> localModel(const Reference &reference, const Settings &settings);

/// A model without its weights: what tells whether it would compile.
struct Outline {
  std::string folder; ///< the snapshot, with config.json and the files of the tokenizer
  struct Weights {
    std::string file, header; ///< the JSON at the head of a safetensors file
    uint64_t bytes = 0;       ///< of the whole file
  };
  std::vector<Weights> weights;
};

/// Fetches the small files as fetchModel does, and of each safetensors its header alone, by ranges. Errors: as
/// fetchModel; E0166 a GGUF, which says nothing of itself until it is here.
Result<Outline> fetchOutline(const Reference &reference, const Settings &settings,
                             Listener &listener);

/// The size of a safetensors' header, from the file's first 8 bytes; nothing for what no header has.
std::optional<uint64_t> headerBytes(std::string_view firstBytes);

} // namespace ingot::hub
