//===- FileKind.cpp - See FileKind.h ---------------------------------------===//
#include "compiler/import/files/FileKind.h"

#include <cstring>
#include <filesystem>
#include <fstream>

namespace ingot::import {

namespace {

constexpr char kConvertOld[] =
    "convert the original model again: llama.cpp's convert_hf_to_gguf.py";
constexpr char kConvertPickled[] =
    "convert it: load the model with transformers, then save_pretrained()";

constexpr OtherFile kOthers[] = {
    {"version https://git-lfs", "a Git LFS pointer instead of the file",
     "fetch the file itself: git lfs pull, in its folder"},
    {"<!DOCTYPE", "a web page", "download the file itself, not its web page"},
    {"<!doctype", "a web page", "download the file itself, not its web page"},
    {"<html", "a web page", "download the file itself, not its web page"},
    {"PK\x03\x04", "a ZIP archive, such as pickled weights of PyTorch", kConvertPickled},
    {"\x80\x02", "pickled weights of PyTorch", kConvertPickled},
    {"lmgg", "a model of ggml from before GGUF", kConvertOld},
    {"fmgg", "a model of ggml from before GGUF", kConvertOld},
    {"tjgg", "a model of ggml from before GGUF", kConvertOld},
    {"algg", "a LoRA adapter of ggml from before GGUF", kConvertOld},
    {"FUGG", "a big-endian GGUF file", "convert it: gguf-convert-endian FILE little"},
    {"\x89HDF", "an HDF5 file", kConvertPickled},
};

/// Returns the first bytes of a regular file, or fewer if the file is shorter.
std::string firstBytes(const std::string &path, size_t count) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) // reading a pipe would block
    return {};
  std::string bytes(count, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

} // namespace

FileKind fileKind(const std::string &path) {
  const std::string bytes = firstBytes(path, 64);
  if (bytes.starts_with("GGUF"))
    return FileKind::Gguf;
  uint64_t length = 0;
  if (bytes.size() > sizeof length && bytes[sizeof length] == '{') {
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length < uint64_t(1) << 32) // eight characters of text would be a far larger number
      return FileKind::Safetensors;
  }
  const size_t begin = bytes.find_first_not_of(" \t\r\n");
  return begin != std::string::npos && bytes[begin] == '{' ? FileKind::Json : FileKind::Other;
}

bool isCheckpointFile(const std::string &path) {
  for (const char *ending : {".gguf", ".safetensors", ".json"})
    if (path.ends_with(ending))
      return true;
  return fileKind(path) != FileKind::Other;
}

const OtherFile *otherFile(std::string_view bytes) {
  for (const OtherFile &each : kOthers)
    if (bytes.starts_with(each.start))
      return &each;
  return nullptr;
}

Error withOtherFile(Error error, std::string_view bytes) {
  if (const OtherFile *other = otherFile(bytes)) {
    error.why += std::string("; it is ") + other->what;
    error.fix = other->fix;
  }
  return error;
}

} // namespace ingot::import
