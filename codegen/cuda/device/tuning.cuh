//===- tuning.cuh - Tuning macros for recompiling kernels in a sweep ------===//
//
// These macros are values that can only be tuned on a GPU. To try another value, compile the output of
// `--emit cuda` with NVRTC and, for example, -DINGOT_DEPTH=6. Ingot's compiler sets none of them, so
// engines use the defaults below. No setting changes the bits of the results. INGOT_X_PITCH also requires
// rows of x with that pitch.
//===----------------------------------------------------------------------===//
#pragma once

/// Runs of 64 k that a warp of a decode kernel has in flight, rounded to a divisor of the format's
/// block or to whole blocks. 0: the depth that fits the registers (decode_depth of matmul_decode.cuh).
#ifndef INGOT_DEPTH
#define INGOT_DEPTH 0
#endif

/// The number of blocks of a decode kernel that must fit on a multiprocessor. ptxas limits the registers accordingly.
/// 0: the count that Ingot's compiler chose.
#ifndef INGOT_MIN_BLOCKS
#define INGOT_MIN_BLOCKS 0
#endif
#define LEAST_BLOCKS(own) (INGOT_MIN_BLOCKS ? INGOT_MIN_BLOCKS : (own))

/// Stages in the rings of wgmma kernels, at least 2 (fp8: 4). 0: 3 for blocks of 256 tokens, otherwise
/// 4. A launch must request WgmmaShared::bytes (fp8_shared_bytes), which grow with the stages.
#ifndef INGOT_STAGES
#define INGOT_STAGES 0
#endif

/// Controls how L2 treats weights that were read. 1: evicts them first; 0: treats them like other data; -1: evicts
/// first only weights that a single token tile reads.
#ifndef INGOT_EVICT
#define INGOT_EVICT -1
#endif

/// Extra bytes, a multiple of 16, between rows of x as decode kernels read them from memory. Eight rows
/// of 8,192 bytes map to one set of L1; 128 extra bytes map each to a different set. Engines have none:
/// a pitch that a sweep finds faster belongs in gpuRowBytes (FragmentLayout.h).
#ifndef INGOT_X_PITCH
#define INGOT_X_PITCH 0
#endif
