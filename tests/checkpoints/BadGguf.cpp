//===- BadGguf.cpp - GGUF files whose header or keys are wrong ------------===//
#include "tests/checkpoints/BadGgufTensors.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/GgufImage.h"

#include <cmath>
#include <functional>

namespace ingot::test {

namespace {

/// Returns the valid image with one thing changed.
CheckpointFiles changed(const char *code, const char *name,
                        const std::function<void(GgufImage &)> &change) {
  GgufImage image = GgufImage::valid();
  change(image);
  return badGguf(code, name, image.bytes());
}

/// Returns the valid image with one more entry.
CheckpointFiles withEntry(const char *code, const char *name, const std::string &entry) {
  return changed(code, name, [&](GgufImage &image) { image.entries.push_back(entry); });
}

/// Returns a file that ends inside its last entry, which holds only `rest`.
CheckpointFiles cutEntry(const char *code, const char *name, const std::string &rest) {
  GgufImage image = GgufImage::valid();
  image.keyCount = image.entries.size() + 1;
  return badGguf(code, name, image.keys() + rest);
}

void addHeaders(std::vector<CheckpointFiles> &bad) {
  const std::string valid = GgufImage::valid().bytes();
  bad.push_back(badGguf("E0204", "empty", ""));
  bad.push_back(badGguf("E0230", "header-cut", valid.substr(0, 20)));
  bad.push_back(changed("E0231", "magic", [](GgufImage &image) { image.magic = "GGML"; }));
  bad.push_back(changed("E0232", "big-endian", [](GgufImage &image) { image.version = 3u << 24; }));
  bad.push_back(changed("E0233", "version-1", [](GgufImage &image) { image.version = 1; }));
  bad.push_back(changed("E0234", "version-4", [](GgufImage &image) { image.version = 4; }));
  bad.push_back(changed("E0224", "no-tensors", [](GgufImage &image) { image.tensors.clear(); }));
  bad.push_back(changed("E0228", "too-many-tensors",
                        [](GgufImage &image) { image.tensorCount = uint64_t(1) << 40; }));
  bad.push_back(
      changed("E0229", "too-many-keys", [](GgufImage &image) { image.keyCount = 65537; }));
  bad.push_back(
      changed("E0235", "keys-beyond-the-file", [](GgufImage &image) { image.keyCount = 60000; }));
  bad.push_back(changed("E0236", "tensors-beyond-the-file",
                        [](GgufImage &image) { image.tensorCount = 60000; }));
}

void addKeys(std::vector<CheckpointFiles> &bad) {
  bad.push_back(cutEntry("E0237", "key-length-cut", "\4\0\0"));
  bad.push_back(cutEntry("E0238", "key-too-long", little<uint64_t>(65536)));
  bad.push_back(cutEntry("E0239", "key-cut", little<uint64_t>(9) + "general"));
  bad.push_back(withEntry("E0240", "key-empty", ggufEntry("", 4, little(1))));
  bad.push_back(withEntry("E0241", "key-odd", ggufEntry("a\nb", 4, little(1))));
  bad.push_back(withEntry("E0214", "key-twice", ggufEntry("llama.block_count", 4, little(1))));
  bad.push_back(cutEntry("E0242", "value-type-cut", ggufText("a") + "\4"));
  bad.push_back(withEntry("E0243", "value-type", ggufEntry("a", 13, little(1))));
  bad.push_back(cutEntry("E0244", "value-cut", ggufEntry("a", 10, "\1\2\3")));
  bad.push_back(cutEntry("E0245", "string-length-cut", ggufEntry("a", 8, "\1\2\3")));
  bad.push_back(cutEntry("E0246", "string-too-long", ggufEntry("a", 8, little(16777217ull))));
  bad.push_back(cutEntry("E0247", "string-cut", ggufEntry("a", 8, little(50ull) + "short")));
  bad.push_back(withEntry("E0209", "string-not-utf8", ggufEntry("a", 8, ggufText("\xc3("))));
  bad.push_back(withEntry("E0248", "boolean-2", ggufEntry("a", 7, "\2")));
  bad.push_back(withEntry("E0249", "float-nan", ggufEntry("a", 6, little(NAN))));
  bad.push_back(withEntry("E0227", "integer-too-large", ggufEntry("a", 10, little(~0ull))));
}

void addArrays(std::vector<CheckpointFiles> &bad) {
  bad.push_back(cutEntry("E0250", "array-header-cut", ggufEntry("a", 9, little(4) + "\1")));
  bad.push_back(withEntry("E0251", "array-type", ggufArray("a", 13, 1, little(1))));
  bad.push_back(withEntry("E0252", "array-nested", ggufArray("a", 9, 1, little(4) + little(0ull))));
  bad.push_back(withEntry("E0253", "array-beyond-the-file", ggufArray("a", 4, 1ull << 61, "")));
  bad.push_back(
      cutEntry("E0254", "array-string-cut", ggufArray("a", 8, 1, little<uint64_t>(100) + "short")));
  bad.push_back(withEntry("E0255", "vocabulary-too-large",
                          ggufArray("tokenizer.ggml.tokens", 8, 4194305, "")));
}

void addIdentity(std::vector<CheckpointFiles> &bad) {
  bad.push_back(withEntry("E0256", "alignment-no-integer",
                          ggufEntry("general.alignment", 8, ggufText("32"))));
  bad.push_back(
      withEntry("E0257", "alignment-48", ggufEntry("general.alignment", 4, little<uint32_t>(48))));
  bad.push_back(withEntry("E0258", "alignment-131072",
                          ggufEntry("general.alignment", 4, little<uint32_t>(131072))));
  bad.push_back(withEntry("E0259", "split", ggufEntry("split.count", 2, little<uint16_t>(3))));
  bad.push_back(withEntry("E0260", "adapter", ggufEntry("general.type", 8, ggufText("adapter"))));
  bad.push_back(changed("E0261", "quantization-version", [](GgufImage &image) {
    image.entries[2] = ggufEntry("general.quantization_version", 4, little<uint32_t>(1));
  }));
  bad.push_back(changed("E0225", "no-architecture",
                        [](GgufImage &image) { image.entries.erase(image.entries.begin()); }));
  bad.push_back(changed("E0226", "odd-architecture", [](GgufImage &image) {
    image.entries[0] = ggufEntry("general.architecture", 4, little(1));
  }));
}

} // namespace

std::vector<CheckpointFiles> badGgufFiles() {
  std::vector<CheckpointFiles> bad;
  addHeaders(bad);
  addKeys(bad);
  addArrays(bad);
  addIdentity(bad);
  addBadGgufTensors(bad);
  bad.push_back({.name = "missing", .code = "E0200", .open = "bad.gguf"});
  bad.push_back({.name = "pipe", .code = "E0201", .open = "bad.gguf", .pipes = {"bad.gguf"}});
  CheckpointFiles missing = validSplitGguf();
  missing.files.erase("m-00002-of-00003.gguf");
  missing.name = "part-missing";
  missing.code = "E0840";
  bad.push_back(missing);
  CheckpointFiles fewer = validSplitGguf(/*tensors=*/2);
  fewer.name = "part-of-another-model";
  fewer.code = "E0841";
  bad.push_back(fewer);
  bad.push_back({.name = "ending",
                 .code = "E0202",
                 .open = "bad.ggfu",
                 .files = {{"bad.ggfu", "GGML" + GgufImage::valid().bytes().substr(4)}}});
  for (CheckpointFiles &kind : bad)
    kind.name = "gguf-" + kind.name;
  return bad;
}

} // namespace ingot::test
