//===- BadWeights.cpp - Weights and states --------------------------===//
#include "BadEngines.h"

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

fb::StreamT &stream(Table &t) { return *cpuProgram(t).states[0]->streams[0]; }

} // namespace

std::vector<BadEngine> test::badWeights() {
  return {
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
  };
}
