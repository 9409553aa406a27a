/*===- FakeLibcuda.c - libcuda.so.1 for tests without a GPU -------------------===
 *
 * Has the functions that ingot calls, records them, fails on demand, and runs "cubins":
 * host objects whose machine is changed to CUDA's, with kernels
 *
 *     void NAME(void *const *arguments, const unsigned *grid)
 *
 * that do the work of the whole grid. Device memory is host memory; what was not
 * allocated is not known here, so run under a sanitizer to find wild accesses. A graph's
 * nodes run as late as their edges allow, so that a missing edge changes results. Copies to
 * the host arrive when they are waited for, and memory that a copy to the device reads must
 * be the same until then (`torn` counts those that are not).
 *===----------------------------------------------------------------------===*/
#define _GNU_SOURCE
#include "FakeLibcuda.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default"))) int
typedef void (*KernelFn)(void *const *arguments, const unsigned *grid);

__attribute__((visibility("default"))) struct FakeCuda fakeCuda;

struct Function {
  KernelFn code;
  char name[64];
  struct Function *next;
};
static struct Function *functions;

static int failing(const char *call) {
  if (!fakeCuda.failCall || strcmp(fakeCuda.failCall, call) != 0)
    return 0;
  if (fakeCuda.failAfter > 0) {
    --fakeCuda.failAfter;
    return 0;
  }
  return fakeCuda.failCode ? fakeCuda.failCode : 999;
}
#define TRY(call)                                                                                  \
  do {                                                                                             \
    int code = failing(call);                                                                      \
    if (code)                                                                                      \
      return code;                                                                                 \
  } while (0)

static size_t memorySize(void) { return fakeCuda.memory ? fakeCuda.memory : (size_t)1 << 30; }

API cuInit(unsigned flags) {
  TRY("cuInit");
  return fakeCuda.devices < 0 ? 100 : 0;
}
API cuDriverGetVersion(int *version) {
  TRY("cuDriverGetVersion");
  *version = fakeCuda.version ? fakeCuda.version : 13000;
  return 0;
}
API cuGetErrorName(int code, const char **name) {
  *name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return 0;
}
API cuGetErrorString(int code, const char **text) {
  *text = code == 2 ? "out of memory" : "what the test asked for";
  return 0;
}
API cuDeviceGetCount(int *count) {
  TRY("cuDeviceGetCount");
  *count = fakeCuda.devices ? fakeCuda.devices : 1;
  return 0;
}
API cuDeviceGet(int *device, int ordinal) {
  TRY("cuDeviceGet");
  *device = ordinal;
  return 0;
}
API cuDeviceGetName(char *name, int bytes, int device) {
  TRY("cuDeviceGetName");
  snprintf(name, (size_t)bytes, "Fake GPU");
  return 0;
}
API cuDeviceGetAttribute(int *value, int attribute, int device) {
  TRY("cuDeviceGetAttribute");
  switch (attribute) {
  case 16:
    *value = 4;
    return 0;
  case 75:
    *value = fakeCuda.major ? fakeCuda.major : 9;
    return 0;
  case 76:
    *value = fakeCuda.minor;
    return 0;
  case 97:
    *value = 100000;
    return 0;
  }
  return 1;
}
API cuDeviceTotalMem_v2(size_t *bytes, int device) {
  TRY("cuDeviceTotalMem");
  *bytes = memorySize();
  return 0;
}
API cuDevicePrimaryCtxRetain(void **context, int device) {
  TRY("cuDevicePrimaryCtxRetain");
  *context = &fakeCuda;
  ++fakeCuda.contexts;
  return 0;
}
API cuDevicePrimaryCtxRelease_v2(int device) {
  --fakeCuda.contexts;
  return 0;
}
API cuCtxSetCurrent(void *context) { return 0; }
API cuMemGetInfo_v2(size_t *free, size_t *total) {
  TRY("cuMemGetInfo");
  *free = memorySize() - fakeCuda.taken;
  *total = memorySize();
  return 0;
}

