// Opens a damaged tokenizer segment. Segments are opened in place, so every table is untrusted. The
// input patches a valid segment (24 bits of offset, 8 of value, up to 64 times); the rest is text.

#include "compiler/text/TextBuild.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

using namespace ingot::text;

static const std::string &validSegment() {
  static const std::string bytes = [] {
    auto artifact = compileTokenizerJson(R"({"added_tokens":[
      {"id":6,"content":"<s>","single_word":false,"lstrip":false,"rstrip":true,"normalized":false,"special":true}],
      "pre_tokenizer":{"type":"Split","pattern":{"Regex":"\\s+|\\w+"},"behavior":"Isolated","invert":false},
      "decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},
      "model":{"type":"BPE","unk_token":"?","fuse_unk":true,"byte_fallback":true,"ignore_merges":true,
      "vocab":{"?":0,"a":1,"b":2,"ab":3,"abab":4,"<0x20>":5},"merges":[["a","b"],["ab","ab"]]}})");
    if (!artifact)
      std::abort();
    return artifact->bytes;
  }();
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string segment = validSegment();
  size_t at = 0;
  for (size_t patches = size ? data[at++] % 65 : 0; patches > 0 && at + 4 <= size;
       --patches, at += 4) {
    size_t offset = data[at] | data[at + 1] << 8 | data[at + 2] << 16;
    segment[offset % segment.size()] = static_cast<char>(data[at + 3]);
  }
  std::vector<std::byte> exact(segment.size()); // exact size: sanitizers catch reads outside
  std::transform(segment.begin(), segment.end(), exact.begin(),
                 [](char c) { return std::byte(c); });
  auto tokenizer = Tokenizer::fromBytes(kFlatBpe, exact);
  if (!tokenizer)
    return 0;
  std::string_view text(reinterpret_cast<const char *>(data) + at, size - at);
  for (bool special : {true, false})
    if (auto ids = (*tokenizer)->encode(text, special))
      (*tokenizer)->decode(*ids, false);
  return 0;
}
