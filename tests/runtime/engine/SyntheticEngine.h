//===- SyntheticEngine.h - A small complete engine, to be spoiled ---------===//
//
// Two layers, three kernels' worth of program, weights of three formats, text
// artefacts, both CPU levels with real (tiny) ELF objects. `assemble` builds files
// byte by byte without the writer, so that a test can make what the writer never would.
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

/// The program for CPUs, and what both of them run.
Program &cpuProgram(Table &table);
fb::EntryT &entryOf(Program &program);
/// Its output of that role; it must have one.
fb::OutputT &outputOf(Program &program, fb::OutputRole role);
fb::OutputT &addOutput(Program &program, fb::OutputRole role, fb::Encoding encoding, size_t buffer);

/// Everything that writeEngine() wants filled in. `variant` changes the weights' bytes.
struct Synthetic {
  Table table;
  std::vector<compiler::SegmentSource> sources;
};
Synthetic syntheticEngine(unsigned variant = 0);

/// The same model, its three matrices made from seed 7 at load.
Synthetic seededEngine();
/// Makes the matrices of a synthetic engine's table seeded; their old bytes belong to nobody.
void seedMatrices(Table &table);

/// The program for GPUs of a finished table: added when first asked for, with a cubin and PTX in
/// segments 5 and 6, which `assemble` fills. Kernel 0 has two variants, the first for 8 tokens.
Program &withGpuProgram(Table &table);
/// A good one, of rows of x, for a variant of its first kernel.
fb::TensorMapT &addTensorMap(fb::VariantT &variant);
/// Its first variant in clusters of two with a tensor map.
void withCluster(Table &table);
/// Its first kernel with a variant for each kind of attention tiles.
void withShares(Table &table);
/// Keys of greedy steps and maxima of logits, on CPUs.
void withMaxima(Table &table);
/// A state of fixed size, 512 bytes a slot, which nobody reads.
fb::StateT &addFixedState(Program &program);
/// A place for ids of greedy and drawn steps, and a section that finds them.
void withIds(Program &program);

/// An object built from kernels.c: "plain", "data", "bss", "relocation", "undefined", "half".
std::string codeObject(const std::string &name);

std::string readFile(const std::string &path);
void writeFile(const std::string &path, std::string_view bytes);

/// A fresh folder, removed with all it holds.
class Folder {
public:
  Folder();
  ~Folder();
  std::string operator/(const std::string &name) const { return path + "/" + name; }
  std::vector<std::string> names() const; ///< of everything inside, sorted
  std::string path;
};

/// The bytes of a valid engine, as the writer makes it.
std::string validEngine(unsigned variant = 0);

/// A file with correct header, places and hashes around a changed table: `before` changes it
/// before segments are placed and hashed, `after` afterwards. `segments` replaces contents.
std::string assemble(const Change &before, const Change &after = {},
                     const std::function<void(std::vector<std::string> &)> &segments = {});

/// Recomputes table hash, size and checksum of the header.
void sealHeader(std::string &file);

/// 4096-byte aligned copy, as the loader's mapping is.
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
