//===- VerifyParts.cpp - Kernels, code, buffers, weights, states -----------===//
#include "runtime/abi/Batch.h"
#include "runtime/abi/Limits.h"
#include "runtime/engine/ElfImage.h"
#include "runtime/engine/GpuTarget.h"
#include "runtime/engine/Isa.h"
#include "runtime/engine/Memory.h"
#include "runtime/engine/Program.h"
#include "runtime/engine/Verify.h"
#include "runtime/formats/FragmentLayout.h"
#include "runtime/kv/KvGroup.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace ingot::runtime {
namespace {

using std::to_string;

constexpr uint64_t kMostArgs = 1024;
constexpr uint64_t kMostScratch = uint64_t(1) << 32;
constexpr uint64_t kMostElements = uint64_t(1) << 56; ///< of a weight; at 4 bytes each it fits 63
                                                      ///< bits

class PartsVerifier {
public:
  PartsVerifier(std::span<const std::byte> file, const fb::Engine &engine,
                const fb::Program &program, const std::string &name)
      : file(file), engine(engine), program(program), name(name) {}

  Result<void> verify() {
    for (auto part : {&PartsVerifier::abi, &PartsVerifier::kernels, &PartsVerifier::code,
                      &PartsVerifier::buffers, &PartsVerifier::weights, &PartsVerifier::states,
                      &PartsVerifier::costs})
      if (Result<void> ok = (this->*part)(); !ok)
        return ok;
    return {};
  }

private:
  Error bad(const char *code, const std::string &why) const { return damaged(code, name, why); }

  const fb::Segment *segmentOf(uint64_t index, fb::SegmentKind kind) const {
    if (index >= engine.segments()->size() || engine.segments()->Get(index)->kind() != kind)
      return nullptr;
    return engine.segments()->Get(index);
  }

  Result<void> abi();
  Result<void> kernels();
  Result<void> code();
  Result<void> codeObject(const fb::CodeObject &code);
  Result<void> buffers();
  Result<void> weights();
  Result<void> weight(const fb::Weight &weight);
  Result<void> weightsApart();
  Result<void> states();
  Result<void> costs();

  std::span<const std::byte> file;
  const fb::Engine &engine; ///< has the segments
  const fb::Program &program;
  const std::string &name;
};

/// A program that requires more than this runtime provides would write beyond its arenas.
Result<void> PartsVerifier::abi() {
  const fb::Abi &abi = *program.abi();
  if (abi.page_tokens() != kPageTokens || abi.attention_tile() != kAttentionTile ||
      abi.greedy_rows() > kGreedyRows || abi.read_block() > kReadBlock)
    return bad("E0324", "its kernels were compiled for pages of " + to_string(abi.page_tokens()) +
                            " positions, tiles of " + to_string(abi.attention_tile()) + ", " +
                            to_string(abi.greedy_rows()) + " greedy rows and reads of " +
                            to_string(abi.read_block()) + "; this ingot has " +
                            to_string(kPageTokens) + ", " + to_string(kAttentionTile) + ", " +
                            to_string(kGreedyRows) + " and " + to_string(kReadBlock));
  return {};
}

static bool isSymbolName(std::string_view s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !s.empty() && letter(s[0]) && std::all_of(s.begin(), s.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '$';
  });
}

