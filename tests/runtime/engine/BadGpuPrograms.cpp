//===- BadGpuPrograms.cpp - Programs for GPUs -----------------------===//
#include "BadEngines.h"

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

fb::CodeObjectT &gpuCode(Table &t, size_t index = 0) { return *withGpuProgram(t).code[index]; }
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

} // namespace

std::vector<BadEngine> test::badGpuPrograms() {
  return {
      // Programs for GPUs.
      {"no_program", "E0801", [](Table &t) { t.programs.clear(); }},
      {"second_cpu_program", "E0801",
       [](Table &t) { t.programs.push_back(std::make_unique<Program>(cpuProgram(t))); }},
      {"third_program", "E0801",
       [](Table &t) { t.programs.push_back(std::make_unique<Program>(withGpuProgram(t))); }},
      {"gpu_program_first", "E0801",
       [](Table &t) {
         withGpuProgram(t);
         std::swap(t.programs[0], t.programs[1]);
       }},
      {"cpu_code_in_a_gpu_program", "E0801",
       [](Table &t) {
         auto code = std::make_unique<fb::CodeObjectT>();
         code->target = "cpu:avx2";
         withGpuProgram(t).code.push_back(std::move(code));
       }},
      {"gpu_code_in_a_cpu_program", "E0801",
       [](Table &t) { cpuProgram(t).code[1]->target = "cuda:sm_90a"; }},
      {"gpu_weight_size", "E0351",
       [](Table &t) { withGpuProgram(t).weights[0]->layout = fb::WeightLayout::Fragment16; }},
      {"gpu_launch_kernel", "E0359",
       [](Table &t) { withGpuProgram(t).sections[0]->cases[0]->launches[0]->kernel = 2; }},
      {"gpu_memory", "E0345", [](Table &t) { withGpuProgram(t).bytes_per_token += 64; }},
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
      {"attention_shares", "E0817", [](Table &t) { withGpuProgram(t).attention_shares = 1025; }},
      {"attention_slots", "E0817", [](Table &t) { withGpuProgram(t).attention_slots = -1; }},
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
