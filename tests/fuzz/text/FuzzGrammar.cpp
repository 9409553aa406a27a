// Compiles schemas and grammars. The first byte selects the kind, the second the number of trailing
// bytes that choose the answer; the rest is the source.

#include "tests/fuzz/text/TinyVocabulary.h"

#include <algorithm>

using namespace ingot::text;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2)
    return 0;
  static constexpr GrammarKind kKinds[] = {GrammarKind::JsonSchema, GrammarKind::Gbnf,
                                           GrammarKind::Lark, GrammarKind::Choice};
  std::string_view rest(reinterpret_cast<const char *>(data) + 2, size - 2);
  size_t answer = std::min<size_t>(data[1] % 64, rest.size());
  followGrammar(kKinds[data[0] % 4], rest.substr(0, rest.size() - answer),
                rest.substr(rest.size() - answer));
  return 0;
}