Result<void> PartsVerifier::kernels() {
  if (program.kernels()->size() == 0)
    return bad("E0325", "it has no kernels");
  std::set<std::string_view> names;
  for (const fb::Kernel *k : *program.kernels()) {
    std::string kernel = "kernel '" + k->name()->str() + "': ";
    if (!isSymbolName(k->name()->string_view()) || !names.insert(k->name()->string_view()).second)
      return bad("E0326", kernel + "its name is not a valid symbol, or is a duplicate");
    if ((k->grid()->base() > fb::GridBase::Tiles && k->grid()->base() != fb::GridBase::Spans) ||
        k->grid()->factor() == 0 || k->grid()->factor() > (uint64_t(1) << 40))
      return bad("E0327", kernel + "grid of base " + to_string(int(k->grid()->base())) + " times " +
                              to_string(k->grid()->factor()));
    if (k->partition() > fb::Partition::MAX)
      return bad("E0328", kernel + "partition " + to_string(int(k->partition())) + " is unknown");
    if (k->args() > kMostArgs)
      return bad("E0329", kernel + to_string(k->args()) + " operands");
    if (k->scratch_bytes() > kMostScratch)
      return bad("E0330", kernel + to_string(k->scratch_bytes()) + " bytes of scratch per thread");
    if (k->experts() > uint64_t(kMostExperts) || k->experts_used() > k->experts() ||
        (k->experts() && !k->experts_used()))
      return bad("E0821", kernel + to_string(k->experts_used()) + " of " + to_string(k->experts()) +
                              " experts");
  }
  return {};
}

Result<void> PartsVerifier::code() {
  if (program.code()->size() == 0)
    return bad("E0331", "it has no code");
  std::set<std::string_view> targets;
  for (const fb::CodeObject *code : *program.code()) {
    std::string target = code->target()->str();
    bool gpu = gpuTargetNamed(target).has_value();
    if (!gpu && (!isaLevelNamed(target) || isaTarget(*isaLevelNamed(target)) != target))
      return bad("E0332", "code for '" + target + "': unknown target");
    if (gpu != (deviceKind(program) == DeviceKind::Cuda))
      return bad("E0801", "code for '" + target + "' is in the program of another kind of device");
    if (!targets.insert(code->target()->string_view()).second)
      return bad("E0333", "duplicate code for '" + target + "'");
    if (Result<void> ok = codeObject(*code); !ok)
      return ok;
  }
  return {};
}

Result<void> PartsVerifier::codeObject(const fb::CodeObject &code) {
  std::string target = code.target()->str();
  const fb::Segment *segment = segmentOf(code.segment(), fb::SegmentKind::Code);
  if (!segment)
    return bad("E0334", "code for '" + target + "': segment " + to_string(code.segment()) +
                            " is not a code segment");
  std::span<const std::byte> bytes = file.subspan(segment->offset(), segment->size());
  if (gpuTargetNamed(target))
    return verifyGpuCode(bytes, program, code, name);
  if (code.kernel_symbols()->size() != program.kernels()->size())
    return bad("E0335", "code for '" + target + "' has " +
                            to_string(code.kernel_symbols()->size()) + " symbols for " +
                            to_string(program.kernels()->size()) + " kernels");
  Result<ElfImage> image = parseElf(bytes, target);
  if (!image) {
    image.error().what = name + " contains code that cannot be loaded";
    return image.error();
  }
  for (const flatbuffers::String *symbol : *code.kernel_symbols())
    if (!image->find(symbol->string_view()))
      return bad("E0341", "code for '" + target + "' has no function '" + symbol->str() + "'");
  return {};
}

Result<void> PartsVerifier::buffers() {
  unsigned index = 0;
  for (const fb::Buffer *b : *program.buffers()) {
    std::string buffer = "buffer " + to_string(index++) + ": ";
    if (b->class_() > fb::BufferClass::MAX)
      return bad("E0342", buffer + "class " + to_string(int(b->class_())) + " is unknown");
    if (b->per_unit() == 0 || b->per_unit() % 64 != 0)
      return bad("E0343", buffer + to_string(b->per_unit()) + " bytes are not a multiple of 64");
    if (b->offset() % 64 != 0)
      return bad("E0344", buffer + "offset " + to_string(b->offset()) + " is not a multiple of 64");
  }
  return {};
}

