//===- knobs.cuh - What a sweep may set when it compiles a kernel again -----===//
//
// Figures that only a GPU can decide, as macros: -DINGOT_DEPTH=6 before a text of `--emit cuda`, and
// NVRTC makes another kernel of it. The compiler sets none: what stands here is what engines have.
// Results are the same bits whatever is set; INGOT_X_PITCH needs rows that lie so.
//===----------------------------------------------------------------------===//
#pragma once

/// Runs of 64 k that a warp of a decode kernel has under way, rounded to what divides a block of the
/// format or is whole blocks. 0: what matmul_decode.cuh finds to fit the registers.
#ifndef INGOT_DEPTH
#define INGOT_DEPTH 0
#endif

/// Blocks of a decode kernel that must fit a processor: ptxas keeps its registers below that. 0:
/// what the compiler says.
#ifndef INGOT_MIN_BLOCKS
#define INGOT_MIN_BLOCKS 0
#endif
#define LEAST_BLOCKS(own) (INGOT_MIN_BLOCKS ? INGOT_MIN_BLOCKS : (own))

/// Stages of the rings of wgmma kernels, at least 2 (fp8: 4). 0: 3 of 256 tokens, else 4. A launch
/// must ask for WgmmaShared::bytes (fp8_shared_bytes), which grow with them.
#ifndef INGOT_STAGES
#define INGOT_STAGES 0
#endif

/// What L2 does with weights that were read: 1 lets them go first, 0 treats them like all else; -1
/// lets go what one token tile alone reads.
#ifndef INGOT_EVICT
#define INGOT_EVICT -1
#endif

/// Bytes, of 16, between rows of x beyond their own, as decode kernels read them from memory: eight
/// rows of 8,192 bytes fall into one set of L1, and 128 bytes more put each into another. Engines
/// have none; what a sweep finds faster belongs into gpuRowBytes (FragmentLayout.h).
#ifndef INGOT_X_PITCH
#define INGOT_X_PITCH 0
#endif
