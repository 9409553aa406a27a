//===- BadEngines.cpp - See BadEngines.h ----------------------------------===//
#include "BadEngines.h"

#include <algorithm>
#include <cmath>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

EngineHeader &header(std::string &file) { return *reinterpret_cast<EngineHeader *>(file.data()); }

/// Removes a field of a table in the file. FlatBufferBuilder packs no table without its required fields
/// (FLATBUFFERS_ASSERT).
template <typename T> void removeField(std::string &file, const T &table, int field) {
  const uint8_t *places = reinterpret_cast<const flatbuffers::Table &>(table).GetVTable();
  const auto at = size_t(places - reinterpret_cast<const uint8_t *>(file.data())) + size_t(field);
  file.replace(at, sizeof(flatbuffers::voffset_t), sizeof(flatbuffers::voffset_t), '\0');
  sealHeader(file);
}
const fb::Engine &tableOf(std::string &file) {
  return *fb::GetEngine(file.data() + header(file).tableOffset);
}

fb::LaunchT &launch(Program &p, int section) { return *p.sections[section]->cases[0]->launches[0]; }
fb::LaunchT &launch(Table &t, int section) { return launch(cpuProgram(t), section); }
fb::StepT &step(Table &t, int index) { return *entryOf(cpuProgram(t)).steps[index]; }
fb::StreamT &stream(Table &t) { return *cpuProgram(t).states[0]->streams[0]; }
/// Adds an output to the CPU program.
fb::OutputT &output(Table &t, fb::OutputRole role, fb::Encoding encoding, size_t buffer) {
  return addOutput(cpuProgram(t), role, encoding, buffer);
}
void addMode(Table &t, fb::Mode mode) { entryOf(cpuProgram(t)).modes.push_back(mode); }
constexpr size_t kLogits = 2; ///< buffer index

std::function<void(std::vector<std::string> &)> object(const char *name) {
  return [name](auto &segments) { segments[1] = codeObject(name); };
}

/// Overwrites some bytes of the second code object.
std::function<void(std::vector<std::string> &)> poke(size_t offset, std::string bytes) {
  return [=](auto &segments) { segments[1].replace(offset, bytes.size(), bytes); };
}

// Returns the GPU program of a table, and adds it on first use.
Program &gpuProgram(Table &t) { return withGpuProgram(t); }
fb::CodeObjectT &gpuCode(Table &t, size_t index = 0) { return *gpuProgram(t).code[index]; }
/// Returns the first of the two variants of the GPU program's first kernel, for at most 8 tokens.
fb::VariantT &variant(Table &t) { return *gpuCode(t).variants[0]->variants[0]; }
/// Adds a valid fill of generated weights, which the caller then breaks.
fb::VariantT &seedFill(Table &t, const char *format) {
  auto fill = std::make_unique<fb::SeedFillT>();
  fill->format = format;
  fill->variant = std::make_unique<fb::VariantT>(variant(t));
  gpuCode(t).seed_fills.push_back(std::move(fill));
  return *gpuCode(t).seed_fills.back()->variant;
}

