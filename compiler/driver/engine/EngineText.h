//===- EngineText.h - Tokenizer, template and defaults of an engine -------===//
#pragma once

#include "compiler/engine/EngineWriter.h"
#include "compiler/import/checkpoint/Checkpoint.h"

#include <optional>
#include <string>

namespace ingot::compiler {

/// The data that an engine needs, besides its weights, to accept and return text.
struct EngineText {
  std::string tokenizerKind, tokenizer;              ///< empty: the engine takes ids
  std::string chatTemplate;                          ///< empty: there is none
  std::vector<import::NamedTemplate> namedTemplates; ///< templates for special requests: "tool_use"
  fb::SpecialTokensT special;
  std::optional<fb::GenerationDefaultsT> generation;
  std::string warning; ///< a warning about the tokenizer for the user, or empty
  /// A summary for the user of the chosen data: "tokenizer.json; template default of 2; ends <|im_end|>
  /// </s>; tools: hermes; reasoning: <think>".
  std::string taken;

  /// Adds the segments and fills `table.text` and `table.generation`.
  void addTo(fb::EngineT &table, std::vector<SegmentSource> &segments) const;
};

/// Builds the text data from the checkpoint. `templateFile`, if not empty, replaces the checkpoint's chat templates.
/// `templateName`, if not empty, chooses one of the checkpoint's templates for all requests.
Result<EngineText> buildEngineText(const import::Checkpoint &checkpoint,
                                   const std::string &templateFile,
                                   const std::string &templateName);

} // namespace ingot::compiler
