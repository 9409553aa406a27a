//===- Wrapper.h - The text model inside a larger checkpoint --------------===//
//
// Many checkpoints wrap a text model: they also contain towers for images and audio, and the modules that
// connect these to the text model. config.json keeps the text model's keys in an object, and its tensor names
// have a prefix:
//
//   {"architectures": ["Gemma3ForConditionalGeneration"], "eos_token_id": [1, 106],
//    "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, …}, "vision_config": {…}}
//
//   language_model.model.layers.0.…   or   model.language_model.layers.0.…   and others
//   vision_tower.…, multi_modal_projector.…
//
// The result is only the text model, as if it had been saved by itself: a family reads hidden_size
// and model.layers.0.… and needs no knowledge of wrappers. Steps, in the order of reading:
//
//   unwrapConfig    after config.json: the object becomes the configuration
//   besideText      as tensors are listed: those of a tower are counted, never read, so they may have
//                   any type
//   unwrapTensors   removes the prefix from names, once all tensors are read and quantised weights are
//                   assembled from their parts (module lists use the names in the files)
//
// A tensor under a prefix that is not in the tables keeps its name, and the family refuses it.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/CheckpointBuilder.h"

namespace ingot::import {

/// Replaces a wrapper's configuration with its text model's. A plain configuration only loses the image
/// settings of its rotary embedding: for pure text, three equal positions rotate exactly as one does. Token
/// ids, the numeric type, quantization_config and tie_word_embeddings may be at either level. Keys that older
/// versions of transformers left out because they have the default value are filled in. For wrappers in the
/// table, all other keys of the outer level are dropped; unknown wrappers keep them, for the family to
/// refuse. Errors: E0226 (no architecture name).
Result<void> unwrapConfig(CheckpointBuilder &builder, const std::string &path);

/// Unwraps the config of a GGUF, whose text model is a separate file with its own architecture name ("qwen2vl").
void unwrapGguf(CheckpointBuilder &builder);

/// The part of a wrapper that a tensor belongs to ("vision tower"); empty for the text model.
std::string_view besideText(std::string_view tensor);

/// Renames tensors to the plain model's names, whatever prefix the embedding has: no prefix (a model saved
/// without its head, Checkpoint::headless) or one added by a training program. If the two levels contradict
/// each other on tie_word_embeddings, the presence of lm_head.weight decides. Errors: E0213 (two tensors get
/// the same name).
Result<void> unwrapTensors(CheckpointBuilder &builder);

} // namespace ingot::import
