//===- types.cuh - Numbers, kernels and shared memory on the host ----------===//
#pragma once

using emu::u16;
using emu::u32;
using emu::u64;
using emu::u8;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

struct uint3 {
  u32 x, y, z;
};
struct alignas(8) uint2 {
  u32 x, y;
};
struct alignas(16) uint4 {
  u32 x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

#define DEVICE static inline __attribute__((always_inline, unused))
#define KERNEL extern "C" __attribute__((visibility("default")))
#define DEVICE_TABLE static const
#define __launch_bounds__(...)
#define __grid_constant__
/// On a GPU, unrolling turns small arrays into registers; here it would only double the compile time.
#define UNROLL

/// NAME__launch(arguments): arguments[i] points to the i-th argument's value, as the driver's
/// cuLaunchKernel takes them.
#define EXPORT_KERNEL(name)                                                                        \
  extern "C" INGOT_UNCHECKED __attribute__((visibility("default"))) void name##__launch(           \
      void *const *arguments) {                                                                    \
    emu::callKernel(name, arguments);                                                              \
  }

/// The last parameter of a primitive that can report a finding: the line that called it.
#define INGOT_SITE                                                                                 \
  emu::Site site = emu::Site { __builtin_FILE(), __builtin_LINE() }

#define SHARED_ALIGNED(alignment, type, name, dims)                                                \
  auto &name = *(type(*) dims)emu::sharedArray(                                                    \
      sizeof(type dims), alignment,                                                                \
      [] {                                                                                         \
        static const char key = 0;                                                                 \
        return &key;                                                                               \
      }(),                                                                                         \
      emu::Site{__FILE__, __LINE__})
#define SHARED(type, name, dims) SHARED_ALIGNED(16, type, name, dims)
#define DYNAMIC_SHARED(name) u8 *const name = emu::dynamicShared()

#define threadIdx (emu::threadIndex())
#define blockIdx (emu::blockIndex())
#define gridDim (emu::gridExtent())
#define blockDim (emu::blockExtent())

#ifndef DEVICE_ARCH
#define DEVICE_ARCH 900
#define DEVICE_ARCH_FEATURES
#endif
#if DEVICE_ARCH >= 890
#define DEVICE_HAS_E4M3 1
#else
#define DEVICE_HAS_E4M3 0
#endif
#if DEVICE_ARCH >= 900
#define DEVICE_HAS_TMA 1
#else
#define DEVICE_HAS_TMA 0
#endif
#if DEVICE_ARCH == 900 && defined(DEVICE_ARCH_FEATURES)
#define DEVICE_HAS_WGMMA 1
#else
#define DEVICE_HAS_WGMMA 0
#endif
#if DEVICE_ARCH >= 900 && defined(DEVICE_ARCH_FEATURES)
#define DEVICE_HAS_MAXNREG 1
#else
#define DEVICE_HAS_MAXNREG 0
#endif

// Arguments are in host memory, which kernels must not access, so the checks must not see these
// reads.
#define INGOT_UNCHECKED __attribute__((disable_sanitizer_instrumentation))
namespace emu {
template <class, u64... I> struct Positions {};
template <class... T, u64... I>
INGOT_UNCHECKED inline void callKernel(void (*kernel)(T...), void *const *arguments,
                                       Positions<u64, I...>) {
  kernel(*(T *)arguments[I]...);
}
template <class... T>
INGOT_UNCHECKED inline void callKernel(void (*kernel)(T...), void *const *arguments) {
  callKernel(kernel, arguments, __make_integer_seq<Positions, u64, sizeof...(T)>{});
}
} // namespace emu

DEVICE float as_f32(u32 bits) { return __builtin_bit_cast(float, bits); }
DEVICE u32 as_u32(float value) { return __builtin_bit_cast(u32, value); }
DEVICE double as_f64(u64 bits) { return __builtin_bit_cast(double, bits); }
DEVICE u64 as_u64(double value) { return __builtin_bit_cast(u64, value); }

template <class T> DEVICE void keep(T &) {}