/* The size lies in front of the memory. */
API cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  TRY("cuMemAlloc");
  if (bytes > memorySize() - fakeCuda.taken)
    return 2;
  char *memory = aligned_alloc(256, (bytes + 511) / 256 * 256);
  *(size_t *)memory = bytes;
  memset(memory + 256, 0xCD, bytes);
  *address = (uintptr_t)memory + 256;
  fakeCuda.taken += bytes;
  if (fakeCuda.taken > fakeCuda.highest)
    fakeCuda.highest = fakeCuda.taken;
  ++fakeCuda.allocations;
  return 0;
}
API cuMemFree_v2(unsigned long long address) {
  char *memory = (char *)(uintptr_t)address - 256;
  fakeCuda.taken -= *(size_t *)memory;
  --fakeCuda.allocations;
  free(memory);
  return 0;
}
API cuMemAllocHost_v2(void **memory, size_t bytes) {
  TRY("cuMemAllocHost");
  *memory = malloc(bytes);
  ++fakeCuda.pinned;
  return 0;
}
API cuMemFreeHost(void *memory) {
  --fakeCuda.pinned;
  free(memory);
  return 0;
}
/* Copies under way, in order; `sequence` counts everything that went into the stream. */
struct Copy {
  unsigned sequence;
  void *host;
  void *snapshot; /* what was there, or what is to be there, when the call was made */
  size_t bytes;
  int toHost;
  struct Copy *next;
};
static struct Copy *copies, **lastCopy = &copies;
static unsigned sequence;

static void *remember(const void *host, const void *from, size_t bytes, int toHost) {
  struct Copy *copy = malloc(sizeof *copy);
  *copy = (struct Copy){++sequence, (void *)host, malloc(bytes + 1), bytes, toHost, NULL};
  *lastCopy = copy;
  lastCopy = &copy->next;
  return memcpy(copy->snapshot, from, bytes);
}
static void finishUpTo(unsigned last) {
  while (copies && copies->sequence <= last) {
    struct Copy *copy = copies;
    if (copy->toHost)
      memcpy(copy->host, copy->snapshot, copy->bytes);
    else if (memcmp(copy->host, copy->snapshot, copy->bytes) != 0)
      ++fakeCuda.torn;
    copies = copy->next;
    free(copy->snapshot);
    free(copy);
  }
  if (!copies)
    lastCopy = &copies;
}

static void forgetCopies(void) { /* of a stream that failed: the memory may be gone */
  while (copies) {
    struct Copy *copy = copies;
    copies = copy->next;
    free(copy->snapshot);
    free(copy);
  }
  lastCopy = &copies;
}

API cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream) {
  TRY("cuMemcpyHtoDAsync");
  ++fakeCuda.copiesToDevice;
  fakeCuda.bytesToDevice += bytes;
  memcpy((void *)(uintptr_t)to, remember(from, from, bytes, 0), bytes);
  return 0;
}
API cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream) {
  TRY("cuMemcpyDtoHAsync");
  ++fakeCuda.copiesToHost;
  fakeCuda.bytesToHost += bytes;
  remember(to, (const void *)(uintptr_t)from, bytes, 1);
  return 0;
}
API cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
                         void *stream) {
  TRY("cuMemcpyDtoDAsync");
  memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return 0;
}
API cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void *stream) {
  TRY("cuMemsetD8Async");
  memset((void *)(uintptr_t)to, value, bytes);
  return 0;
}

API cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                       void **values) {
  int code = failing("cuModuleLoadDataEx");
  if (code) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5)
        strcpy(values[i], "ptxas fatal: what the test asked for\nsecond line");
    return code;
  }
  char path[256] = "";
  if (memcmp(image,
             "\x7f"
             "ELF",
             4) == 0) {
    /* An ELF file tells its size: section headers are last. */
    uint64_t sections;
    uint16_t number, x86 = 62;
    memcpy(&sections, (const char *)image + 40, 8);
    memcpy(&number, (const char *)image + 60, 2);
    int file = memfd_create("fake-cubin", 0);
    size_t size = sections + 64 * number;
    if (write(file, image, size) != (ssize_t)size || pwrite(file, &x86, 2, 18) != 2)
      return 200;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    close(file);
  } else { /* PTX: a comment names the object */
    const char *from = strstr(image, "// object ");
    if (!from || sscanf(from, "// object %255s", path) != 1)
      return 218;
    *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  ++fakeCuda.loads;
  return *module ? 0 : 200;
}
API cuModuleUnload(void *module) {
  ++fakeCuda.unloads;
  return dlclose(module);
}
API cuModuleGetFunction(void **function, void *module, const char *name) {
  TRY("cuModuleGetFunction");
  void *code = dlsym(module, name);
  if (!code)
    return 500;
  struct Function *made = calloc(1, sizeof *made);
  made->next = functions; /* kept for the names in the record */
  functions = made;
  made->code = (KernelFn)code;
  snprintf(made->name, sizeof made->name, "%s", name);
  *function = made;
  return 0;
}
API cuFuncSetAttribute(void *function, int attribute, int value) {
  TRY("cuFuncSetAttribute");
  return 0;
}

static void run(struct Function *function, const unsigned *grid, unsigned cluster,
                void **arguments) {
  if (fakeCuda.ran < FAKE_MOST_NAMES) {
    fakeCuda.clusters[fakeCuda.ran] = cluster;
    fakeCuda.grids[fakeCuda.ran] = grid[0];
    fakeCuda.names[fakeCuda.ran++] = function->name;
  }
  function->code(arguments, grid);
}

/* "CUDA Driver API", cuTensorMapEncodeTiled: what it refuses with 1, for matrices of bytes (0) and
 * of bf16 (9). */
API cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *base, const uint64_t *extents,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion, int outside) {
  TRY("cuTensorMapEncodeTiled");
  unsigned bytes = type == 9 ? 2 : 1;
  if ((type != 0 && type != 9) || rank != 2 || steps[0] != 1 || steps[1] != 1 || interleave != 0 ||
      outside != 0 || promotion < 0 || promotion > 3 || (swizzle != 0 && swizzle != 3))
    return 1;
  if ((uintptr_t)map % 64 || (uintptr_t)base % 16 || strides[0] % 16 || !extents[0] || !extents[1] ||
      box[0] < 1 || box[0] > 256 || box[1] < 1 || box[1] > 256 || box[0] * bytes % 16 ||
      (swizzle == 3 && box[0] * bytes > 128))
    return 1;
  struct FakeTensorMap made = {(uintptr_t)base, extents[0], extents[1], strides[0],
                               bytes,           box[0],     box[1],     swizzle == 3};
  memcpy(map, &made, sizeof made);
  ++fakeCuda.tensorMaps;
  return 0;
}

struct Attribute {
  int id;
  char padding[4];
  int flag; /* or the cluster's x */
  unsigned y, z;
  char rest[52];
};
enum { CLUSTER = 4, OVERLAP = 6 };
struct Config {
  unsigned grid[3], block[3], shared;
  void *stream;
  struct Attribute *attributes;
  unsigned count;
};
API cuLaunchKernelEx(const struct Config *config, void *function, void **arguments, void **extra) {
  TRY("cuLaunchKernelEx");
  if (!config->grid[0] || !config->grid[1] || !config->grid[2] || !config->block[0])
    return 1;
  unsigned cluster = 1;
  for (unsigned i = 0; i < config->count; ++i) {
    const struct Attribute *attribute = config->attributes + i;
    if (attribute->id == CLUSTER && attribute->y == 1 && attribute->z == 1)
      cluster = (unsigned)attribute->flag;
    else if (attribute->id == OVERLAP)
      fakeCuda.overlapped += attribute->flag;
    else
      return 1;
  }
  if (config->grid[0] % cluster)
    return 912;
  ++fakeCuda.launches;
  run(function, config->grid, cluster, arguments);
  return 0;
}