Result<void> PartsVerifier::weight(const fb::Weight &w) {
  std::string label = "weight '" + w.name()->str() + "': ";
  std::optional<WeightFormat> format = weightFormatNamed(w.format()->string_view());
  if (w.layout() > fb::WeightLayout::MAX)
    return bad("E0346", label + "layout " + to_string(int(w.layout())) + " is unknown");
  if (w.source() > fb::WeightSource::MAX)
    return bad("E0380", label + "source " + to_string(int(w.source())) + " is unknown");
  bool vector = w.layout() == fb::WeightLayout::VectorF32;
  if (!format || (vector && *format != WeightFormat::F32))
    return bad("E0347", label + "format '" + w.format()->str() + "' is unknown" +
                            (vector ? " for a vector" : ""));

  // The FlatBuffers verifier checks the alignment of a vector's length, but not the alignment of the 8-byte elements
  // that follow it.
  if (w.shape() && reinterpret_cast<uintptr_t>(w.shape()->Data()) % alignof(uint64_t) != 0)
    return bad("E0348", label + "its shape is misaligned in the table");
  size_t rank = w.shape() ? w.shape()->size() : 0;
  const bool stack = rank == 3;
  uint64_t n = rank > 0 ? w.shape()->Get(stack) : 0, k = rank > 1 ? w.shape()->Get(stack + 1) : 1,
           matrices = stack ? w.shape()->Get(0) : 1;
  bool small = n != 0 && k != 0 && n < kMostElements / 256 && k < kMostElements / 256;
  auto elements = small ? checkedMul(roundUp(n, kPanelRows), roundUp(k, 256)) : std::nullopt;
  if (elements)
    elements = checkedMul(*elements, matrices);
  if ((vector ? rank != 1 : rank != 2 && !stack) || !elements || *elements == 0 ||
      *elements > kMostElements)
    return bad("E0348", label + "a shape of rank " + to_string(rank) + ", " +
                            (stack ? to_string(matrices) + " x " : "") + to_string(n) + " x " +
                            to_string(k));
  bool fragments = w.layout() == fb::WeightLayout::Fragment16;
  uint64_t expected = vector      ? f32RowBytes(n)
                      : fragments ? fragmentLayout(*format, n, k, matrices).bytes()
                                  : panelLayout(*format, n, k, matrices).bytes();

  bool seeded = w.source() == fb::WeightSource::Seed; // a generated weight has no segment
  const fb::Segment *segment = segmentOf(w.segment(), fb::SegmentKind::Weights);
  if (!seeded && !segment)
    return bad("E0349", label + "segment " + to_string(w.segment()) + " is not a weight segment");
  if (w.offset() % kWeightAlignment != 0)
    return bad("E0350", label + "offset " + to_string(w.offset()) + " is not a multiple of 64");
  if (w.size() != expected)
    return bad("E0351", label + to_string(w.size()) + " bytes; its shape and format need " +
                            to_string(expected));
  uint64_t room = seeded ? program.seed_bytes() : segment->size();
  if (w.offset() > room || w.size() > room - w.offset())
    return bad("E0352", label + to_string(w.size()) + " bytes at " + to_string(w.offset()) +
                            " extend beyond its " + (seeded ? "memory's " : "segment's ") +
                            to_string(room));
  return {};
}

Result<void> PartsVerifier::weights() {
  std::set<std::pair<std::string_view, fb::WeightLayout>> names;
  for (const fb::Weight *w : *program.weights()) {
    if (!w->format())
      return bad("E0347", "weight '" + w->name()->str() + "' has no format");
    if (Result<void> ok = weight(*w); !ok)
      return ok;
    if (!names.insert({w->name()->string_view(), w->layout()}).second)
      return bad("E0354", "duplicate weight '" + w->name()->str() + "'");
  }
  // Every size follows from its shape, but shapes are unbounded: the memory that they need is
  // counted in the memory plan and rejected there, before any is allocated.
  if (std::optional<uint64_t> sum = seedBytes(program); !sum || program.seed_bytes() != *sum)
    return bad("E0387", "its weights from the seed take " +
                            (sum ? to_string(*sum) : std::string("more than 2^63")) +
                            " bytes, not " + to_string(program.seed_bytes()));
  return weightsApart();
}

