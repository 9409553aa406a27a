//===- BadSafetensors.cpp - Invalid safetensors files ---------------------===//
#include "tests/checkpoints/BadFolders.h"
#include "tests/checkpoints/CheckpointFiles.h"
#include "tests/checkpoints/SafetensorsImage.h"

#include <functional>

namespace ingot::test {

namespace {

CheckpointFiles file(const char *code, const char *name, std::string bytes) {
  CheckpointFiles bad = validFolder();
  bad.name = name;
  bad.code = code;
  bad.files["model.safetensors"] = std::move(bytes);
  return bad;
}

CheckpointFiles changed(const char *code, const char *name,
                        const std::function<void(SafetensorsImage &)> &change) {
  SafetensorsImage image = SafetensorsImage::valid();
  change(image);
  return file(code, name, image.bytes());
}

/// Returns the valid file with another header.
CheckpointFiles header(const char *code, const char *name, const std::string &header) {
  return changed(code, name, [&](SafetensorsImage &image) { image.header = header; });
}

/// Returns the valid file with `member` in place of the entry of the last tensor, c.
CheckpointFiles entry(const char *code, const char *name, const std::string &member) {
  return changed(code, name, [&](SafetensorsImage &image) { image.entries.back() = member; });
}

void addTensorHeaders(std::vector<CheckpointFiles> &bad) {
  bad.push_back(file("E0204", "empty", ""));
  bad.push_back(file("E0271", "length-cut", std::string("\x10\0\0\0", 4)));
  bad.push_back(changed("E0272", "header-too-large",
                        [](SafetensorsImage &image) { image.length = 100'000'001; }));
  bad.push_back(changed("E0273", "header-beyond-the-file",
                        [](SafetensorsImage &image) { image.length = 99'000'000; }));
  bad.push_back(header("E0274", "header-no-object", "[1, 2, 3]"));
  bad.push_back(header("E0275", "header-no-json", "{\"a\": }"));
  bad.push_back(header("E0209", "header-not-utf8", "{\"\xc3(\": 1}"));
  bad.push_back(header("E0276", "header-too-deep",
                       "{\"a\": " + std::string(5000, '[') + std::string(5000, ']') + "}"));
  bad.push_back(header("E0224", "no-tensors", "{\"__metadata__\": {}}"));
  bad.push_back(changed("E0284", "metadata-number", [](SafetensorsImage &image) {
    image.entries.front() = R"("__metadata__": {"format": 1})";
  }));
  bad.push_back(changed("E0214", "metadata-twice", [](SafetensorsImage &image) {
    image.entries.push_back(R"("__metadata__": {})");
  }));
}

void addEntries(std::vector<CheckpointFiles> &bad) {
  const std::string fields = R"(": {"dtype": "F16", "shape": [], "data_offsets": [40, 42]})";
  bad.push_back(entry("E0210", "name-empty", "\"" + fields));
  bad.push_back(entry("E0211", "name-too-long", "\"" + std::string(257, 'x') + fields));
  bad.push_back(entry("E0212", "name-odd", "\"c\\u0007" + fields));
  bad.push_back(entry("E0213", "name-twice", "\"a" + fields));
  bad.push_back(entry("E0277", "entry-no-object", R"("c": 42)"));
  bad.push_back(
      entry("E0278", "shape-missing", R"("c": {"dtype": "F16", "data_offsets": [40, 42]})"));
  bad.push_back(
      entry("E0279", "field-unknown",
            R"("c": {"dtype": "F16", "shape": [], "strides": [], "data_offsets": [40, 42]})"));
  bad.push_back(entry("E0218", "type-f64",
                      R"("c": {"dtype": "F64", "shape": [], "data_offsets": [40, 42]})"));
  bad.push_back(entry("E0219", "type-unknown",
                      R"("c": {"dtype": "F12", "shape": [], "data_offsets": [40, 42]})"));
  bad.push_back(entry("E0280", "dimension-negative",
                      R"("c": {"dtype": "F16", "shape": [-1], "data_offsets": [40, 42]})"));
  bad.push_back(entry("E0215", "dimensions-9",
                      R"("c": {"dtype": "F16", "shape": [1,1,1,1,1,1,1,1,1],)"
                      R"( "data_offsets": [40, 42]})"));
  bad.push_back(entry("E0216", "dimension-zero",
                      R"("c": {"dtype": "F16", "shape": [0], "data_offsets": [40, 40]})"));
  bad.push_back(entry("E0217", "elements-overflow",
                      R"("c": {"dtype": "F16", "shape": [4294967296, 4294967296, 4294967296],)"
                      R"( "data_offsets": [40, 42]})"));
  bad.push_back(entry("E0281", "offsets-three",
                      R"("c": {"dtype": "F16", "shape": [], "data_offsets": [40, 41, 42]})"));
  bad.push_back(entry("E0282", "offsets-backwards",
                      R"("c": {"dtype": "F16", "shape": [], "data_offsets": [42, 40]})"));
  bad.push_back(entry("E0283", "size-mismatch",
                      R"("c": {"dtype": "F16", "shape": [3], "data_offsets": [40, 42]})"));
}

void addTensorData(std::vector<CheckpointFiles> &bad) {
  bad.push_back(
      changed("E0220", "data-cut", [](SafetensorsImage &image) { image.data.pop_back(); }));
  bad.push_back(entry("E0221", "overlap",
                      R"("c": {"dtype": "F16", "shape": [2], "data_offsets": [38, 42]})"));
  bad.push_back(changed("E0222", "hole", [](SafetensorsImage &image) {
    image.data += std::string(8, '\0');
    image.add("d", "F16", {1}, 2);
    image.entries.erase(image.entries.end() - 2); // removes c, so 2 + 8 bytes have no owner
  }));
  bad.push_back(changed("E0223", "trailing-bytes",
                        [](SafetensorsImage &image) { image.data += "appended"; }));
}

} // namespace

std::vector<CheckpointFiles> badSafetensorsFiles() {
  std::vector<CheckpointFiles> bad;
  addTensorHeaders(bad);
  addEntries(bad);
  addTensorData(bad);
  addBadFolders(bad);
  for (CheckpointFiles &kind : bad)
    kind.name = "safetensors-" + kind.name;
  return bad;
}

} // namespace ingot::test
