//===- LibcudaApi.h - The few functions of libcuda.so.1 that ingot calls ----===//
//
// These are our own declarations, so that the build needs no CUDA header. Names, numbers and layouts
// come from NVIDIA's "CUDA Driver API" reference. The assertions below check the sizes of the layouts;
// only use with a real driver checks the rest. Functions are looked up by their exported, versioned
// names.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot::cuda {

using CuResult = int;
using CuDevice = int;
using CuAddress = unsigned long long;
using CuHandle = void *; ///< context, module, function, stream, event, graph, …

enum : CuResult {
  kCuSuccess = 0,
  kCuOutOfMemory = 2,
  kCuNoDevice = 100,
  kCuDriverMismatch = 803, ///< library and kernel module have different versions
};

enum : int { // CUdevice_attribute
  kCuMultiprocessorCount = 16,
  kCuCapabilityMajor = 75,
  kCuCapabilityMinor = 76,
  kCuSharedPerBlockOptin = 97,
};

enum : int { kCuFunctionMaxDynamicShared = 8, kCuFunctionCarveout = 9 }; // CUfunction_attribute
enum : int { kCuJitErrorLog = 5, kCuJitErrorLogBytes = 6 };              // CUjit_option
enum : unsigned { kCuStreamNonBlocking = 1, kCuEventDefault = 0, kCuEventDisableTiming = 2 };

struct CuLaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    int flag;
    unsigned cluster[3];
  } value;
};
enum : int {
  kCuClusterDimension = 4,
  kCuProgrammaticStreamSerialization = 6
}; // CUlaunchAttributeID

struct CuLaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  CuHandle stream;
  CuLaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(CuLaunchAttribute) == 72 && offsetof(CuLaunchAttribute, value) == 8 &&
              sizeof(CuLaunchConfig) == 56 && offsetof(CuLaunchConfig, stream) == 32);

struct CuKernelNode { // CUDA_KERNEL_NODE_PARAMS_v3
  CuHandle function;
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  void **arguments;
  void **extra;
  CuHandle kernel, context;
};
struct CuGraphNodeParams {
  int type; ///< 0: a kernel
  int reserved0[3];
  union {
    long long bytes[29];
    CuKernelNode kernel;
  };
  long long reserved1;
};
struct CuGraphEdge { // CUgraphEdgeData
  unsigned char fromPort, toPort, type, reserved[5];
};
enum : unsigned char { kCuPortProgrammatic = 1, kCuEdgeProgrammatic = 1 };
static_assert(sizeof(CuKernelNode) == 72 && sizeof(CuGraphNodeParams) == 256 &&
              offsetof(CuGraphNodeParams, kernel) == 16 && sizeof(CuGraphEdge) == 8);

enum : int { kCuTensorU8 = 0, kCuTensorBf16 = 9 };        // CUtensorMapDataType
enum : int { kCuSwizzleNone = 0, kCuSwizzle128 = 3 };     // CUtensorMapSwizzle
enum : int { kCuInterleaveNone = 0, kCuOutsideZero = 0 }; // CUtensorMapInterleave, …FloatOOBfill
enum : int { kCuPromote128 = 2 };                         // CUtensorMapL2promotion

