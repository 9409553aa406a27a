// Parses arbitrary model output in every format. The result must not depend on how the text is
// split, and the arguments of a finished call must be JSON. The first byte selects the format, the
// second the reasoning format, the third the split.

#include "runtime/text/ChatOutput.h"

#include <cstdlib>

using namespace ingot::text;

namespace {

constexpr std::string_view kTools =
    R"([{"function":{"name":"f","parameters":{"properties":{"a":{"type":"string"},"n":{"type":"integer"},"o":{"type":["object","null"]},"l":{"type":"array","items":{"type":"boolean"}}}}}},
        {"function":{"name":"g"}},{"function":{"name":"get_weather","parameters":{"properties":{"city":{"type":"string"}}}}}])";

std::string joined(const OutputFormat &format, std::string_view text, size_t step) {
  auto reading = std::make_shared<ChatReading>();
  reading->format = format;
  reading->tools = ToolSet::parse(kTools);
  ChatOutputParser parser(reading);
  std::string parts[2], calls;
  auto add = [&](const std::vector<OutputPiece> &pieces) {
    for (const OutputPiece &piece : pieces) {
      bool ofCall = piece.kind == OutputPiece::Kind::ToolName ||
                    piece.kind == OutputPiece::Kind::ToolArguments;
      if (piece.text.empty() || ofCall != (piece.toolCall >= 0))
        std::abort();
      if (piece.kind == OutputPiece::Kind::ToolName)
        calls += "\n" + std::to_string(piece.toolCall) + " " + piece.text + " ";
      else if (ofCall)
        calls += piece.text;
      else
        parts[piece.kind == OutputPiece::Kind::Reasoning] += piece.text;
    }
  };
  for (size_t at = 0; at < text.size(); at += step)
    add(parser.push(text.substr(at, step)));
  add(parser.finish());
  return parts[0] + "\x01" + parts[1] + "\x01" + calls;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3)
    return 0;
  OutputFormat format;
  format.tools = toolFormatNames()[data[0] % toolFormatNames().size()];
  const size_t reasoning = data[1] % (reasoningFormatNames().size() + 1);
  if (reasoning)
    format.reasoning = reasoningFormatNames()[reasoning - 1];
  format.reasoningOpen = data[1] & 128;
  std::string_view text(reinterpret_cast<const char *>(data) + 3, size - 3);
  if (joined(format, text, text.size() + 1) != joined(format, text, 1 + data[2] % 16))
    std::abort();
  if (auto made = answerGrammar(format, {.tools = text, .mustCall = true}); made && made->empty())
    std::abort();
  detectOutputFormat(text);
  return 0;
}
