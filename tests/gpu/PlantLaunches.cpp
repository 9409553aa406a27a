//===- PlantLaunches.cpp - Failing launches, to test the replay --------------------===//
//
//   plant-launches FILE
//
// FILE contains, in this order: a correct launch, one that writes wrong numbers, one that writes
// where it must not, one that differs by no more than a GPU may, one that kills its process, one
// that never ends, one that the device refuses, and another correct one. The code is host code for
// the emulator.
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaCodegen.h"
#include "tests/gpu/launches_generated.h"

#include <cstdio>
#include <cstring>
#include <fstream>

using namespace ingot;

static const char *const kSource = R"(#include "device.cuh"
#define PLANT(name, body)                                                      \
  KERNEL void name(float *y, const float *x) {                                 \
    pdl_launch();                                                              \
    pdl_wait();                                                                \
    if (threadIdx.x < 16) {                                                    \
      body                                                                     \
    }                                                                          \
  }                                                                            \
  EXPORT_KERNEL(name)
PLANT(right, y[threadIdx.x] = x[threadIdx.x] + 1.0f;)
PLANT(wrong, y[threadIdx.x] = x[threadIdx.x] + (threadIdx.x == 7 ? 1.1f : 1.0f);)
PLANT(beyond, y[threadIdx.x] = x[threadIdx.x] + 1.0f; y[20] = 3.0f;)
PLANT(near_to, y[threadIdx.x] = x[threadIdx.x] + 1.0f + (threadIdx.x == 7 ? 1e-4f : 0.0f);)
PLANT(dies, *(volatile int *)16 = 1;)
PLANT(hangs, for (volatile i32 i = 0; i < 1;) {})
PLANT(refused, y[threadIdx.x] = x[threadIdx.x] + 1.0f;)
PLANT(right_again, y[threadIdx.x] = x[threadIdx.x] + 1.0f;)
)";

int main(int count, char **arguments) {
  codegen::cuda::CudaProgram program;
  program.name = "planted", program.source = kSource;
  std::string problem;
  auto image = codegen::cuda::compileForEmulator({program}, {}, problem);
  if (count != 2 || mlir::failed(image)) {
    std::fprintf(stderr, "plant-launches FILE\n%s\n", problem.c_str());
    return 1;
  }
  replay::LaunchesT file;
  auto blobOf = [&](const void *bytes, size_t size) {
    file.blobs.push_back(std::make_unique<replay::BlobT>());
    file.blobs.back()->bytes.resize(size);
    std::memcpy(file.blobs.back()->bytes.data(), bytes, size);
    return uint32_t(file.blobs.size() - 1);
  };
  const uint32_t module = blobOf(image->data(), image->size());
  float y[32], x[16];
  for (int i = 0; i < 32; ++i)
    y[i] = -7;
  const uint32_t before = blobOf(y, sizeof y);
  for (int i = 0; i < 16; ++i)
    x[i] = float(i) / 3, y[i] = x[i] + 1;
  const uint32_t after = blobOf(y, sizeof y), input = blobOf(x, sizeof x);
  for (const char *symbol :
       {"right", "wrong", "beyond", "near_to", "dies", "hangs", "refused", "right_again"}) {
    auto launch = std::make_unique<replay::LaunchT>();
    launch->test = "Planted", launch->symbol = symbol, launch->module_ = module;
    launch->grid_x = launch->grid_y = 1;
    launch->threads = std::strcmp(symbol, "refused") == 0 ? 2000 : 32;
    launch->overlap = true;
    for (auto [size, from, to] :
         {std::tuple{sizeof y, before, after}, std::tuple{sizeof x, input, input}}) {
      auto memory = std::make_unique<replay::MemoryT>();
      memory->size = size, memory->before = {from}, memory->after = {to};
      memory->views.emplace_back(0, size, 0, replay::Element::F32);
      launch->arguments.emplace_back(int32_t(launch->memories.size()), 0);
      launch->memories.push_back(std::move(memory));
    }
    file.launches.push_back(std::move(launch));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(replay::Launches::Pack(builder, &file), replay::LaunchesIdentifier());
  std::ofstream(arguments[1], std::ios::binary)
      .write(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  return 0;
}
