//===- BadGgufTensors.cpp - Records and data that do not add up -----------===//
#include "tests/checkpoints/BadGgufTensors.h"
#include "tests/checkpoints/GgufImage.h"

#include <functional>

namespace ingot::test {

namespace {

/// Returns the valid image with a change to its last tensor, to its data or to more.
CheckpointFiles changed(const char *code, const char *name,
                        const std::function<void(GgufImage &, GgufTensor &)> &change) {
  GgufImage image = GgufImage::valid();
  change(image, image.tensors.back());
  return badGguf(code, name, image.bytes());
}

/// Returns a file that ends inside the record of its last tensor, which holds only `rest`.
CheckpointFiles cutRecord(const char *code, const char *name, const std::string &rest) {
  GgufImage image = GgufImage::valid();
  return badGguf(code, name,
                 image.keys() + image.tensors[0].record() + image.tensors[1].record() + rest);
}

void addRecords(std::vector<CheckpointFiles> &bad) {
  bad.push_back(cutRecord("E0262", "name-length-cut", "\1\0\0"));
  bad.push_back(cutRecord("E0263", "name-cut", little(~0ull) + "c"));
  bad.push_back(cutRecord("E0265", "shape-cut", ggufText("c") + little(2) + little(16ull)));
  bad.push_back(cutRecord("E0266", "offset-cut",
                          ggufText("c") + little(1) + little(16ull) + little(1) + "\0\0"));
  bad.push_back(
      changed("E0210", "name-empty", [](GgufImage &, GgufTensor &tensor) { tensor.name = ""; }));
  bad.push_back(changed("E0211", "name-too-long",
                        [](GgufImage &, GgufTensor &tensor) { tensor.name.assign(257, 'x'); }));
  bad.push_back(changed("E0212", "name-odd",
                        [](GgufImage &, GgufTensor &tensor) { tensor.name = "c\x1b[31m"; }));
  bad.push_back(
      changed("E0213", "name-twice", [](GgufImage &, GgufTensor &tensor) { tensor.name = "a"; }));
  bad.push_back(changed("E0264", "no-dimensions",
                        [](GgufImage &, GgufTensor &tensor) { tensor.extents.clear(); }));
  bad.push_back(changed("E0215", "dimensions-4-billion",
                        [](GgufImage &, GgufTensor &tensor) { tensor.dims = ~0u; }));
  bad.push_back(changed("E0216", "dimension-zero",
                        [](GgufImage &, GgufTensor &tensor) { tensor.extents[1] = 0; }));
  bad.push_back(changed("E0217", "elements-overflow", [](GgufImage &, GgufTensor &tensor) {
    tensor.extents = {uint64_t(1) << 40, uint64_t(1) << 40};
  }));
  bad.push_back(
      changed("E0218", "type-q8-1", [](GgufImage &, GgufTensor &tensor) { tensor.type = 9; }));
  bad.push_back(
      changed("E0219", "type-removed", [](GgufImage &, GgufTensor &tensor) { tensor.type = 4; }));
  bad.push_back(changed("E0267", "rows-no-blocks", [](GgufImage &, GgufTensor &tensor) {
    tensor.type = 12; // Q4_K: blocks of 256
  }));
  bad.push_back(changed("E0269", "bytes-overflow", [](GgufImage &, GgufTensor &tensor) {
    tensor.extents = {uint64_t(1) << 62};
    tensor.type = 0;
  }));
}

void addData(std::vector<CheckpointFiles> &bad) {
  bad.push_back(changed("E0268", "offset-unaligned",
                        [](GgufImage &, GgufTensor &tensor) { tensor.offset = 196; }));
  bad.push_back(
      changed("E0220", "data-cut", [](GgufImage &image, GgufTensor &) { image.data.pop_back(); }));
  bad.push_back(
      changed("E0221", "overlap", [](GgufImage &, GgufTensor &tensor) { tensor.offset = 160; }));
  bad.push_back(changed("E0222", "hole", [](GgufImage &image, GgufTensor &tensor) {
    tensor.offset = 224;
    image.data += std::string(32, '\0');
  }));
  bad.push_back(changed("E0223", "trailing-bytes",
                        [](GgufImage &image, GgufTensor &) { image.data += "appended"; }));
  bad.push_back(
      changed("E0270", "no-data", [](GgufImage &image, GgufTensor &) { image.data.clear(); }));
}

} // namespace

void addBadGgufTensors(std::vector<CheckpointFiles> &bad) {
  addRecords(bad);
  addData(bad);
}

} // namespace ingot::test
