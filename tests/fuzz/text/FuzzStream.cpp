// Checks stop strings and the hold-back of partial UTF-8: the output must not depend on how the
// text is split.

#include "runtime/text/Text.h"

#include <cstdlib>

using namespace ingot::text;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3)
    return 0;
  size_t first = data[0] % 8, second = data[1] % 8, step = 1 + data[2] % 7;
  std::string_view rest(reinterpret_cast<const char *>(data) + 3, size - 3);
  std::string_view one = rest.substr(0, first);
  rest.remove_prefix(one.size());
  std::string_view two = rest.substr(0, second);
  rest.remove_prefix(two.size());

  StopMatcher whole({std::string(one), std::string(two)}),
      cut({std::string(one), std::string(two)});
  std::string expected = whole.push(rest);
  expected += whole.flush();
  std::string text;
  for (size_t at = 0; at < rest.size(); at += step)
    text += cut.push(rest.substr(at, step));
  text += cut.flush();
  if (text != expected || whole.stopped() != cut.stopped())
    std::abort();
  for (std::string_view stop : {one, two})
    if (!stop.empty() && expected.find(stop) != std::string::npos)
      std::abort();
  if (replaceInvalidUtf8(replaceInvalidUtf8(rest)) != replaceInvalidUtf8(rest))
    std::abort();
  return 0;
}
