/*===- FakeLibcuda.c - libcuda.so.1 for tests without a GPU -------------------===
 *
 * Implements the functions that ingot calls, records the calls, fails on demand, and runs "cubins".
 * These are host objects whose ELF machine is changed to CUDA's, with kernels
 *
 *     void NAME(void *const *arguments, const unsigned *grid)
 *
 * that do the work of the whole grid. Device memory is host memory. The library does not detect
 * accesses outside allocations; run under a sanitizer to find them. A graph's nodes run as late as
 * their edges allow, so a missing edge changes results. Copies to the host complete only when they
 * are waited for. Until then, memory that a copy to the device reads must not change (`torn` counts
 * violations) and must not be freed (`freedUnderCopies`).
 *
 * It returns the driver's errors for a call on a thread without a current context (201) or with a
 * destroyed one (709), a handle of another context (400), the elapsed time of events that record
 * none (400) or have not completed (600), and more shared memory than a function was allowed (1).
 * Calls may come from any thread.
 *===----------------------------------------------------------------------===*/
#define _GNU_SOURCE
#include "FakeLibcuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default"))) int
typedef void (*KernelFn)(void *const *arguments, const unsigned *grid);

__attribute__((visibility("default"))) struct FakeCuda fakeCuda;

/* A device's primary context. Its handle stays the same each time the context is recreated. */
enum { MOST_DEVICES = 4 };
struct Context {
  int retained;
  unsigned life;
};
static struct Context contexts[MOST_DEVICES];
struct Bound {
  struct Context *context;
  unsigned life;
};
static _Thread_local struct Bound current;

static pthread_mutex_t oneAtATime = PTHREAD_MUTEX_INITIALIZER;
static int enter(void) {
  pthread_mutex_lock(&oneAtATime);
  return 0;
}
static void leave(int *unused) { pthread_mutex_unlock(&oneAtATime); }
#define LOCK __attribute__((cleanup(leave), unused)) int locked = enter()

/* The object behind each handle begins with its owner. */
static int foreign(const void *handle) {
  const struct Bound *owner = handle;
  return owner->context != current.context || owner->life != current.life;
}

struct Function {
  struct Bound owner;
  KernelFn code;
  char name[64];
  unsigned mostShared;
  int carveout;
  struct Function *next;
};
static struct Function *functions;
struct Module {
  struct Bound owner;
  void *library;
};
struct Stream {
  struct Bound owner;
};

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
/* As TRY, for a call that needs a context. */
#define IN_CONTEXT(call)                                                                           \
  LOCK;                                                                                            \
  do {                                                                                             \
    if (!current.context)                                                                          \
      return 201;                                                                                  \
    if (!current.context->retained || current.context->life != current.life)                       \
      return 709;                                                                                  \
    TRY(call);                                                                                     \
  } while (0)
#define OWN(handle)                                                                                \
  do {                                                                                             \
    if (!(handle) || foreign(handle))                                                              \
      return 400;                                                                                  \
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
static size_t freeBytes(void) { return memorySize() - fakeCuda.taken; }

/* A live allocation of device memory or of page-locked host memory. */
struct Memory {
  struct Bound owner;
  char *start;
  size_t bytes;
  int host;
  struct Memory *next;
};
static struct Memory *memories;

/* Copies in flight, in order. `sequence` counts all operations put into the stream, `finished`
 * those known to be complete. */
struct Copy {
  unsigned sequence;
  void *host;
  void *snapshot; /* to the device: the source at the call; to the host: the data to deliver */
  size_t bytes;
  int toHost;
  struct Copy *next;
};
static struct Copy *copies, **lastCopy = &copies;
static unsigned sequence, finished;

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
  if (last > finished)
    finished = last;
}

static void forgetCopies(void) { /* after a failure: memory may be freed */
  while (copies) {
    struct Copy *copy = copies;
    copies = copy->next;
    free(copy->snapshot);
    free(copy);
  }
  lastCopy = &copies;
}

static int meet(const char *a, size_t aBytes, const char *b, size_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}
/* Frees an allocation. cuMemFree waits for copies in flight. Freeing page-locked memory that a copy
 * still uses is counted in `freedUnderCopies`, and the copies are completed first. */
