//===- BadPrograms.cpp - Programs for CPUs, and the model -----------===//
#include "BadEngines.h"

#include <cmath>
#include <cstring>
#include <elf.h>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

fb::LaunchT &launch(Table &t, int section) {
  return *cpuProgram(t).sections[section]->cases[0]->launches[0];
}
fb::StepT &step(Table &t, int index) { return *entryOf(cpuProgram(t)).steps[index]; }
/// Adds an output to the CPU program.
fb::OutputT &output(Table &t, fb::OutputRole role, fb::Encoding encoding, size_t buffer) {
  return addOutput(cpuProgram(t), role, encoding, buffer);
}
void addMode(Table &t, fb::Mode mode) { entryOf(cpuProgram(t)).modes.push_back(mode); }
constexpr size_t kLogits = 2; ///< buffer index

std::function<void(std::vector<std::string> &)> object(const char *name) {
  return [name](auto &segments) { segments[1] = codeObject(name); };
}

/// Applies `change` to `count` consecutive objects of type T in the second code object, starting at
/// `offset`.
template <typename T, typename Change>
void changeEach(std::string &code, size_t offset, size_t count, const Change &change) {
  for (size_t i = 0; i < count; ++i, offset += sizeof(T)) {
    T value;
    std::memcpy(&value, code.data() + offset, sizeof value);
    change(value);
    code.replace(offset, sizeof value, reinterpret_cast<const char *>(&value), sizeof value);
  }
}

/// Changes the program headers of that type.
template <typename Change> auto programHeaders(uint32_t type, Change change) {
  return [=](std::vector<std::string> &segments) {
    Elf64_Ehdr header;
    std::memcpy(&header, segments[1].data(), sizeof header);
    changeEach<Elf64_Phdr>(segments[1], header.e_phoff, header.e_phnum, [&](Elf64_Phdr &p) {
      if (p.p_type == type)
        change(p);
    });
  };
}

/// Changes the entries of the dynamic section with that tag. Addresses are offsets in these objects.
template <typename Change> auto dynamicEntries(int64_t tag, Change change) {
  return [=](std::vector<std::string> &segments) {
    programHeaders(PT_DYNAMIC, [&](Elf64_Phdr &p) {
      changeEach<Elf64_Dyn>(segments[1], p.p_offset, p.p_filesz / sizeof(Elf64_Dyn),
                            [&](Elf64_Dyn &entry) {
                              if (entry.d_tag == tag)
                                change(entry);
                            });
    })(segments);
  };
}

/// Overwrites some bytes of the second code object.
std::function<void(std::vector<std::string> &)> poke(size_t offset, std::string bytes) {
  return [=](auto &segments) { segments[1].replace(offset, bytes.size(), bytes); };
}

} // namespace

std::vector<BadEngine> test::badPrograms() {
  return {
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
      {"elf_segment_misaligned",
       "E0823",
       {},
       {},
       programHeaders(PT_LOAD, [](Elf64_Phdr &p) { p.p_vaddr += 8; })},
      {"elf_segments_overlap",
       "E0823",
       {},
       {},
       programHeaders(PT_LOAD, [](Elf64_Phdr &p) { p.p_vaddr %= 0x1000; })},
      {"elf_nothing_to_load",
       "E0824",
       {},
       {},
       programHeaders(PT_LOAD, [](Elf64_Phdr &p) { p.p_type = PT_NOTE; })},
      {"elf_without_dynamic",
       "E0824",
       {},
       {},
       programHeaders(PT_DYNAMIC, [](Elf64_Phdr &p) { p.p_type = PT_NOTE; })},
      {"elf_dynamic_outside",
       "E0825",
       {},
       {},
       programHeaders(PT_DYNAMIC, [](Elf64_Phdr &p) { p.p_vaddr = 1 << 20; })},
      {"elf_without_symbols",
       "E0826",
       {},
       {},
       dynamicEntries(DT_SYMTAB, [](Elf64_Dyn &entry) { entry.d_tag = DT_DEBUG; })},
      {"elf_hash_outside",
       "E0827",
       {},
       {},
       [](std::vector<std::string> &segments) {
         for (int64_t tag : {int64_t(DT_HASH), int64_t(DT_GNU_HASH)})
           dynamicEntries(tag, [](Elf64_Dyn &entry) { entry.d_un.d_val = 1 << 20; })(segments);
       }},
      {"elf_symbols_outside",
       "E0828",
       {},
       {},
       dynamicEntries(DT_SYMTAB, [](Elf64_Dyn &entry) { entry.d_un.d_val = 1 << 20; })},
      {"elf_names_cut",
       "E0829",
       {},
       {},
       [](std::vector<std::string> &segments) {
         dynamicEntries(DT_SYMTAB, [&](Elf64_Dyn &entry) {
           changeEach<Elf64_Sym>(segments[1], entry.d_un.d_val, 2,
                                 [](Elf64_Sym &symbol) { symbol.st_name = 1 << 20; });
         })(segments);
       }},
      {"elf_writable_code",
       "E0830",
       {},
       {},
       programHeaders(PT_LOAD, [](Elf64_Phdr &p) { p.p_flags = PF_R | PF_W | PF_X; })},
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
       [](Table &t) { entryOf(withGpuProgram(t)).modes.push_back(fb::Mode::Greedy); }},
      {"greedy_ids_class", "E0810",
       [](Table &t) {
         withIds(withGpuProgram(t));
         outputOf(withGpuProgram(t), fb::OutputRole::Ids).buffer = 0;
       }},
      {"greedy_ids_encoding", "E0810",
       [](Table &t) {
         withIds(withGpuProgram(t));
         outputOf(withGpuProgram(t), fb::OutputRole::Ids).encoding = fb::Encoding::F32;
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
         auto &outputs = entryOf(withGpuProgram(t)).outputs;
         outputs.erase(outputs.end() - 2); // the keys
         entryOf(withGpuProgram(t)).modes.pop_back();
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
  };
}
