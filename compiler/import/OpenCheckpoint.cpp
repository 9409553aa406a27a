//===- OpenCheckpoint.cpp - What kind of checkpoint a path names ----------===//
#include "compiler/import/Checkpoint.h"
#include "compiler/import/ContentHash.h"
#include "compiler/import/Gguf.h"
#include "compiler/import/ImportErrors.h"
#include "compiler/import/MappedFile.h"

#include <filesystem>

namespace ingot::import {

namespace {

Result<std::shared_ptr<Checkpoint>> openGguf(const std::string &path) {
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.error();
  CheckpointBuilder builder(Container::Gguf);
  builder.setName(std::filesystem::path(path).stem().string());
  if (Result<void> read = readGguf((*file)->bytes(), path, builder); !read)
    return read.error();
  builder.keep(*file);
  return builder.finish(hashContent({(*file)->bytes()}));
}

} // namespace

Result<std::shared_ptr<Checkpoint>> openCheckpoint(const std::string &path) {
  if (path.ends_with(".gguf"))
    return openGguf(path);
  return refuse(cause::unknownKind, line("cannot tell what ", fileName(path), " is"),
                line(inQuotes(path), " is no folder and ends neither in .gguf, .safetensors nor "
                                   ".json"),
                "name a checkpoint: a folder, a .gguf, a .safetensors or a config.json");
}

} // namespace ingot::import
