//===- SyntheticEngine.h - A small complete engine for tests to damage ----===//
//
// It has two layers, a program of three kernels, weights of three formats, text
// artefacts, and both CPU levels with real (tiny) ELF objects. `assemble` builds files
// byte by byte without the writer, so tests can build files that the writer never would.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/engine/EngineWriter.h"
#include "runtime/engine/EngineFile.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ingot::test {

using Table = fb::EngineT;
using Program = fb::ProgramT;
using Change = std::function<void(Table &)>;

/// Return the CPU program, and the entry point of a program.
Program &cpuProgram(Table &table);
fb::EntryT &entryOf(Program &program);
/// Returns the program's output of that role, which must exist.
fb::OutputT &outputOf(Program &program, fb::OutputRole role);
fb::OutputT &addOutput(Program &program, fb::OutputRole role, fb::Encoding encoding, size_t buffer);

/// All inputs of writeEngine(). `variant` selects the weights' bytes.
struct Synthetic {
  Table table;
  std::vector<compiler::SegmentSource> sources;
};
Synthetic syntheticEngine(unsigned variant = 0);

/// Returns the same model with its three matrices generated from seed 7 at load.
Synthetic seededEngine();
/// Makes the matrices of a synthetic engine's table generated weights. Their old bytes stay unused.
void seedMatrices(Table &table);

/// Returns the GPU program of a finished table. The first call adds it, with a cubin and PTX in
/// segments 5 and 6, which `assemble` fills. Kernel 0 has two variants, the first for 8 tokens.
Program &withGpuProgram(Table &table);
/// Adds a valid tensor map of rows of x to a variant of the GPU program's first kernel.
fb::TensorMapT &addTensorMap(fb::VariantT &variant);
/// Gives the GPU program's first variant clusters of two and a tensor map.
void withCluster(Table &table);
/// Gives the GPU program's first kernel a variant for each kind of attention tile.
void withShares(Table &table);
/// Adds the outputs `keys` (argmax keys of greedy steps) and `maxima` (of logits) to the CPU program.
void withMaxima(Table &table);
/// Adds a state of fixed size, 512 bytes per slot, that no kernel reads.
fb::StateT &addFixedState(Program &program);
/// Adds a buffer for the ids of greedy and sampling steps, and a section that finds them.
void withIds(Program &program);

/// Returns an object built from kernels.c: "plain", "data", "bss", "relocation", "undefined", "half".
std::string codeObject(const std::string &name);

std::string readFile(const std::string &path);
void writeFile(const std::string &path, std::string_view bytes);

/// A new folder, removed with its contents on destruction.
class Folder {
public:
  Folder();
  ~Folder();
  std::string operator/(const std::string &name) const { return path + "/" + name; }
  std::vector<std::string> names() const; ///< of all entries, sorted
  std::string path;
};

/// Returns the bytes of a valid engine as the writer produces them.
std::string validEngine(unsigned variant = 0);

/// Returns a file with correct header, offsets and hashes for a changed table. `before` changes the
/// table before segments are placed and hashed, `after` afterwards. `segments` replaces contents.
std::string assemble(const Change &before, const Change &after = {},
                     const std::function<void(std::vector<std::string> &)> &segments = {});

/// Recomputes the table hash, the size and the checksum in the header.
void sealHeader(std::string &file);

/// A 4096-byte aligned copy, aligned like the loader's mapping.
class AlignedBytes {
public:
  explicit AlignedBytes(std::string_view bytes);
  std::span<const std::byte> span() const { return {data.get(), size}; }
  std::byte *bytes() { return data.get(); }

private:
  std::unique_ptr<std::byte[], void (*)(void *)> data;
  size_t size;
};

} // namespace ingot::test
