//===- EngineFile.h - An engine, opened, checked and mapped ---------------===//
//
// Opening maps the file read-only and verifies it in two steps before it can be used: the
// FlatBuffers verifier checks the structure, Verify.cpp the meaning. The result of `table()` can
// then be used without further checks: every index is in range, every offset inside its segment,
// every size recomputed.
//
//   VerifyLevel::Table       everything except the bulk data: header, table, meaning, the
//                            hash of all segments except weights (a few ms)
//   VerifyLevel::Everything  also the hash of every segment and all padding
//
// The descriptor stays open, so replacing the file by a rename does not affect an engine in use.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Header.h"
#include "runtime/error/Error.h"
#include "runtime/schema/engine_generated.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

enum class VerifyLevel { Table, Everything };

/// Immutable and safe to share between threads.
class EngineFile {
public:
  /// Errors: E0301 … E0380, E0387, E0801 … E0861 (Verify.h) and E0507 (no memory), exit code 3. A
  /// symbolic link to a regular file is followed; a pipe, device or folder is rejected without
  /// blocking.
  static Result<std::shared_ptr<EngineFile>> open(const std::string &path,
                                                  VerifyLevel level = VerifyLevel::Table);

  /// Runs the same checks on bytes in memory, for tests and fuzzers. `bytes` must be 64-byte
  /// aligned and outlive the result; `descriptor()` is -1.
  static Result<std::shared_ptr<EngineFile>> fromMemory(std::span<const std::byte> bytes,
                                                        VerifyLevel level);

  ~EngineFile();
  EngineFile(const EngineFile &) = delete;
  EngineFile &operator=(const EngineFile &) = delete;

  const EngineHeader &header() const;
  const fb::Engine &table() const { return *engine; }

  /// Returns the bytes of segment `index`, without padding; 4096-byte aligned.
  std::span<const std::byte> segment(size_t index) const;

  /// Returns the bytes of a weight of one of the programs; 64-byte aligned. Empty if the device generates the
  /// weight from the seed.
  std::span<const std::byte> weightData(const fb::Weight &weight) const;

  /// Text artefacts; empty if the engine has none.
  std::span<const std::byte> tokenizer() const;
  /// Returns the template called `name` (see templateNames()); the main template if `name` is empty.
  std::string_view chatTemplate(std::string_view name = "") const;
  std::vector<std::string_view> templateNames() const; ///< names of the templates other than the
                                                       ///< main one
  /// Like chatTemplate(), but "default" also means the main template. E0627: there is no template
  /// of that name.
  Result<std::string_view> chatTemplateCalled(const std::string &name) const;
  std::vector<int32_t> textPrefix() const; ///< tokens before a plain prompt
  std::vector<int32_t> textSuffix() const; ///< tokens after a text to be embedded

  const std::string &path() const { return name; }
  uint64_t fileBytes() const { return bytes.size(); }
  std::span<const std::byte> contents() const { return bytes; }
  int descriptor() const { return fd; }

private:
  EngineFile() = default;
  Result<void> verify(VerifyLevel level);

  std::string name;
  int fd = -1;
  std::span<const std::byte> bytes;
  const fb::Engine *engine = nullptr;
};

} // namespace ingot::runtime