static int giveBack(const char *start, int host) {
  struct Memory **at = &memories;
  while (*at && ((*at)->start != start || (*at)->host != host))
    at = &(*at)->next;
  struct Memory *memory = *at;
  if (!memory)
    return 1;
  OWN(memory);
  for (const struct Copy *copy = copies; host && copy; copy = copy->next)
    if (meet(copy->host, copy->bytes, start, memory->bytes)) {
      ++fakeCuda.freedUnderCopies;
      finishUpTo(sequence);
      break;
    }
  *at = memory->next;
  free(memory->start);
  free(memory);
  return 0;
}
static char *take(size_t bytes, int host) {
  struct Memory *memory = malloc(sizeof *memory);
  char *start = aligned_alloc(256, (bytes + 511) / 256 * 256);
  *memory = (struct Memory){current, start, bytes, host, memories};
  memories = memory;
  return memset(start, 0xCD, bytes);
}

API cuDevicePrimaryCtxRetain(void **context, int device) {
  LOCK;
  TRY("cuDevicePrimaryCtxRetain");
  if (device < 0 || device >= MOST_DEVICES)
    return 101;
  if (contexts[device].retained++ == 0)
    ++contexts[device].life;
  *context = &contexts[device];
  ++fakeCuda.contexts;
  return 0;
}
/* The last release destroys all objects that are left in the context. */
API cuDevicePrimaryCtxRelease_v2(int device) {
  LOCK;
  struct Context *context = &contexts[device];
  if (!context->retained)
    return 201;
  --fakeCuda.contexts;
  if (--context->retained)
    return 0;
  forgetCopies();
  for (struct Memory **at = &memories; *at;) {
    struct Memory *memory = *at;
    if (memory->owner.context != context) {
      at = &memory->next;
      continue;
    }
    *at = memory->next;
    free(memory->start);
    free(memory);
  }
  return 0;
}
API cuCtxSetCurrent(void *context) {
  LOCK;
  TRY("cuCtxSetCurrent");
  struct Context *wanted = context;
  if (wanted && !wanted->retained)
    return 201;
  ++fakeCuda.contextsSet;
  current = (struct Bound){wanted, wanted ? wanted->life : 0};
  return 0;
}
API cuCtxGetCurrent(void **context) {
  *context = current.context;
  return 0;
}
API cuMemGetInfo_v2(size_t *free, size_t *total) {
  IN_CONTEXT("cuMemGetInfo");
  *free = freeBytes();
  *total = memorySize();
  return 0;
}

API cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
  IN_CONTEXT("cuMemAlloc");
  if (bytes > freeBytes())
    return 2;
  *address = (uintptr_t)take(bytes, 0);
  fakeCuda.taken += bytes;
  if (fakeCuda.taken > fakeCuda.highest)
    fakeCuda.highest = fakeCuda.taken;
  ++fakeCuda.allocations;
  return 0;
}
API cuMemFree_v2(unsigned long long address) {
  IN_CONTEXT("cuMemFree");
  size_t bytes = 0;
  for (const struct Memory *memory = memories; memory; memory = memory->next)
    if (memory->start == (char *)(uintptr_t)address)
      bytes = memory->bytes;
  int code = giveBack((char *)(uintptr_t)address, 0);
  if (code)
    return code;
  fakeCuda.taken -= bytes;
  --fakeCuda.allocations;
  return 0;
}
API cuMemAllocHost_v2(void **memory, size_t bytes) {
  IN_CONTEXT("cuMemAllocHost");
  *memory = take(bytes, 1);
  ++fakeCuda.pinned;
  return 0;
}
API cuMemFreeHost(void *memory) {
  IN_CONTEXT("cuMemFreeHost");
  int code = giveBack(memory, 1);
  fakeCuda.pinned -= !code;
  return code;
}
API cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream) {
  IN_CONTEXT("cuMemcpyHtoDAsync");
  OWN(stream);
  ++fakeCuda.copiesToDevice;
  fakeCuda.bytesToDevice += bytes;
  memcpy((void *)(uintptr_t)to, remember(from, from, bytes, 0), bytes);
  return 0;
}
API cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream) {
  IN_CONTEXT("cuMemcpyDtoHAsync");
  OWN(stream);
  ++fakeCuda.copiesToHost;
  fakeCuda.bytesToHost += bytes;
  remember(to, (const void *)(uintptr_t)from, bytes, 1);
  return 0;
}
API cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
                         void *stream) {
  IN_CONTEXT("cuMemcpyDtoDAsync");
  OWN(stream);
  ++sequence;
  memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return 0;
}
API cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void *stream) {
  IN_CONTEXT("cuMemsetD8Async");
  OWN(stream);
  ++sequence;
  memset((void *)(uintptr_t)to, value, bytes);
  return 0;
}

API cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                       void **values) {
  IN_CONTEXT("");
  int code = failing("cuModuleLoadDataEx");
  if (code) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5)
        strcpy(values[i], "ptxas fatal: what the test asked for\nsecond line");
    return code;
  }
  if (fakeCuda.moduleBytes > freeBytes())
    return 2;
  char path[256] = "";
  void *library;
  if (memcmp(image,
             "\x7f"
             "ELF",
             4) == 0) {
    /* The section headers come last in an ELF file, so they give its size. */
    uint64_t sections;
    uint16_t number, x86 = 62;
    memcpy(&sections, (const char *)image + 40, 8);
    memcpy(&number, (const char *)image + 60, 2);
    int file = memfd_create("fake-cubin", 0);
    size_t size = sections + 64 * number;
    if (write(file, image, size) != (ssize_t)size || pwrite(file, &x86, 2, 18) != 2)
      return 200;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    close(file);
  } else { /* PTX: a comment names the object */
    const char *from = strstr(image, "// object ");
    if (!from || sscanf(from, "// object %255s", path) != 1)
      return 218;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  ++fakeCuda.loads;
  if (!library)
    return 200;
  struct Module *made = malloc(sizeof *made);
  *made = (struct Module){current, library};
  *module = made;
  fakeCuda.taken += fakeCuda.moduleBytes;
  return 0;
}
API cuModuleUnload(void *module) {
  IN_CONTEXT("cuModuleUnload");
  OWN(module);
  ++fakeCuda.unloads;
  fakeCuda.taken -= fakeCuda.moduleBytes;
  int code = dlclose(((struct Module *)module)->library);
  free(module);
  return code;
}
API cuModuleGetFunction(void **function, void *module, const char *name) {
  IN_CONTEXT("cuModuleGetFunction");
  OWN(module);
  void *code = dlsym(((struct Module *)module)->library, name);
  if (!code)
    return 500;
  struct Function *made = calloc(1, sizeof *made);
  made->owner = current;
  made->next = functions; /* kept for the names in the record */
  functions = made;
  made->code = (KernelFn)code;
  made->mostShared = 48 << 10;
  made->carveout = -1;
  snprintf(made->name, sizeof made->name, "%s", name);
  *function = made;
  return 0;
}
API cuFuncSetAttribute(void *function, int attribute, int value) {
  IN_CONTEXT("cuFuncSetAttribute");
  OWN(function);
  struct Function *changed = function;
  if (attribute == 8 && value >= 0)
    changed->mostShared = (unsigned)value;
  else if (attribute == 9 && value >= -1 && value <= 100)
    changed->carveout = value;
  else
    return 1;
  return 0;
}

static void run(struct Function *function, const unsigned *grid, unsigned cluster,
                void **arguments) {
  if (fakeCuda.ran < FAKE_MOST_NAMES) {
    fakeCuda.clusters[fakeCuda.ran] = cluster;
    fakeCuda.carveouts[fakeCuda.ran] = function->carveout;
    fakeCuda.grids[fakeCuda.ran] = grid[0];
    fakeCuda.names[fakeCuda.ran++] = function->name;
  }
  ++sequence;
  function->code(arguments, grid);
}

/* The conditions under which cuTensorMapEncodeTiled ("CUDA Driver API") returns 1, for matrices of
 * bytes (0) and of bf16 (9). */
API cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *base, const uint64_t *extents,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion, int outside) {
  IN_CONTEXT("cuTensorMapEncodeTiled");
  unsigned bytes = type == 9 ? 2 : 1;
  if ((type != 0 && type != 9) || rank != 2 || steps[0] != 1 || steps[1] != 1 || interleave != 0 ||
      outside != 0 || promotion < 0 || promotion > 3 || (swizzle != 0 && swizzle != 3))
    return 1;
  if ((uintptr_t)map % 64 || (uintptr_t)base % 16 || strides[0] % 16 || !extents[0] ||
      !extents[1] || box[0] < 1 || box[0] > 256 || box[1] < 1 || box[1] > 256 ||
      box[0] * bytes % 16 || (swizzle == 3 && box[0] * bytes > 128))
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
  IN_CONTEXT("cuLaunchKernelEx");
  OWN(function);
  OWN(config->stream);
  if (!config->grid[0] || !config->grid[1] || !config->grid[2] || !config->block[0] ||
      config->shared > ((struct Function *)function)->mostShared)
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
  IN_CONTEXT("cuStreamCreate");
  struct Stream *made = malloc(sizeof *made);
  made->owner = current;
  *stream = made;
  ++fakeCuda.streams;
  return 0;
}
API cuStreamDestroy_v2(void *stream) {
  IN_CONTEXT("cuStreamDestroy");
  OWN(stream);
  --fakeCuda.streams;
  forgetCopies();
  free(stream);
  return 0;
}
API cuStreamSynchronize(void *stream) {
  IN_CONTEXT("cuStreamSynchronize");
  OWN(stream);
  finishUpTo(sequence);
  return 0;
}
struct Event {
  struct Bound owner;
  int timed, recorded, ran;
  unsigned sequence;
};
enum { DISABLE_TIMING = 2 };
API cuEventCreate(void **event, unsigned flags) {
  IN_CONTEXT("cuEventCreate");
  struct Event *made = calloc(1, sizeof *made);
  made->owner = current;
  made->timed = !(flags & DISABLE_TIMING);
  *event = made;
  ++fakeCuda.events;
  fakeCuda.timedEvents += made->timed;
  return 0;
}
API cuEventDestroy_v2(void *event) {
  IN_CONTEXT("cuEventDestroy");
  OWN(event);
  --fakeCuda.events;
  fakeCuda.timedEvents -= ((struct Event *)event)->timed;
  free(event);
  return 0;
}
API cuEventRecord(void *event, void *stream) {
  IN_CONTEXT("cuEventRecord");
  OWN(event);
  OWN(stream);
  struct Event *recorded = event;
  recorded->recorded = 1;
  recorded->ran = fakeCuda.ran;
  recorded->sequence = ++sequence;
  return 0;
}
API cuEventSynchronize(void *event) {
  IN_CONTEXT("cuEventSynchronize");
  OWN(event);
  finishUpTo(((struct Event *)event)->sequence);
  return 0;
}
API cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  IN_CONTEXT("cuEventElapsedTime");
  OWN(begin);
  OWN(end);
  const struct Event *from = begin, *to = end;
  if (!from->timed || !to->timed || !from->recorded || !to->recorded)
    return 400;
  if (from->sequence > finished || to->sequence > finished)
    return 600;
  *milliseconds = (float)(to->ran - from->ran); /* a kernel takes a millisecond */
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
  struct Bound owner; /* set for executable graphs; a plain graph has none */
  struct Node nodes[MOST_NODES];
  int count;
};
API cuGraphCreate(void **graph, unsigned flags) {
  IN_CONTEXT("cuGraphCreate");
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
  IN_CONTEXT("cuGraphAddNode");
  OWN(params->function);
  if (graph->count == MOST_NODES || count > MOST_EDGES || params->type != 0 ||
      params->shared > ((struct Function *)params->function)->mostShared)
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
  IN_CONTEXT("cuGraphKernelNodeSetAttribute");
  if (attribute != CLUSTER || value[1] != 1 || value[2] != 1)
    return 1;
  if (node->grid[0] % value[0])
    return 912;
  node->cluster = value[0];
  return 0;
}
API cuGraphInstantiateWithFlags(void **executable, struct Graph *graph, unsigned long long flags) {
  IN_CONTEXT("cuGraphInstantiate");
  if (fakeCuda.graphBytes > freeBytes())
    return 2;
  struct Graph *made = malloc(sizeof *made);
  memcpy(made, graph, sizeof *made);
  made->owner = current;
  *executable = made;
  fakeCuda.taken += fakeCuda.graphBytes;
  ++fakeCuda.graphs;
  return 0;
}
API cuGraphUpload(struct Graph *graph, void *stream) {
  IN_CONTEXT("cuGraphUpload");
  OWN(graph);
  OWN(stream);
  ++sequence;
  ++fakeCuda.graphUploads;
  return 0;
}
API cuGraphExecDestroy(void *executable) {
  IN_CONTEXT("cuGraphExecDestroy");
  OWN(executable);
  --fakeCuda.graphs;
  fakeCuda.taken -= fakeCuda.graphBytes;
  free(executable);
  return 0;
}
/* Of the nodes whose dependencies have run, the last one runs next. */
API cuGraphLaunch(struct Graph *graph, void *stream) {
  IN_CONTEXT("cuGraphLaunch");
  OWN(graph);
  OWN(stream);
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