/// All functions with their exported names: X(member, symbol, parameters). All return CuResult.
#define INGOT_LIBCUDA(X)                                                                           \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(driverVersion, "cuDriverGetVersion", (int *version))                                           \
  X(errorName, "cuGetErrorName", (CuResult code, const char **name))                               \
  X(errorText, "cuGetErrorString", (CuResult code, const char **text))                             \
  X(deviceCount, "cuDeviceGetCount", (int *count))                                                 \
  X(deviceGet, "cuDeviceGet", (CuDevice * device, int ordinal))                                    \
  X(deviceName, "cuDeviceGetName", (char *name, int bytes, CuDevice device))                       \
  X(deviceAttribute, "cuDeviceGetAttribute", (int *value, int attribute, CuDevice device))         \
  X(deviceMemory, "cuDeviceTotalMem_v2", (size_t *bytes, CuDevice device))                         \
  X(contextRetain, "cuDevicePrimaryCtxRetain", (CuHandle * context, CuDevice device))              \
  X(contextRelease, "cuDevicePrimaryCtxRelease_v2", (CuDevice device))                             \
  X(contextSet, "cuCtxSetCurrent", (CuHandle context))                                             \
  X(contextGet, "cuCtxGetCurrent", (CuHandle * context))                                           \
  X(memoryInfo, "cuMemGetInfo_v2", (size_t *free, size_t *total))                                  \
  X(allocate, "cuMemAlloc_v2", (CuAddress * address, size_t bytes))                                \
  X(release, "cuMemFree_v2", (CuAddress address))                                                  \
  X(allocateHost, "cuMemAllocHost_v2", (void **memory, size_t bytes))                              \
  X(releaseHost, "cuMemFreeHost", (void *memory))                                                  \
  X(copyToDevice, "cuMemcpyHtoDAsync_v2",                                                          \
    (CuAddress to, const void *from, size_t bytes, CuHandle stream))                               \
  X(copyToHost, "cuMemcpyDtoHAsync_v2", (void *to, CuAddress from, size_t bytes, CuHandle stream)) \
  X(copyOnDevice, "cuMemcpyDtoDAsync_v2",                                                          \
    (CuAddress to, CuAddress from, size_t bytes, CuHandle stream))                                 \
  X(clear, "cuMemsetD8Async", (CuAddress to, unsigned char value, size_t bytes, CuHandle stream))  \
  X(moduleLoad, "cuModuleLoadDataEx",                                                              \
    (CuHandle * module, const void *image, unsigned count, int *options, void **values))           \
  X(moduleUnload, "cuModuleUnload", (CuHandle module))                                             \
  X(moduleFunction, "cuModuleGetFunction",                                                         \
    (CuHandle * function, CuHandle module, const char *name))                                      \
  X(functionSet, "cuFuncSetAttribute", (CuHandle function, int attribute, int value))              \
  X(launch, "cuLaunchKernelEx",                                                                    \
    (const CuLaunchConfig *config, CuHandle function, void **arguments, void **extra))             \
  X(streamCreate, "cuStreamCreate", (CuHandle * stream, unsigned flags))                           \
  X(streamDestroy, "cuStreamDestroy_v2", (CuHandle stream))                                        \
  X(streamWait, "cuStreamSynchronize", (CuHandle stream))                                          \
  X(eventCreate, "cuEventCreate", (CuHandle * event, unsigned flags))                              \
  X(eventDestroy, "cuEventDestroy_v2", (CuHandle event))                                           \
  X(eventRecord, "cuEventRecord", (CuHandle event, CuHandle stream))                               \
  X(eventWait, "cuEventSynchronize", (CuHandle event))                                             \
  X(eventElapsed, "cuEventElapsedTime", (float *milliseconds, CuHandle begin, CuHandle end))       \
  X(graphCreate, "cuGraphCreate", (CuHandle * graph, unsigned flags))                              \
  X(graphDestroy, "cuGraphDestroy", (CuHandle graph))                                              \
  X(graphAddNode, "cuGraphAddNode_v2",                                                             \
    (CuHandle * node, CuHandle graph, const CuHandle *after, const CuGraphEdge *edges,             \
     size_t count, CuGraphNodeParams *params))                                                     \
  X(nodeSetAttribute, "cuGraphKernelNodeSetAttribute",                                             \
    (CuHandle node, int attribute, const void *value))                                             \
  X(tensorMap, "cuTensorMapEncodeTiled",                                                           \
    (void *map, int type, unsigned rank, void *base, const uint64_t *extents,                      \
     const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,          \
     int swizzle, int promotion, int outside))                                                     \
  X(graphInstantiate, "cuGraphInstantiateWithFlags",                                               \
    (CuHandle * executable, CuHandle graph, unsigned long long flags))                             \
  X(graphUpload, "cuGraphUpload", (CuHandle executable, CuHandle stream))                          \
  X(graphLaunch, "cuGraphLaunch", (CuHandle executable, CuHandle stream))                          \
  X(graphExecDestroy, "cuGraphExecDestroy", (CuHandle executable))

struct LibcudaApi {
#define INGOT_MEMBER(member, symbol, parameters) CuResult(*member) parameters = nullptr;
  INGOT_LIBCUDA(INGOT_MEMBER)
#undef INGOT_MEMBER
};

} // namespace ingot::cuda
