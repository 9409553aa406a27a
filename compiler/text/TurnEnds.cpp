//===- TurnEnds.cpp - Tokens that end a turn, by chat format ---------------===//
//
// A GGUF has room for one or two end tokens, while generation_config.json of the same model lists them all. The end
// tokens are therefore derived from the chat format: each row has the stop tokens of models with that format,
// according to their published generation_config.json. A format is recognised by marks that its template writes.
//===----------------------------------------------------------------------===//

#include "compiler/text/TurnEnds.h"

#include <algorithm>

namespace ingot::text {

namespace {

using Names = std::initializer_list<std::string_view>;

struct Format {
  Names marks; ///< the template contains all of them
  Names ends, within = {};
};

// The first match counts.
const Format kFormats[] = {
    // Harmony (gpt-oss): <|end|> ends a message of a channel, and further messages of the same turn follow.
    {{"<|channel|>", "<|start|>", "<|message|>"},
     {"<|return|>", "<|call|>", "<|endoftext|>"},
     {"<|end|>"}},
    // Muse-Glimmer and Solar Open do the same.
    {{"<atem:"}, {"<|eot|>"}, {"<|eom|>"}},
    {{"<|begin|>", "<|content|>"}, {"<|calls|>", "<|flush|>", "<|endoftext|>"}, {"<|end|>"}},
    {{"<|end_of_msg|>"}, {"<|end_of_msg|>"}},                          // Kimi K3
    {{"<|eot_id|>"}, {"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"}}, // Llama 3
    {{"<|eot|>"}, {"<|eot|>", "<|eom|>", "<|end_of_text|>"}},          // Llama 4
    {{"<|im_end|>"}, {"<|im_end|>", "<|endoftext|>"}},       // ChatML: Qwen, SmolLM, Phi-4
    {{"<end_of_turn>"}, {"<end_of_turn>", "<eos>"}},         // Gemma 1 to 3
    {{"<turn|>"}, {"<turn|>", "<|tool_response>", "<eos>"}}, // Gemma 4
    {{"<|end|>", "<|assistant|>"}, {"<|end|>", "<|endoftext|>", "<|assistant|>"}}, // Phi-3, 4 mini
    {{"<sop>", "<|assistant|>"}, // GLM-4, in which a turn ends with the name of the next speaker
     {"<|endoftext|>", "<|user|>", "<|observation|>"}},
    {{"<|END_OF_TURN_TOKEN|>"}, {"<|END_OF_TURN_TOKEN|>"}},          // Command R
    {{"<|endofresponse|>"}, {"<|endofresponse|>", "<|endoftext|>"}}, // dots.llm1
    {{"<|assistant_end|>"}, {"<|assistant_end|>"}},                  // Apertus
    {{"[|endofturn|]"}, {"[|endofturn|]"}},                          // EXAONE
    {{"<seed:eos>"}, {"<seed:eos>"}},                                // Seed-OSS
    {{"[e~["}, {"[e~["}},                                            // MiniMax
    {{"</assistant>"}, {"</assistant>"}},                            // Laguna
    {{"<|role_end|>"}, {"<|role_end|>"}},                            // Ling 3
    {{"<｜hy_eos:opensource｜>"}, {"<｜hy_eos:opensource｜>"}},      // Hunyuan 3
    {{"<｜end▁of▁sentence｜>"}, {"<｜end▁of▁sentence｜>"}},          // DeepSeek, Spark
    {{"<end_of_sentence>"}, {"<end_of_sentence>"}},                  // MiniMax-M1
    {{"<SPECIAL_12>"}, {"<SPECIAL_12>"}},                            // Nemotron Nano 2
    // GigaChat 3: a tool call begins with the mark that ends a message.
    {{"<|message_sep|>", "function call<|role_sep|>"}, {}, {"<|message_sep|>"}},
    {{"<|message_sep|>"}, {"<|message_sep|>"}}, // GigaChat 3
    {{"<|end_of_text|>"}, {"<|end_of_text|>"}}, // Granite
};

} // namespace

TurnEnds turnEnds(std::string_view chatTemplate) {
  auto written = [&](std::string_view mark) {
    return chatTemplate.find(mark) != std::string_view::npos;
  };
  for (const Format &format : kFormats)
    if (std::ranges::all_of(format.marks, written))
      return {format.ends, format.within};
  return {};
}

} // namespace ingot::text
