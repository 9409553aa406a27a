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
// The result is only the text model, as if it had been saved by itself. A family reads hidden_size and
// model.layers.0.… and does not depend on wrappers. These functions are called in this order:
//
//   unwrapConfig    after config.json was read: makes the object the configuration
//   besideText      when tensors are listed: tensors of a tower are counted but never read, so they may
//                   have any type
//   unwrapTensors   after all tensors were read and quantised weights were assembled from their parts
//                   (module lists use the names in the files): removes the prefix from names
//
// A tensor under a prefix that is not in the tables keeps its name, and the family refuses it.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/checkpoint/CheckpointBuilder.h"

namespace ingot::import {

/// Replaces a wrapper's configuration with its text model's. A plain configuration only loses the image settings of its
/// rotary embedding, because in pure text, three equal positions rotate exactly as one position does. Token ids, the
/// numeric type, quantization_config and tie_word_embeddings may be at either level. Keys that older versions of
/// transformers left out because they have the default value are filled in. For wrappers in the table, all other keys
/// of the outer level are dropped. Unknown wrappers keep them, so that the family can refuse them. Errors: E0226 (no
/// architecture name).
Result<void> unwrapConfig(CheckpointBuilder &builder, const std::string &path);

/// Unwraps the configuration of a multimodal GGUF. In GGUF, the text model is a separate file with its own architecture
/// name ("qwen2vl").
void unwrapGguf(CheckpointBuilder &builder);

/// Returns the part of a wrapper to which a tensor belongs ("vision tower"), or "" for the text model.
std::string_view besideText(std::string_view tensor);

/// Renames tensors to the names of the plain model. The embedding shows the prefix to be replaced: a wrapper's, no
/// prefix (a model saved without its head, Checkpoint::headless) or a prefix that a training program added. If the two
/// levels contradict each other on tie_word_embeddings, the presence of lm_head.weight decides. Errors: E0213 (two
/// tensors get the same name).
Result<void> unwrapTensors(CheckpointBuilder &builder);

} // namespace ingot::import
