//===- GridBlocks.h - Blocks whose values come from grids -------------------===//
//
// IQ1, IQ2 and IQ3 of GGUF store neither values nor codes. An index selects an entry of eight values (IQ3: four) in a
// grid (runtime/formats/Grids.h), and signs are stored separately. A grid has only a few distinct values, so each value
// becomes a code of four bits: its index in the table of these values (NumericFormat.cpp), plus 8 if it is negative.
// Per 256 values:
//
//   IQ2_XXS  d 8 x (idx[4] u32)          u32: four times 7 bits of signs, 4 bits s
//   IQ2_XS   d qs[32 x u16] sc[8]        u16: 9 bits index, 7 of signs; sc: 4 bits s for each 16
//   IQ2_S    d qs[32] signs[32] qh[8] sc[8]   qh: bits 8, 9 of the index
//   IQ3_XXS  d qs[64] 8 x u32            as IQ2_XXS
//   IQ3_S    d qs[64] qh[8] signs[32] sc[4]   qh: bit 8 of the index; sc: 4 bits s for each 32
//   IQ1_S    d qs[32] qh[8 x u16]        u16: four times bits 8-10 of the index, 3 bits s, the sign of delta
//   IQ1_M    qs[32] qh[16] sc[4 x u16]   qh: bits 8-10 and the sign, twice; sc: four times 3 bits s, 4 bits of d
//
// Seven sign bits determine the eighth, because the number of negative signs is even. A sub-scale is 2 s + 1, times a
// fraction (1/8 for IQ2 and IQ1, 1/4 for IQ3_XXS). The fraction becomes part of d, which is therefore f32.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/blocks/Codes.h"

namespace ingot::import {

// Implementations of StoredBlock::unpack. On entry, `d` is the stored f16, which they multiply by the fraction. IQ1_M
// has no such f16, so its function sets `d`.
void unpackIQ2XXS(const uint8_t *block, BlockParts &parts);
void unpackIQ2XS(const uint8_t *block, BlockParts &parts);
void unpackIQ2S(const uint8_t *block, BlockParts &parts);
void unpackIQ3XXS(const uint8_t *block, BlockParts &parts);
void unpackIQ3S(const uint8_t *block, BlockParts &parts);
void unpackIQ1S(const uint8_t *block, BlockParts &parts);
void unpackIQ1M(const uint8_t *block, BlockParts &parts);

} // namespace ingot::import
