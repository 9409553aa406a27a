// Any bytes as a chat template: an error or a text, within the limits.

#include "runtime/text/Text.h"

#include <cstdlib>

using namespace ingot::text;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto parsed = ChatTemplate::parse({reinterpret_cast<const char *>(data), size});
  if (!parsed)
    return 0;
  auto text = (*parsed)->render(
      R"([{"role":"system","content":"s"},{"role":"user","content":"a\nb"},{"role":"assistant","content":[{"type":"text","text":"c"}]}])",
      {.bosToken = "<s>", .eosToken = "</s>", .extraJson = R"({"tools":[{"name":"f","parameters":{"x":1.5}}]})"});
  if (text && text->size() > (4u << 20))
    std::abort();
  return 0;
}
