//===- DraftBlocks.h - Multi-token-prediction blocks of a checkpoint -------===//
//
// Some models were trained with extra blocks after their layers. These blocks predict further tokens (multi-token
// prediction). The model itself does not need them; they are used for speculative decoding. Their tensor names
// depend on the program that wrote the file:
//
//   mtp.…                       Qwen3-Next, Qwen3.5; others use model.mtp_…
//   model.layers.<L> and above  DeepSeek and related models; L is num_hidden_layers, and
//                               num_nextn_predict_layers is the number of blocks
//   blk.<L> and above           GGUF; block_count includes these blocks (nextn_predict_layers)
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/CheckpointBuilder.h"

namespace ingot::import {

/// Moves the tensors of draft blocks from the model's list to the checkpoint's draftBlocks. A GGUF's
/// block_count and its per-block arrays are cut down to the layers. Call it once tensor names are the
/// family's own (Wrapper.h).
void setDraftBlocksAside(CheckpointBuilder &builder);

} // namespace ingot::import
