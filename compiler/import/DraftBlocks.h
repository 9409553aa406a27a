//===- DraftBlocks.h - Blocks that predict the token after the next --------===//
//
// Some models were trained with blocks behind their layers that predict further tokens
// (multi-token prediction). Nothing of the model needs them; they serve speculation. Where they
// are depends on who wrote the file:
//
//   mtp.…                       Qwen3-Next, Qwen3.5; model.mtp_… of others
//   model.layers.<L> and above  DeepSeek and its kin, L being num_hidden_layers, as many as
//                               num_nextn_predict_layers says
//   blk.<L> and above           GGUF, whose block_count counts them (nextn_predict_layers)
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/CheckpointBuilder.h"

namespace ingot::import {

/// Moves such tensors from the model's to the checkpoint's draftBlocks; a GGUF's block_count, and
/// its lists of numbers per block, become those of the layers alone. Call it when names are the
/// family's own (Wrapper.h).
void setDraftBlocksAside(CheckpointBuilder &builder);

} // namespace ingot::import
