//===- Wrapper.h - The text model inside of a larger one ------------------===//
//
// Many checkpoints wrap a text model: they have towers for pictures and sound beside it, and what
// joins them. config.json keeps the text model's keys in an object, and its tensors have a prefix:
//
//   {"architectures": ["Gemma3ForConditionalGeneration"], "eos_token_id": [1, 106],
//    "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, …}, "vision_config": {…}}
//
//   language_model.model.layers.0.…   or   model.language_model.layers.0.…   and others
//   vision_tower.…, multi_modal_projector.…
//
// What comes out of here is the text model alone, as if it had been saved alone: a family reads
// hidden_size and model.layers.0.… and knows nothing of wrappers. Steps, in the order of reading:
//
//   unwrapConfig    after config.json: the object becomes the configuration
//   besideText      as tensors are listed: what belongs to a tower is counted, never read, so it
//                   may be of any type
//   unwrapTensors   when all are read and quantised weights have found their parts, whose lists of
//                   modules go by the names in the files: names lose their prefix
//
// A tensor under a prefix that is not in the tables keeps its name, and the family refuses it.
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/CheckpointBuilder.h"

namespace ingot::import {

/// Makes the text model's configuration of a wrapper's. A plain one only loses what concerns
/// pictures in its rotary embedding: where all is text, three equal positions turn as one does.
/// Token ids, the numeric type, quantization_config and tie_word_embeddings may stand at either
/// level. Keys that an older transformers left out, since they are its defaults, are filled in.
/// Of wrappers in the table nothing else of the outer level matters; unknown ones keep the other
/// keys, for the family to refuse. Errors: E0226 (no name of an architecture).
Result<void> unwrapConfig(CheckpointBuilder &builder, const std::string &path);

/// The same of a GGUF, whose text model is a file of its own with a name of its own ("qwen2vl").
void unwrapGguf(CheckpointBuilder &builder);

/// What a tensor of a wrapper belongs to ("vision tower"); empty for the text model's.
std::string_view besideText(std::string_view tensor);

/// Gives tensors the names that the plain model has, whatever stands before its embedding's: nothing, of a model that
/// was saved without its head (Checkpoint::headless), or what a program of training put there. Where the two levels contradict each other on
/// tie_word_embeddings, the presence of lm_head.weight decides. Errors: E0213 (two tensors become
/// one).
Result<void> unwrapTensors(CheckpointBuilder &builder);

} // namespace ingot::import
