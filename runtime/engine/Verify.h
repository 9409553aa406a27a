//===- Verify.h - Checks that an engine is meaningful ---------------------===//
//
// First the structure is checked (header, hashes, FlatBuffers verifier), then the meaning. Offsets must
// be inside, aligned and without overlaps. Indices must be in range. Sizes are recomputed from shapes and
// formats with checked arithmetic. Code objects must be loadable and complete. No later code checks any
// of this again.
//
// There is one code per cause, listed in the order of the checks:
//
//   E0301 cannot be opened        E0302 not a regular file    E0303 shorter than a header
//   E0304 not an engine           E0305 other format version  E0306 header damaged
//   E0307 cut or grown            E0308 unknown flags         E0309 table outside
//   E0310 table damaged           E0311 table malformed       E0314 cannot be mapped
//
//   Segments E0315 kind  E0316 alignment  E0317 outside  E0318 overlap  E0319 gap
//            E0320 empty  E0321 bytes after the last  E0312 damaged  E0313 padding not zero
//   Model    E0322 sizes  E0323 precision  E0324 constants that kernels were compiled for (Abi)
//   Kernels  E0325 none  E0326 name  E0327 grid  E0328 partition  E0329 operands  E0330 scratch
//            E0821 experts
//   Code     E0331 none  E0332 target unknown  E0333 target twice  E0334 segment  E0335 count
//            E0336 not ELF  E0337 program headers  E0338 writable data  E0339 needs a linker
//            E0340 undefined symbol  E0341 kernel missing  E0822 segment outside
//            E0823 segment misplaced  E0824 nothing to load  E0825 dynamic section
//            E0826 no symbol table  E0827 hash table  E0828 symbol table outside
//            E0829 name of a symbol  E0830 writable code
//   Buffers  E0342 class  E0343 size  E0344 offset  E0345 totals
//   Weights  E0346 layout  E0347 format  E0348 shape  E0349 segment  E0350 alignment
//            E0351 size  E0352 outside  E0353 overlap  E0354 duplicate name
//            E0380 source  E0387 memory of generated weights
//   States   E0355 streams  E0356 page bytes  E0357 sum of page bytes
//            E0860 streams of fixed states  E0861 slot bytes and their sum
//   Program  E0358 empty  E0359 kernel  E0360 operand count  E0361 operand kind
//            E0362 buffer  E0363 weight  E0364 layer weight  E0365 state that no step provides
//            E0366 section  E0367 step weight  E0368 step state  E0369 layer
//            E0370 weights of a section differ  E0371 states of a section differ
//            E0372 launch count  E0373 logits buffer  E0374 logits size
//            E0818 cases  E0819 entries and their modes  E0820 outputs
//   Text     E0375 tokenizer  E0376 template  E0377 special tokens  E0378 defaults
//   Costs    E0379 kernel of a cost
//   Programs E0801 none, one of mixed kinds, or two of a kind
//   GPU code E0802 placement of modules  E0803 module of another kind  E0804 number of variants
//            E0805 module  E0806 symbol  E0807 grid  E0808 threads or shared memory
//            E0809 a step without a variant, or a variant without a step
//            E0810 the buffers of ids and keys
//            E0811 a cluster
//            E0812 a tensor map
//            E0813 a fill kernel of generated weights
//            E0814 the buffer of maxima of logits
//            E0815 the buffer of hidden states
//            E0817 attention splits
//   Load     E0381 … E0386, E0389 in Isa.h, CodeImage.h, Inspect.h; E0388 in tools/ingot/FatalError.cpp
//   Write    E0390 … E0399 in compiler/engine
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/EngineFile.h"

namespace ingot::runtime {

/// Checks the header and table hash of `file`, and returns the table's bytes. E0303 … E0310.
Result<std::span<const std::byte>> verifyHeader(std::span<const std::byte> file,
                                                const std::string &name);

/// Checks the structure of the table, and returns the table. E0311.
Result<const fb::Engine *> verifyStructure(std::span<const std::byte> table,
                                           const std::string &name);

/// Checks everything else. `file` holds a table that passed the two functions above.
Result<void> verifyMeaning(std::span<const std::byte> file, const fb::Engine &engine,
                           VerifyLevel level, const std::string &name);

/// Returns the error "NAME is damaged", with `why` and how to rebuild.
Error damaged(const char *code, const std::string &name, const std::string &why);

// The parts of verifyMeaning, in order.

/// Checks that each segment starts on the first page after the previous one. E0315 … E0321.
Result<void> verifyPlaces(std::span<const std::byte> file, const fb::Engine &engine,
                          const std::string &name);
/// Checks hashes and padding; the hashes of weights only at VerifyLevel::Everything. E0312, E0313.
Result<void> verifyHashes(std::span<const std::byte> file, const fb::Engine &engine,
                          VerifyLevel level, const std::string &name);
/// VerifyModel.cpp: checks the parts that all programs share: model, precision, text, sampling. E0322,
/// E0323, E0375 … E0378.
Result<void> verifyModel(const fb::Engine &engine, const std::string &name);
/// VerifyParts.cpp: checks the parts of one program against the segments of the engine. E0324 …
/// E0357, E0379, E0801, E0860, E0861.
Result<void> verifyParts(std::span<const std::byte> file, const fb::Engine &engine,
                         const fb::Program &program, const std::string &name);
/// VerifyGpu.cpp: checks modules and variants. `segment`: the bytes of the code's segment. E0802 … E0809,
/// E0811 … E0813, E0817.
Result<void> verifyGpuCode(std::span<const std::byte> segment, const fb::Program &program,
                           const fb::CodeObject &code, const std::string &name);
/// VerifyProgram.cpp: checks sections, specialisations, entry points and outputs. E0358 … E0374, E0810,
/// E0814, E0815, E0818 … E0820.
Result<void> verifyProgram(const fb::Program &program, const fb::Engine &engine,
                           const std::string &name);

} // namespace ingot::runtime
