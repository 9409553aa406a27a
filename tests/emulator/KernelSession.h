//===- KernelSession.h - One kernel object on one emulated device ------------===//
//
// Test kernels (kernels/*.cu) are compiled when the tests are built: NAME.fast.so, NAME.checked.so,
// and NAME.bugN.so, which is a checked build with -DBUG=N. A session loads one of them and provides
// its data.
//===----------------------------------------------------------------------===//
#pragma once

#include "emulator/host/Emulator.h"
#include "tests/codegen/cpu/Bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <dlfcn.h>
#include <random>

namespace ingot::emulator {

struct Shape {
  Extent grid{}, block{}, cluster{};
  uint32_t dynamicShared = 0;
  bool pdl = false, resident = false;
};

class KernelSession {
public:
  /// variant: "fast", "checked", "bug7".
  KernelSession(const std::string &kernels, const std::string &variant, uint32_t seed = 0,
                int workers = 2) {
    options.checked = variant != "fast";
    options.seed = seed;
    options.workers = workers;
    device.reset(ingotCreateCudaEmulator(options));
    const std::string path =
        std::string(INGOT_EMULATOR_KERNELS) + "/" + kernels + "." + variant + ".so";
    object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(object, nullptr) << dlerror();
  }
  KernelSession(const KernelSession &) = delete;
  ~KernelSession() { // the findings' file names are in the object
    device.reset();
    if (object)
      dlclose(object);
  }

  template <class T> T *put(const std::vector<T> &values, const char *name, bool constant = false) {
    T *p = make<T>(values.size(), name, constant);
    device->upload(p, values.data(), values.size() * sizeof(T));
    return p;
  }
  template <class T> T *make(size_t count, const char *name, bool constant = false) {
    auto p = device->allocate(count * sizeof(T), name, constant);
    EXPECT_TRUE(bool(p));
    return static_cast<T *>(*p);
  }
  template <class T> std::vector<T> get(const T *p, size_t count) const {
    std::vector<T> values(count);
    device->download(values.data(), p, count * sizeof(T));
    return values;
  }

  /// The arguments must have exactly the types of the kernel's parameters.
  template <class... T>
  Result<void> launch(const std::string &kernel, const Shape &shape, T... arguments) {
    void *addresses[] = {const_cast<void *>(static_cast<const void *>(&arguments))..., nullptr};
    Launch launch{kernel,        nullptr,       addresses,           shape.grid,
                  shape.block,   shape.cluster, shape.dynamicShared, shape.pdl,
                  shape.resident};
    launch.entry =
        reinterpret_cast<void (*)(void *const *)>(dlsym(object, (kernel + "__launch").c_str()));
    EXPECT_NE(launch.entry, nullptr) << kernel;
    return device->launch(launch);
  }

  Options options;
  std::unique_ptr<Device> device;

private:
  void *object = nullptr;
};

/// EXPECT_LAUNCHED(session.launch(…)): expects no finding.
#define EXPECT_LAUNCHED(expression)                                                                \
  do {                                                                                             \
    auto launched = (expression);                                                                  \
    EXPECT_TRUE(bool(launched)) << launched.error().format();                                      \
  } while (false)

class Random {
public:
  explicit Random(uint32_t seed = 1) : engine(seed) {}
  float uniform(float from = -1, float to = 1) {
    return from + (to - from) * float(engine() >> 8) / float(1 << 24);
  }
  uint32_t word() { return uint32_t(engine()); }
  std::vector<float> floats(size_t n) {
    std::vector<float> v(n);
    for (float &x : v)
      x = uniform();
    return v;
  }
  std::vector<uint16_t> bf16(size_t n) {
    std::vector<uint16_t> v(n);
    for (uint16_t &x : v)
      x = toBf16(uniform());
    return v;
  }

private:
  std::mt19937 engine;
};

inline void expectNear(const std::vector<float> &got, const std::vector<double> &want,
                       double tolerance, const char *what) {
  ASSERT_EQ(got.size(), want.size());
  size_t wrong = 0, first = 0;
  for (size_t i = want.size(); i-- > 0;)
    if (!(std::abs(got[i] - want[i]) <= tolerance)) {
      wrong++;
      first = i;
    }
  EXPECT_EQ(wrong, 0u) << what << ": value " << first << " is " << got[first] << ", wanted "
                       << want[first];
}

} // namespace ingot::emulator