Result<void> PartsVerifier::weightsApart() {
  std::vector<const fb::Weight *> order(program.weights()->begin(), program.weights()->end());
  // All generated weights share one memory region, whatever segment they name.
  auto region = [](const fb::Weight *w) {
    return std::tuple(w->source(), w->source() == fb::WeightSource::Seed ? 0 : w->segment());
  };
  std::sort(order.begin(), order.end(), [&](const auto *a, const auto *b) {
    return std::tuple(region(a), a->offset()) < std::tuple(region(b), b->offset());
  });
  for (size_t i = 1; i < order.size(); ++i)
    if (region(order[i]) == region(order[i - 1]) &&
        order[i]->offset() < order[i - 1]->offset() + order[i - 1]->size())
      return bad("E0353", "weights '" + order[i - 1]->name()->str() + "' and '" +
                              order[i]->name()->str() + "' overlap");
  return {};
}

Result<void> PartsVerifier::states() {
  constexpr unsigned kMostStreams = 16;
  std::set<std::string_view> names;
  for (const fb::State *state : *program.states()) {
    std::string label = "state '" + state->name()->str() + "': ";
    if (state->kind() > fb::StateKind::MAX)
      return bad("E0355", label + "kind " + to_string(int(state->kind())) + " is unknown");
    if (!names.insert(state->name()->string_view()).second || state->streams()->size() == 0 ||
        state->streams()->size() > kMostStreams)
      return bad("E0355", label + "its name is a duplicate, or it has " +
                              to_string(state->streams()->size()) + " streams");
    std::string shapes;
    for (const fb::Stream *stream : *state->streams())
      shapes += ", " + stream->name()->str() + " " + to_string(stream->heads()) + " x " +
                to_string(stream->width()) + " " + stream->format()->str();
    if (state->kind() == fb::StateKind::Fixed) {
      std::optional<uint64_t> slot = slotBytes(*state);
      if (!slot || state->window() != 0 || state->page_bytes() != 0)
        return bad("E0860",
                   label + "no slot can hold" + shapes.substr(1) + ", or it has a window or pages");
      if (state->slot_bytes() != *slot)
        return bad("E0861", label + "a slot of " + to_string(state->slot_bytes()) +
                                " bytes; its streams need " + to_string(*slot));
      continue;
    }
    std::optional<uint64_t> bytes = pageBytes(*state, program.abi()->page_tokens());
    if (!bytes || *bytes % 64 != 0)
      return bad("E0355", label + "no page can hold" + shapes.substr(1));
    if (state->page_bytes() != *bytes || state->slot_bytes() != 0)
      return bad("E0356", label + "a page of " + to_string(state->page_bytes()) +
                              " bytes; its streams need " + to_string(*bytes));
  }
  std::optional<MemoryCoefficients> sums = memoryCoefficients(program);
  if (!sums || program.bytes_per_token() != sums->perToken ||
      program.bytes_per_row() != sums->perRow || program.bytes_fixed() != sums->fixed)
    return bad("E0345", "its memory of " + to_string(program.bytes_per_token()) + ", " +
                            to_string(program.bytes_per_row()) + " and " +
                            to_string(program.bytes_fixed()) +
                            " bytes per token, row and engine differs from the sum of its buffers");
  if (program.bytes_per_page() != sums->perPage)
    return bad("E0357", "its states' pages have " + to_string(sums->perPage) + " bytes, not " +
                            to_string(program.bytes_per_page()));
  if (program.bytes_per_slot() != sums->perSlot)
    return bad("E0861", "its states' slots have " + to_string(sums->perSlot) + " bytes, not " +
                            to_string(program.bytes_per_slot()));
  return {};
}

Result<void> PartsVerifier::costs() {
  for (const fb::CodeObject *code : *program.code())
    if (code->costs() && code->costs()->size() != program.kernels()->size())
      return bad("E0379", "its code " + code->target()->str() + " has " +
                              to_string(code->costs()->size()) + " costs for " +
                              to_string(program.kernels()->size()) + " kernels");
  return {};
}

} // namespace

Result<void> verifyParts(std::span<const std::byte> file, const fb::Engine &engine,
                         const fb::Program &program, const std::string &name) {
  return PartsVerifier(file, engine, program, name).verify();
}

} // namespace ingot::runtime