std::vector<BadEngine> allBad() {
  return {
      // The file.
      {"empty", "E0303", {}, {}, {}, [](auto &f) { f.clear(); }},
      {"half_a_header", "E0303", {}, {}, {}, [](auto &f) { f.resize(40); }},
      {"other_magic", "E0304", {}, {}, {}, [](auto &f) { f[3] = 'X'; }},
      {"gguf", "E0304", {}, {}, {}, [](auto &f) { f.replace(0, 4, "GGUF"); }},
      {"text", "E0304", {}, {}, {}, [](auto &f) { f = std::string(5000, 'a'); }},
      {"newer_major",
       "E0305",
       {},
       {},
       {},
       [](auto &f) {
         header(f).major = kFormatMajor + 1;
         sealHeader(f);
       }},
      {"newer_minor",
       "E0305",
       {},
       {},
       {},
       [](auto &f) {
         header(f).minor = kFormatMinor + 1;
         sealHeader(f);
       }},
      {"older_major",
       "E0305",
       {},
       {},
       {},
       [](auto &f) {
         header(f).major = 1;
         sealHeader(f);
       }},
      {"header_checksum", "E0306", {}, {}, {}, [](auto &f) { header(f).checksum ^= 1; }},
      {"header_size_field", "E0306", {}, {}, {}, [](auto &f) { header(f).tableSize ^= 8; }},
      {"cut_by_one", "E0307", {}, {}, {}, [](auto &f) { f.pop_back(); }},
      {"grown_by_one", "E0307", {}, {}, {}, [](auto &f) { f += '\0'; }},
      {"appended_page", "E0307", {}, {}, {}, [](auto &f) { f += std::string(4096, '\0'); }},
      {"flags",
       "E0308",
       {},
       {},
       {},
       [](auto &f) {
         header(f).flags = 1;
         sealHeader(f);
       }},
      {"table_elsewhere",
       "E0309",
       {},
       {},
       {},
       [](auto &f) {
         header(f).tableOffset = 128;
         sealHeader(f);
       }},
      {"table_beyond",
       "E0309",
       {},
       {},
       {},
       [](auto &f) {
         header(f).tableSize = f.size();
         sealHeader(f);
       }},
      {"table_size_wraps",
       "E0309",
       {},
       {},
       {},
       [](auto &f) {
         header(f).tableSize = -1;
         sealHeader(f);
       }},
      {"table_empty",
       "E0309",
       {},
       {},
       {},
       [](auto &f) {
         header(f).tableSize = 0;
         sealHeader(f);
       }},
      {"table_bit", "E0310", {}, {}, {}, [](auto &f) { f[100] ^= 4; }},
      {"table_garbage",
       "E0311",
       {},
       {},
       {},
       [](auto &f) {
         std::fill(f.begin() + 64, f.begin() + 300, '\x77');
         sealHeader(f);
       }},
      {"table_identifier",
       "E0311",
       {},
       {},
       {},
       [](auto &f) {
         f[68] = 'X';
         sealHeader(f);
       }},
      {"table_tiny",
       "E0311",
       {},
       {},
       {},
       [](auto &f) {
         header(f).tableSize = 3;
         sealHeader(f);
       }},
      {"no_model",
       "E0311",
       {},
       {},
       {},
       [](auto &f) { removeField(f, tableOf(f), fb::Engine::VT_MODEL); }},
      {"no_grid",
       "E0311",
       {},
       {},
       {},
       [](auto &f) {
         const fb::Program &program = *tableOf(f).programs()->Get(0);
         removeField(f, *program.kernels()->Get(0), fb::Kernel::VT_GRID);
       }},
      // Segments.
      {"segment_hash", "E0312", {}, [](Table &t) { t.segments[0]->hash_lo ^= 1; }},
      {"segment_byte", "E0312", {}, {}, {}, [](auto &f) { f[f.size() - 4096] ^= 1; }},
      {"weight_byte", "E0312", {}, {}, {}, [](auto &f) { f[f.size() - 3 * 4096] ^= 1; }},
      {"padding_after_table",
       "E0313",
       {},
       {},
       {},
       [](auto &f) { f[64 + header(f).tableSize] = 1; }},
      {"padding_at_end", "E0313", {}, {}, {}, [](auto &f) { f.back() = 1; }},
      {"segment_kind", "E0315", {}, [](Table &t) { t.segments[2]->kind = fb::SegmentKind(77); }},
      {"segment_alignment", "E0316", {}, [](Table &t) { t.segments[1]->offset += 64; }},
      {"segment_beyond", "E0317", {}, [](Table &t) { t.segments[2]->size = uint64_t(1) << 40; }},
      {"segment_wraps", "E0317", {}, [](Table &t) { t.segments[2]->size = -64; }},
      {"segment_in_header", "E0318", {}, [](Table &t) { t.segments[0]->offset = 0; }},
      {"segments_overlap",
       "E0318",
       {},
       [](Table &t) { t.segments[3]->offset = t.segments[2]->offset; }},
      {"segment_gap", "E0319", {}, [](Table &t) { t.segments[1]->offset += 4096; }},
      {"segment_empty", "E0320", {}, [](Table &t) { t.segments[4]->size = 0; }},
      {"bytes_after_last",
       "E0321",
       {},
       {},
       {},
       [](auto &f) {
         f += std::string(4096, '\0');
         header(f).fileSize = f.size();
         sealHeader(f);
       }},
      {"segment_forgotten",
       "E0321",
       {},
       [](Table &t) {
         t.segments.pop_back();
         t.text.reset();
       }},
      // The model.
      {"no_vocabulary", "E0322", [](Table &t) { t.model->vocab = 0; }},
      {"no_layers", "E0322", [](Table &t) { t.model->layers = 0; }},
      {"huge_vocabulary", "E0322", [](Table &t) { t.model->vocab = 0xFFFFFFFF; }},
      {"huge_context", "E0322", [](Table &t) { t.model->context = 0xFFFFFFFF; }},
      {"precision", "E0323", [](Table &t) { t.precision = fb::Precision(9); }},
      {"page_size", "E0324", [](Table &t) { cpuProgram(t).abi->page_tokens = 16; }},
      {"attention_tile", "E0324", [](Table &t) { cpuProgram(t).abi->attention_tile = 32; }},
      {"greedy_rows", "E0324", [](Table &t) { cpuProgram(t).abi->greedy_rows = 65; }},
      {"read_block", "E0324", [](Table &t) { cpuProgram(t).abi->read_block = 256; }},
      // Kernels.
      {"no_kernels", "E0325", [](Table &t) { cpuProgram(t).kernels.clear(); }},
      {"kernel_without_name", "E0326", [](Table &t) { cpuProgram(t).kernels[0]->name = ""; }},
      {"kernel_named_badly", "E0326", [](Table &t) { cpuProgram(t).kernels[0]->name = "a b\x1b"; }},
      {"kernel_named_twice", "E0326",
       [](Table &t) { cpuProgram(t).kernels[0]->name = cpuProgram(t).kernels[1]->name; }},
      {"grid_base", "E0327",
       [](Table &t) { cpuProgram(t).kernels[0]->grid->base = fb::GridBase(7); }},
      {"grid_of_shares", "E0327",
       [](Table &t) { cpuProgram(t).kernels[0]->grid->base = fb::GridBase::PromptTiles; }},
      {"grid_zero", "E0327", [](Table &t) { cpuProgram(t).kernels[0]->grid->factor = 0; }},
      {"grid_huge", "E0327", [](Table &t) { cpuProgram(t).kernels[0]->grid->factor = -1; }},
      {"partition", "E0328",
       [](Table &t) { cpuProgram(t).kernels[0]->partition = fb::Partition(2); }},
      {"too_many_operands", "E0329", [](Table &t) { cpuProgram(t).kernels[0]->args = 0xFFFFFFFF; }},
      {"experts", "E0821", [](Table &t) { cpuProgram(t).kernels[0]->experts = 4; }},
      {"experts_used", "E0821",
       [](Table &t) {
         cpuProgram(t).kernels[0]->experts = 4, cpuProgram(t).kernels[0]->experts_used = 5;
       }},
      {"scratch", "E0330", [](Table &t) { cpuProgram(t).kernels[0]->scratch_bytes = -1; }},
      // Code.
      {"no_code", "E0331", [](Table &t) { cpuProgram(t).code.clear(); }},
      {"unknown_target", "E0332", [](Table &t) { cpuProgram(t).code[0]->target = "cpu:sse2"; }},
      {"short_target", "E0332", [](Table &t) { cpuProgram(t).code[0]->target = "avx2"; }},
      {"target_twice", "E0333", [](Table &t) { cpuProgram(t).code[0]->target = "cpu:avx512"; }},
      {"code_segment_out_of_range", "E0334", [](Table &t) { cpuProgram(t).code[0]->segment = 99; }},
      {"code_in_weights", "E0334", [](Table &t) { cpuProgram(t).code[0]->segment = 2; }},
      {"too_few_symbols", "E0335",
       [](Table &t) { cpuProgram(t).code[1]->kernel_symbols.pop_back(); }},
      {"too_many_symbols", "E0335",
       [](Table &t) { cpuProgram(t).code[1]->kernel_symbols.push_back("x"); }},
      {"not_elf", "E0336", {}, {}, [](auto &s) { s[1] = "#!/bin/sh\n"; }},
      {"elf_of_32_bits", "E0336", {}, {}, poke(4, "\x01")},
      {"elf_of_another_machine", "E0336", {}, {}, poke(18, "\xB7")},
      {"elf_executable", "E0336", {}, {}, poke(16, "\x02")},
      {"elf_cut", "E0822", {}, {}, [](auto &s) { s[1].resize(700); }},
      {"elf_without_segments", "E0337", {}, {}, poke(56, std::string(2, '\0'))},
      {"elf_headers_beyond", "E0337", {}, {}, poke(32, std::string(8, '\xFF'))},
      {"elf_segment_beyond", "E0822", {}, {}, poke(64 + 56 + 32, std::string(6, '\x7F'))},
      {"elf_writable_data", "E0338", {}, {}, object("data")},
      {"elf_bss", "E0338", {}, {}, object("bss")},
      {"elf_relocation", "E0339", {}, {}, object("relocation")},
      {"elf_undefined_symbol", "E0340", {}, {}, object("undefined")},
      {"kernel_missing", "E0341", {}, {}, object("half")},
      {"symbol_missing", "E0341",
       [](Table &t) { cpuProgram(t).code[0]->kernel_symbols[1] = "nothing"; }},
      // Buffers.
      {"buffer_class", "E0342",
       [](Table &t) { cpuProgram(t).buffers[0]->class_ = fb::BufferClass(3); }},
      {"buffer_empty", "E0343", [](Table &t) { cpuProgram(t).buffers[0]->per_unit = 0; }},
      {"buffer_size", "E0343", [](Table &t) { cpuProgram(t).buffers[0]->per_unit = 100; }},
      {"buffer_offset", "E0344", [](Table &t) { cpuProgram(t).buffers[1]->offset = 32; }},
      {"buffer_beyond_arena", "E0345",
       [](Table &t) { cpuProgram(t).buffers[1]->offset = 1 << 20; }},
      {"buffer_overflow", "E0345",
       [](Table &t) { cpuProgram(t).buffers[1]->offset = uint64_t(-64); }},
      {"bytes_per_token", "E0345", [](Table &t) { cpuProgram(t).bytes_per_token -= 64; }},
      {"bytes_per_row", "E0345", [](Table &t) { cpuProgram(t).bytes_per_row = 0; }},
      {"bytes_fixed", "E0345", [](Table &t) { cpuProgram(t).bytes_fixed += 64; }},
      // Weights.
      {"weight_layout", "E0346",
       [](Table &t) { cpuProgram(t).weights[0]->layout = fb::WeightLayout(3); }},
      {"weight_format", "E0347", [](Table &t) { cpuProgram(t).weights[0]->format = "q9_k"; }},
      {"vector_format", "E0347", [](Table &t) { cpuProgram(t).weights[3]->format = "bf16"; }},
      {"weight_shape_missing", "E0348", [](Table &t) { cpuProgram(t).weights[0]->shape.clear(); }},
      {"weight_rank", "E0348", [](Table &t) { cpuProgram(t).weights[0]->shape = {2, 2, 2, 2}; }},
      {"weight_stack_of_none", "E0348",
       [](Table &t) {
         auto &shape = cpuProgram(t).weights[0]->shape;
         shape.insert(shape.begin(), 0);
       }},
      {"weight_without_rows", "E0348", [](Table &t) { cpuProgram(t).weights[0]->shape[0] = 0; }},
      {"weight_shape_overflow", "E0348",
       [](Table &t) { cpuProgram(t).weights[0]->shape = {uint64_t(1) << 40, uint64_t(1) << 40}; }},
      {"weight_shape_wraps", "E0348",
       [](Table &t) { cpuProgram(t).weights[0]->shape = {uint64_t(-1), 1}; }},
      {"weight_segment_out_of_range", "E0349",
       [](Table &t) { cpuProgram(t).weights[0]->segment = 5; }},
      {"weight_in_code", "E0349", [](Table &t) { cpuProgram(t).weights[0]->segment = 0; }},
      {"weight_alignment", "E0350", [](Table &t) { cpuProgram(t).weights[0]->offset = 32; }},
      {"weight_size", "E0351", [](Table &t) { cpuProgram(t).weights[0]->size -= 64; }},
      {"weight_shape_too_large", "E0351",
       [](Table &t) { cpuProgram(t).weights[0]->shape[0] = 1000; }},
      {"weight_beyond", "E0352", [](Table &t) { cpuProgram(t).weights[3]->offset += 64; }},
      {"weight_wraps", "E0352", [](Table &t) { cpuProgram(t).weights[3]->offset = -64; }},
      {"weights_overlap", "E0353",
       [](Table &t) { cpuProgram(t).weights[2]->offset = cpuProgram(t).weights[1]->offset; }},
      {"weight_twice", "E0354",
       [](Table &t) { cpuProgram(t).weights[2]->name = cpuProgram(t).weights[1]->name; }},
      // Generated weights.
      {"weight_source", "E0380",
       [](Table &t) { cpuProgram(t).weights[0]->source = fb::WeightSource(2); }},
      {"seed_memory_without_weights",
       "E0387",
       {},
       [](Table &t) { cpuProgram(t).seed_bytes = 4096; }},
      {"seed_memory_too_large", "E0387", seedMatrices,
       [](Table &t) { cpuProgram(t).seed_bytes += 64; }},
      {"seed_memory_absurd", "E0387", seedMatrices,
       [](Table &t) { cpuProgram(t).seed_bytes = uint64_t(1) << 62; }},
      {"seed_memory_too_small", "E0352", seedMatrices,
       [](Table &t) { cpuProgram(t).seed_bytes -= 64; }},
      {"seed_memory_missing", "E0352", seedMatrices,
       [](Table &t) { cpuProgram(t).seed_bytes = 0; }},
      {"seed_weight_wraps", "E0352", seedMatrices,
       [](Table &t) { cpuProgram(t).weights[0]->offset = -64; }},
      {"seed_weight_alignment", "E0350", seedMatrices,
       [](Table &t) { cpuProgram(t).weights[0]->offset = 32; }},
      {"seed_weight_size", "E0351", seedMatrices,
       [](Table &t) { cpuProgram(t).weights[0]->size = 64; }},
      {"seed_weight_huge", "E0352", seedMatrices,
       [](Table &t) {
         cpuProgram(t).weights[0]->format = "f32";
         cpuProgram(t).weights[0]->shape = {uint64_t(1) << 28, uint64_t(1) << 28};
         cpuProgram(t).weights[0]->size = uint64_t(1) << 58;
       }},
      {"seed_weight_shape_overflow", "E0348", seedMatrices,
       [](Table &t) { cpuProgram(t).weights[0]->shape = {uint64_t(1) << 40, uint64_t(1) << 40}; }},
      {"seed_weights_overlap", "E0353", seedMatrices,
       [](Table &t) { cpuProgram(t).weights[2]->offset = cpuProgram(t).weights[1]->offset; }},
      {"seed_weights_sum_overflows", "E0387",
       [](Table &t) {
         seedMatrices(t);
         for (int i = 0; i < 40; ++i) {
           cpuProgram(t).weights.push_back(
               std::make_unique<fb::WeightT>(*cpuProgram(t).weights[0]));
           cpuProgram(t).weights.back()->name += std::to_string(i);
           cpuProgram(t).weights.back()->format = "f32";
           cpuProgram(t).weights.back()->shape = {uint64_t(1) << 28, uint64_t(1) << 28};
           cpuProgram(t).weights.back()->size = uint64_t(1) << 58;
         }
         cpuProgram(t).seed_bytes = uint64_t(1) << 62;
       }},
      // States.
      {"state_kind", "E0355", [](Table &t) { cpuProgram(t).states[0]->kind = fb::StateKind(2); }},
      {"state_twice", "E0355", [](Table &t) { cpuProgram(t).states[1]->name = "kv.0"; }},
      {"state_without_streams", "E0355",
       [](Table &t) { cpuProgram(t).states[0]->streams.clear(); }},
      {"stream_format", "E0355", [](Table &t) { stream(t).format = "int3"; }},
      {"stream_without_heads", "E0355", [](Table &t) { stream(t).heads = 0; }},
      {"stream_overflow", "E0355",
       [](Table &t) { stream(t).heads = stream(t).width = 0xFFFFFFFF; }},
      {"state_page_bytes", "E0356", [](Table &t) { cpuProgram(t).states[0]->page_bytes -= 64; }},
      {"state_without_scales", "E0356",
       [](Table &t) { // bytes of the codes only
         for (auto &stream : cpuProgram(t).states[0]->streams)
           stream->format = "fp8";
         cpuProgram(t).states[0]->page_bytes /= 2;
       }},
      {"state_page_and_slot", "E0356", [](Table &t) { cpuProgram(t).states[0]->slot_bytes = 64; }},
      {"fixed_state_window", "E0860", [](Table &t) { addFixedState(cpuProgram(t)).window = 8; }},
      {"fixed_state_pages", "E0860",
       [](Table &t) { addFixedState(cpuProgram(t)).page_bytes = 64; }},
      {"fixed_state_format", "E0860",
       [](Table &t) { addFixedState(cpuProgram(t)).streams[0]->format = "bf16"; }},
      {"fixed_state_without_rows", "E0860",
       [](Table &t) { addFixedState(cpuProgram(t)).streams[0]->heads = 0; }},
      {"fixed_state_overflow", "E0860",
       [](Table &t) {
         auto &stream = *addFixedState(cpuProgram(t)).streams[0];
         stream.heads = stream.width = 0xFFFFFFFF;
       }},
      {"fixed_state_slot_bytes", "E0861",
       [](Table &t) { addFixedState(cpuProgram(t)).slot_bytes += 64; }},
      {"fixed_state_sum", "E0861",
       [](Table &t) { addFixedState(cpuProgram(t)), cpuProgram(t).bytes_per_slot = 64; }},
      {"fixed_state_for_paged", "E0371",
       [](Table &t) {
         addFixedState(cpuProgram(t));
         entryOf(cpuProgram(t)).steps[2]->states[0] = 2;
       }},
      {"state_page_sum", "E0357", [](Table &t) { cpuProgram(t).bytes_per_page += 64; }},
      // The program.
      {"no_steps", "E0358", [](Table &t) { entryOf(cpuProgram(t)).steps.clear(); }},
      {"no_sections", "E0358", [](Table &t) { cpuProgram(t).sections.clear(); }},
      {"section_empty", "E0358",
       [](Table &t) { cpuProgram(t).sections[0]->cases[0]->launches.clear(); }},
      {"launch_kernel", "E0359", [](Table &t) { launch(t, 0).kernel = 2; }},
      {"launch_too_few_operands", "E0360", [](Table &t) { launch(t, 0).args.pop_back(); }},
      {"launch_without_operands", "E0360", [](Table &t) { launch(t, 0).args.clear(); }},
      {"operand_kind", "E0361",
       [](Table &t) { launch(t, 0).args[0] = fb::Arg(fb::ArgKind(4), 0); }},
      {"operand_buffer", "E0362",
       [](Table &t) { launch(t, 0).args[1] = fb::Arg(fb::ArgKind::Buffer, 4); }},
      {"operand_weight", "E0363",
       [](Table &t) { launch(t, 0).args[0] = fb::Arg(fb::ArgKind::Weight, 4); }},
      {"layer_weight", "E0364",
       [](Table &t) { launch(t, 1).args[0] = fb::Arg(fb::ArgKind::LayerWeight, 1); }},
      {"layer_weight_wraps", "E0364",
       [](Table &t) { launch(t, 1).args[0] = fb::Arg(fb::ArgKind::LayerWeight, 0xFFFFFFFF); }},
      {"state_of_nobody", "E0365", [](Table &t) { step(t, 1).states.clear(); }},
      {"state_wraps", "E0365",
       [](Table &t) { launch(t, 1).args[1] = fb::Arg(fb::ArgKind::State, 0xFFFFFFFF); }},
      {"step_section", "E0366", [](Table &t) { step(t, 0).section = 3; }},
      {"step_weight", "E0367", [](Table &t) { step(t, 1).weights[0] = 4; }},
      {"step_state", "E0368", [](Table &t) { step(t, 1).states[0] = 2; }},
      {"step_layer", "E0369", [](Table &t) { step(t, 1).layer = 2; }},
      {"section_weights_differ", "E0370", [](Table &t) { step(t, 2).weights[0] = 0; }},
      {"section_layouts_differ", "E0370", [](Table &t) { step(t, 2).weights[0] = 3; }},
      {"section_windows_differ", "E0371", [](Table &t) { cpuProgram(t).states[1]->window = 512; }},
      {"section_without_cases", "E0358",
       [](Table &t) { cpuProgram(t).sections[0]->cases.clear(); }},
      {"last_case_with_a_condition", "E0818",
       [](Table &t) {
         cpuProgram(t).sections[0]->cases[0]->when.push_back(std::make_unique<fb::ConditionT>());
       }},
      {"case_that_is_never_run", "E0818",
       [](Table &t) { cpuProgram(t).sections[0]->cases.push_back(std::make_unique<fb::CaseT>()); }},
      {"condition_of_no_mode", "E0818",
       [](Table &t) {
         withIds(cpuProgram(t));
         cpuProgram(t).sections[3]->cases[0]->when[0]->value = 3;
       }},
      {"condition_of_no_quantity", "E0818",
       [](Table &t) {
         withIds(cpuProgram(t));
         cpuProgram(t).sections[3]->cases[0]->when[0]->quantity = fb::Quantity(4);
       }},
      {"condition_that_no_step_meets", "E0818",
       [](Table &t) {
         withIds(cpuProgram(t));
         fb::ConditionT &condition = *cpuProgram(t).sections[3]->cases[0]->when[0];
         condition.quantity = fb::Quantity::Tokens, condition.value = 0;
       }},
      {"cases_beyond_a_cpus_bits", "E0818",
       [](Table &t) {
         withIds(cpuProgram(t));
         auto &cases = cpuProgram(t).sections[3]->cases;
         while (cases.size() < 64)
           cases.insert(cases.begin(), std::make_unique<fb::CaseT>(*cases.front()));
       }},
      {"launch_of_another_case", "E0359",
       [](Table &t) {
         withIds(cpuProgram(t));
         launch(t, 3).kernel = 2;
       }},
      // Entry points and outputs.
      {"no_entries", "E0819", [](Table &t) { cpuProgram(t).entries.clear(); }},
      {"entry_name", "E0819", [](Table &t) { entryOf(cpuProgram(t)).name = "embed"; }},
      {"mode_unknown", "E0819", [](Table &t) { addMode(t, fb::Mode(3)); }},
      {"mode_twice", "E0819", [](Table &t) { addMode(t, fb::Mode::Logits); }},
      {"no_logits_mode", "E0819", [](Table &t) { entryOf(cpuProgram(t)).modes.clear(); }},
      {"draws_and_finds_none", "E0819", [](Table &t) { addMode(t, fb::Mode::Drawn); }},
      {"launches_of_the_entry", "E0372", [](Table &t) { entryOf(cpuProgram(t)).launches = 3; }},
      {"output_role", "E0820",
       [](Table &t) { output(t, fb::OutputRole(5), fb::Encoding::F32, 0); }},
      {"output_encoding", "E0820",
       [](Table &t) { output(t, fb::OutputRole::Hidden, fb::Encoding(4), 0); }},
      {"output_twice", "E0820",
       [](Table &t) { output(t, fb::OutputRole::Logits, fb::Encoding::F32, 0); }},
      {"output_of_nobody", "E0820",
       [](Table &t) { output(t, fb::OutputRole::Hidden, fb::Encoding::F32, 4); }},
      {"outputs_share", "E0820",
       [](Table &t) { output(t, fb::OutputRole::Maxima, fb::Encoding::F32, kLogits); }},
      {"no_logits", "E0373", [](Table &t) { entryOf(cpuProgram(t)).outputs.clear(); }},
      {"logits_buffer", "E0373",
       [](Table &t) { outputOf(cpuProgram(t), fb::OutputRole::Logits).buffer = 4; }},
      {"logits_size", "E0374", [](Table &t) { t.model->vocab = 400; }},
      {"logits_class", "E0374",
       [](Table &t) { outputOf(cpuProgram(t), fb::OutputRole::Logits).buffer = 0; }},
      {"logits_encoding", "E0374",
       [](Table &t) {
         outputOf(cpuProgram(t), fb::OutputRole::Logits).encoding = fb::Encoding::Q8x2;
       }},
      {"greedy_without_keys", "E0810", [](Table &t) { addMode(t, fb::Mode::Greedy); }},
      {"greedy_keys_unread", "E0810",
       [](Table &t) {
         withMaxima(t);
         entryOf(cpuProgram(t)).modes.pop_back();
       }},
      {"greedy_keys_class", "E0810",
       [](Table &t) {
         withMaxima(t);
         outputOf(cpuProgram(t), fb::OutputRole::Keys).buffer = 0;
       }},
      {"greedy_keys_encoding", "E0810",
       [](Table &t) {
         withMaxima(t);
         outputOf(cpuProgram(t), fb::OutputRole::Keys).encoding = fb::Encoding::I32;
       }},
      {"cpu_that_finds_ids", "E0810",
       [](Table &t) {
         withMaxima(t);
         output(t, fb::OutputRole::Ids, fb::Encoding::I32, 0);
       }},
      {"cpu_that_draws", "E0810",
       [](Table &t) {
         withMaxima(t);
         addMode(t, fb::Mode::Drawn);
       }},
      {"greedy_ids_of_nobody", "E0810",
       [](Table &t) { entryOf(gpuProgram(t)).modes.push_back(fb::Mode::Greedy); }},
      {"greedy_ids_class", "E0810",
       [](Table &t) {
         withIds(gpuProgram(t));
         outputOf(gpuProgram(t), fb::OutputRole::Ids).buffer = 0;
       }},
      {"greedy_ids_encoding", "E0810",
       [](Table &t) {
         withIds(gpuProgram(t));
         outputOf(gpuProgram(t), fb::OutputRole::Ids).encoding = fb::Encoding::F32;
       }},
      {"hidden_size", "E0815",
       [](Table &t) { output(t, fb::OutputRole::Hidden, fb::Encoding::F32, 3); }},
      {"hidden_encoding", "E0815",
       [](Table &t) {
         withMaxima(t);
         outputOf(cpuProgram(t), fb::OutputRole::Keys).role = fb::OutputRole::Hidden;
         entryOf(cpuProgram(t)).modes.pop_back();
       }},
      {"maxima_size", "E0814",
       [](Table &t) {
         withMaxima(t);
         std::swap(outputOf(cpuProgram(t), fb::OutputRole::Maxima).buffer,
                   outputOf(cpuProgram(t), fb::OutputRole::Keys).buffer);
       }},
      {"maxima_on_gpu", "E0814",
       [](Table &t) {
         withMaxima(t);
         auto &outputs = entryOf(gpuProgram(t)).outputs;
         outputs.erase(outputs.end() - 2); // the keys
         entryOf(gpuProgram(t)).modes.pop_back();
       }},
      // Text and defaults.
      {"tokenizer_out_of_range", "E0375", [](Table &t) { t.text->tokenizer_segment = 9; }},
      {"tokenizer_in_code", "E0375", [](Table &t) { t.text->tokenizer_segment = 0; }},
      {"tokenizer_negative", "E0375", [](Table &t) { t.text->tokenizer_segment = -2; }},
      {"tokenizer_kind", "E0375", [](Table &t) { t.text->tokenizer_kind.clear(); }},
      {"template_in_tokenizer", "E0376", [](Table &t) { t.text->chat_template_segment = 3; }},
      {"bos_beyond_vocabulary", "E0377", [](Table &t) { t.text->special->bos = 40; }},
      {"eos_beyond_vocabulary", "E0377", [](Table &t) { t.text->special->eos.push_back(40); }},
      {"prefix_beyond_vocabulary", "E0377", [](Table &t) { t.text->special->prefix = {1, 40}; }},
      {"suffix_negative", "E0377", [](Table &t) { t.text->special->suffix = {-1}; }},
      {"named_template_in_tokenizer", "E0376",
       [](Table &t) {
         auto &named = t.text->templates.emplace_back(std::make_unique<fb::NamedTemplateT>());
         named->name = "tool_use", named->segment = 3;
       }},
      {"eos_negative", "E0377", [](Table &t) { t.text->special->eos.push_back(-1); }},
      {"temperature", "E0378", [](Table &t) { t.generation->temperature = -1; }},
      {"temperature_nan", "E0378", [](Table &t) { t.generation->temperature = std::nanf(""); }},
      {"top_p", "E0378", [](Table &t) { t.generation->top_p = 1.5f; }},
      {"min_p_nan", "E0378", [](Table &t) { t.generation->min_p = std::nanf(""); }},
      {"top_k", "E0378", [](Table &t) { t.generation->top_k = -1; }},
      {"penalty", "E0378", [](Table &t) { t.generation->repetition_penalty = 0; }},
      {"costs_of_fewer_kernels", "E0379",
       [](Table &t) {
         cpuProgram(t).code[0]->costs.push_back(std::make_unique<fb::KernelCostT>());
       }},
      // Programs for GPUs.
      {"no_program", "E0801", [](Table &t) { t.programs.clear(); }},
      {"second_cpu_program", "E0801",
       [](Table &t) { t.programs.push_back(std::make_unique<Program>(cpuProgram(t))); }},
      {"third_program", "E0801",
       [](Table &t) { t.programs.push_back(std::make_unique<Program>(gpuProgram(t))); }},
      {"gpu_program_first", "E0801",
       [](Table &t) {
         gpuProgram(t);
         std::swap(t.programs[0], t.programs[1]);
       }},
      {"cpu_code_in_a_gpu_program", "E0801",
       [](Table &t) {
         auto code = std::make_unique<fb::CodeObjectT>();
         code->target = "cpu:avx2";
         gpuProgram(t).code.push_back(std::move(code));
       }},
      {"gpu_code_in_a_cpu_program", "E0801",
       [](Table &t) { cpuProgram(t).code[1]->target = "cuda:sm_90a"; }},
      {"gpu_weight_size", "E0351",
       [](Table &t) { gpuProgram(t).weights[0]->layout = fb::WeightLayout::Fragment16; }},
      {"gpu_launch_kernel", "E0359", [](Table &t) { launch(gpuProgram(t), 0).kernel = 2; }},
      {"gpu_memory", "E0345", [](Table &t) { gpuProgram(t).bytes_per_token += 64; }},
      {"gpu_target_twice", "E0333", [](Table &t) { gpuCode(t, 1).target = "cuda:sm_90a"; }},
      {"gpu_code_in_weights", "E0334", [](Table &t) { gpuCode(t).segment = 2; }},
      {"no_modules", "E0802", [](Table &t) { gpuCode(t).modules.clear(); }},
      {"module_beyond", "E0802", [](Table &t) { gpuCode(t).modules[0]->size += 1; }},
      {"module_wraps", "E0802", [](Table &t) { gpuCode(t).modules[0]->size = -1; }},
      {"module_empty", "E0802", [](Table &t) { gpuCode(t).modules[0]->size = 0; }},
      {"module_alignment", "E0802", [](Table &t) { gpuCode(t).modules[0]->offset = 8; }},
      {"modules_overlap", "E0802",
       [](Table &t) {
         gpuCode(t).modules.push_back(std::make_unique<fb::ModuleT>(*gpuCode(t).modules[0]));
       }},
      {"cubin_for_the_host", "E0803", [](Table &t) { gpuCode(t).target = "cuda-emulator:sm_80"; }},
      {"cubin_as_ptx", "E0803", [](Table &t) { gpuCode(t).target = "cuda:compute_90"; }},
      {"ptx_as_cubin", "E0803", [](Table &t) { gpuCode(t, 1).target = "cuda:sm_80"; }},
      {"ptx_without_end", "E0803", [](Table &t) { gpuCode(t, 1).modules[0]->size -= 1; }},
      {"gpu_kernel_symbols", "E0804", [](Table &t) { gpuCode(t).kernel_symbols = {"a"}; }},
      {"too_few_variants", "E0804", [](Table &t) { gpuCode(t).variants.pop_back(); }},
      {"variants_missing", "E0804", [](Table &t) { gpuCode(t).variants.clear(); }},
      {"variant_module", "E0805", [](Table &t) { variant(t).module_ = 1; }},
      {"variant_symbol_missing", "E0806", [](Table &t) { variant(t).symbol = "copy_row"; }},
      {"variant_symbol_part", "E0806", [](Table &t) { variant(t).symbol = "opy_rows"; }},
      {"variant_symbol_empty", "E0806", [](Table &t) { variant(t).symbol = ""; }},
      {"variant_grid_zero", "E0807",
       [](Table &t) { *variant(t).x = {fb::GridBase::Tokens, 0, 1}; }},
      {"variant_grid_zero_y", "E0807",
       [](Table &t) { *variant(t).y = {fb::GridBase::Constant, 0, 1}; }},
      {"variant_grid_zero_x", "E0807",
       [](Table &t) {
         *gpuCode(t).variants[0]->variants.front()->x = {fb::GridBase::Constant, 0, 1};
       }},
      {"variant_grid_by_zero", "E0807",
       [](Table &t) { *variant(t).y = {fb::GridBase::Tokens, 1, 0}; }},
      {"variant_grid_huge", "E0807",
       [](Table &t) { *variant(t).z = {fb::GridBase::Tokens, uint64_t(-1), 1}; }},
      {"variant_grid_base", "E0807", [](Table &t) { *variant(t).x = {fb::GridBase(7), 1, 1}; }},
      {"variant_shares_across", "E0807",
       [](Table &t) { *variant(t).y = {fb::GridBase::Shares, 1, 1}; }},
      {"two_of_a_kind", "E0809",
       [](Table &t) {
         withShares(t);
         *gpuCode(t).variants[0]->variants[0]->x = {fb::GridBase::Shares, 1, 1};
       }},
      {"shares_without_prompts", "E0809",
       [](Table &t) {
         for (auto &v : gpuCode(t).variants[0]->variants)
           *v->x = {fb::GridBase::Shares, 1, 1};
       }},
      {"shares_beside_any", "E0809",
       [](Table &t) { *variant(t).x = {fb::GridBase::Shares, 1, 1}; }},
      {"prompts_without_variant", "E0809",
       [](Table &t) {
         *variant(t).x = {fb::GridBase::PromptTiles, 1, 1}; // limited to a number of tokens
         *gpuCode(t).variants[0]->variants[1]->x = {fb::GridBase::Shares, 1, 1};
       }},
      {"attention_shares", "E0817", [](Table &t) { gpuProgram(t).attention_shares = 1025; }},
      {"attention_slots", "E0817", [](Table &t) { gpuProgram(t).attention_slots = -1; }},
      {"variant_without_threads", "E0808", [](Table &t) { variant(t).threads = 0; }},
      {"variant_half_a_warp", "E0808", [](Table &t) { variant(t).threads = 48; }},
      {"variant_too_many_threads", "E0808", [](Table &t) { variant(t).threads = 2048; }},
      {"variant_shared", "E0808", [](Table &t) { variant(t).shared_bytes = 1 << 20; }},
      {"variant_cluster", "E0811", [](Table &t) { variant(t).cluster = 9; }},
      {"variant_cluster_of_ptx", "E0811",
       [](Table &t) { gpuCode(t, 1).variants[0]->variants[0]->cluster = 2; }},
      {"tensor_map_of_ptx", "E0812",
       [](Table &t) { addTensorMap(*gpuCode(t, 1).variants[0]->variants[0]); }},
      {"tensor_maps_many", "E0812",
       [](Table &t) {
         for (int i = 0; i < 9; ++i)
           addTensorMap(variant(t));
       }},
      {"tensor_map_operand", "E0812", [](Table &t) { addTensorMap(variant(t)).operand = 3; }},
      {"tensor_map_operand_wraps", "E0812",
       [](Table &t) { addTensorMap(variant(t)).operand = -1; }},
      {"tensor_map_of_a_weight", "E0812", [](Table &t) { addTensorMap(variant(t)).operand = 0; }},
      {"tensor_map_of_constants", "E0812", [](Table &t) { addTensorMap(variant(t)).operand = 2; }},
      {"tensor_map_element", "E0812",
       [](Table &t) { addTensorMap(variant(t)).element = fb::TensorElement(2); }},
      {"tensor_map_no_rows", "E0812", [](Table &t) { addTensorMap(variant(t)).box_rows = 0; }},
      {"tensor_map_many_rows", "E0812", [](Table &t) { addTensorMap(variant(t)).box_rows = 257; }},
      {"tensor_map_no_rows_a_unit", "E0812",
       [](Table &t) { addTensorMap(variant(t)).unit_rows = 0; }},
      {"tensor_map_parts_of_rows", "E0812",
       [](Table &t) { addTensorMap(variant(t)).unit_rows = 7; }},
      {"tensor_map_no_columns", "E0812",
       [](Table &t) { addTensorMap(variant(t)).box_columns = 0; }},
      {"tensor_map_many_columns", "E0812",
       [](Table &t) { addTensorMap(variant(t)).box_columns = 1u << 31; }},
      {"tensor_map_odd_columns", "E0812",
       [](Table &t) { addTensorMap(variant(t)).box_columns = 12; }},
      {"tensor_map_swizzle", "E0812", [](Table &t) { addTensorMap(variant(t)).box_columns = 72; }},
      {"steps_without_variant", "E0809",
       [](Table &t) { gpuCode(t).variants[0]->variants[1]->max_tokens = 64; }},
      {"rows_without_variant", "E0809",
       [](Table &t) { gpuCode(t).variants[0]->variants[1]->max_rows = 8; }},
      {"tiles_without_variant", "E0809",
       [](Table &t) { gpuCode(t).variants[0]->variants[1]->max_tile_tokens = 8; }},
      {"variant_never_used", "E0809", [](Table &t) { variant(t).max_tokens = 0; }},
      {"fill_of_no_format", "E0813", [](Table &t) { seedFill(t, "q9_9"); }},
      {"fill_twice", "E0813",
       [](Table &t) { seedFill(t, "q4_0"), seedFill(t, "q8_0"), seedFill(t, "q4_0"); }},
      {"fill_module", "E0805", [](Table &t) { seedFill(t, "q4_0").module_ = 7; }},
      {"fill_symbol", "E0806", [](Table &t) { seedFill(t, "q4_0").symbol = "fill"; }},
      {"fill_threads", "E0808", [](Table &t) { seedFill(t, "q4_0").threads = 33; }},
  };
}

} // namespace

std::string BadEngine::bytes() const {
  std::string image = assemble(before, after, segments);
  if (file)
    file(image);
  return image;
}

const std::vector<BadEngine> &test::badEngines() {
  static const std::vector<BadEngine> bad = allBad(); // static: used during test registration
  return bad;
}
