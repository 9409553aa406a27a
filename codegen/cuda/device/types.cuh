//===- types.cuh - Numbers, kernels and shared memory under NVRTC ----------===//
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__
#define EXPORT_KERNEL(name)
/// DEVICE_TABLE u32 name[…] = {…}: constants in global memory.
#define DEVICE_TABLE static __device__ const

/// SHARED(float, partial, [4][2]) declares a 16-byte aligned array in the block's shared memory.
#define SHARED(type, name, dims) __shared__ alignas(16) type name dims
/// SHARED_ALIGNED(1024, u8, tile, [8192]): the same with an explicit alignment.
#define SHARED_ALIGNED(alignment, type, name, dims) __shared__ alignas(alignment) type name dims
/// The shared memory that the launch requests, 1024-byte aligned. One name per kernel.
#define DYNAMIC_SHARED(name) extern __shared__ __align__(1024) u8 name[]

#define UNROLL _Pragma("unroll")

#define DEVICE_ARCH __CUDA_ARCH__
#if __CUDA_ARCH__ >= 890
#define DEVICE_HAS_E4M3 1
#else
#define DEVICE_HAS_E4M3 0
#endif
#if __CUDA_ARCH__ >= 900
#define DEVICE_HAS_TMA 1
#else
#define DEVICE_HAS_TMA 0
#endif
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define DEVICE_HAS_WGMMA 1
#else
#define DEVICE_HAS_WGMMA 0
#endif
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL) ||                   \
    defined(__CUDA_ARCH_FEAT_SM103_ALL) || defined(__CUDA_ARCH_FEAT_SM120_ALL)
#define DEVICE_HAS_MAXNREG 1
#else
#define DEVICE_HAS_MAXNREG 0
#endif

DEVICE float as_f32(u32 bits) { return __uint_as_float(bits); }
DEVICE u32 as_u32(float value) { return __float_as_uint(value); }
DEVICE double as_f64(u64 bits) { return __longlong_as_double((i64)bits); }
DEVICE u64 as_u64(double value) { return (u64)__double_as_longlong(value); }

/// Returns the address of shared memory within its own window, as PTX instructions take it.
DEVICE u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

/// Keeps a value in its register at this point: the compiler can neither sink the load that produced
/// it below this line nor drop it.
DEVICE void keep(u32 &x) { asm volatile("" : "+r"(x)); }
DEVICE void keep(i32 &x) { asm volatile("" : "+r"(x)); }
DEVICE void keep(float &x) { asm volatile("" : "+f"(x)); }
DEVICE void keep(u64 &x) { asm volatile("" : "+l"(x)); }
DEVICE void keep(uint2 &v) { asm volatile("" : "+r"(v.x), "+r"(v.y)); }
DEVICE void keep(uint4 &v) { asm volatile("" : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)); }
template <class T, int N> DEVICE void keep(T (&x)[N]) {
  UNROLL
  for (int i = 0; i < N; i++)
    keep(x[i]);
}
