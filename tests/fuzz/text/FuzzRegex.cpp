// Compiles regular expressions and generates answers under them. The first byte is the number of
// trailing bytes that choose the answer.

#include "tests/fuzz/text/TinyVocabulary.h"

#include <algorithm>

using namespace ingot::text;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  std::string_view rest(reinterpret_cast<const char *>(data) + 1, size - 1);
  size_t answer = std::min<size_t>(data[0] % 64, rest.size());
  followGrammar(GrammarKind::Regex, rest.substr(0, rest.size() - answer),
                rest.substr(rest.size() - answer));
  return 0;
}