API cuStreamCreate(void **stream, unsigned flags) {
  TRY("cuStreamCreate");
  *stream = malloc(1);
  ++fakeCuda.streams;
  return 0;
}
API cuStreamDestroy_v2(void *stream) {
  --fakeCuda.streams;
  forgetCopies();
  free(stream);
  return 0;
}
API cuStreamSynchronize(void *stream) {
  TRY("cuStreamSynchronize");
  finishUpTo(sequence);
  return 0;
}
struct Event {
  int ran;
  unsigned sequence;
};
API cuEventCreate(void **event, unsigned flags) {
  TRY("cuEventCreate");
  *event = calloc(1, sizeof(struct Event));
  ++fakeCuda.events;
  return 0;
}
API cuEventDestroy_v2(void *event) {
  --fakeCuda.events;
  free(event);
  return 0;
}
API cuEventRecord(void *event, void *stream) {
  TRY("cuEventRecord");
  *(struct Event *)event = (struct Event){fakeCuda.ran, sequence};
  return 0;
}
API cuEventSynchronize(void *event) {
  finishUpTo(((struct Event *)event)->sequence);
  return 0;
}
API cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  *milliseconds = /* a kernel takes a millisecond */
      (float)(((struct Event *)end)->ran - ((struct Event *)begin)->ran);
  return 0;
}

enum { MOST_NODES = 256, MOST_EDGES = 16 };
struct Node {
  struct Function *function;
  unsigned grid[3], cluster;
  void **arguments; /* the driver takes the values when the node is made */
  int after[MOST_EDGES], afterCount;
};
struct Graph {
  struct Node nodes[MOST_NODES];
  int count;
};
API cuGraphCreate(void **graph, unsigned flags) {
  TRY("cuGraphCreate");
  *graph = calloc(1, sizeof(struct Graph));
  return 0;
}
API cuGraphDestroy(void *graph) {
  free(graph);
  return 0;
}
struct NodeParams {
  int type, reserved[3];
  void *function;
  unsigned grid[3], block[3], shared;
  void **arguments, **extra;
  void *kernel, *context;
  char rest[160];
  long long last;
};
API cuGraphAddNode_v2(void **node, struct Graph *graph, void *const *after,
                      const unsigned char (*edges)[8], size_t count, struct NodeParams *params) {
  TRY("cuGraphAddNode");
  if (graph->count == MOST_NODES || count > MOST_EDGES || params->type != 0)
    return 1;
  struct Node *made = &graph->nodes[graph->count++];
  made->function = params->function;
  memcpy(made->grid, params->grid, sizeof made->grid);
  made->cluster = 1;
  made->arguments = params->arguments;
  for (size_t i = 0; i < count; ++i) {
    made->after[made->afterCount++] = (int)((struct Node *)after[i] - graph->nodes);
    if (edges[i][0] == 1 && edges[i][2] == 1)
      ++fakeCuda.programmaticEdges;
    else
      ++fakeCuda.fullEdges;
  }
  ++fakeCuda.graphNodes;
  *node = made;
  return 0;
}
API cuGraphKernelNodeSetAttribute(struct Node *node, int attribute, const unsigned *value) {
  TRY("cuGraphKernelNodeSetAttribute");
  if (attribute != CLUSTER || value[1] != 1 || value[2] != 1)
    return 1;
  if (node->grid[0] % value[0])
    return 912;
  node->cluster = value[0];
  return 0;
}
API cuGraphInstantiateWithFlags(void **executable, struct Graph *graph, unsigned long long flags) {
  TRY("cuGraphInstantiate");
  *executable = malloc(sizeof *graph);
  memcpy(*executable, graph, sizeof *graph);
  ++fakeCuda.graphs;
  return 0;
}
API cuGraphExecDestroy(void *executable) {
  --fakeCuda.graphs;
  free(executable);
  return 0;
}
/* The last node whose edges allow it runs next. */
API cuGraphLaunch(struct Graph *graph, void *stream) {
  TRY("cuGraphLaunch");
  char done[MOST_NODES] = {0};
  ++fakeCuda.graphLaunches;
  for (int ran = 0; ran < graph->count; ++ran)
    for (int i = graph->count - 1; i >= 0; --i) {
      int ready = !done[i];
      for (int j = 0; j < graph->nodes[i].afterCount; ++j)
        ready = ready && done[graph->nodes[i].after[j]];
      if (!ready)
        continue;
      run(graph->nodes[i].function, graph->nodes[i].grid, graph->nodes[i].cluster,
          graph->nodes[i].arguments);
      done[i] = 1;
      break;
    }
  return 0;
}
