// These stubs of the driver calls of ceilings.py have the real parameters. So a wrong number, width or order of
// arguments is found here and not on a GPU.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  int id;
  char pad[4];
  unsigned value[16];
} Attribute;
typedef struct {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, shared;
  void *stream;
  Attribute *attributes;
  unsigned count;
} Config;

enum { Ok = 0, Invalid = 1 };
static const uint64_t Memory = 1ull << 40, Bytes = 1ull << 36; // addresses without memory
static uint64_t taken;
static int context, events[64], made, module, kernels[2], shared;

static int inside(uint64_t at, size_t bytes) {
  return at >= Memory && at + bytes <= Memory + taken;
}
int cuInit(unsigned flags) { return flags ? Invalid : Ok; }
int cuDriverGetVersion(int *version) { return *version = 13000, Ok; }
int cuDeviceGet(int *device, int ordinal) { return *device = 0, ordinal ? Invalid : Ok; }
int cuDeviceGetName(char *name, int length, int device) {
  return strncpy(name, "a stub", (size_t)length), device;
}
int cuDeviceGetAttribute(int *value, int which, int device) {
  return *value = which == 16 ? 132 : which, device;
}
int cuDevicePrimaryCtxRetain(void **out, int device) { return *out = &context, device; }
int cuCtxSetCurrent(void *given) { return given == &context ? Ok : Invalid; }
int cuMemAlloc_v2(uint64_t *out, size_t bytes) {
  if (taken + bytes > Bytes)
    return 2;
  *out = Memory + taken;
  taken += bytes;
  return Ok;
}
int cuMemsetD8_v2(uint64_t at, unsigned char byte, size_t bytes) {
  return byte && inside(at, bytes) ? Ok : Invalid;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  return stream || !inside(to, bytes) || !inside(from, bytes) ? Invalid : Ok;
}
int cuEventCreate(void **event, unsigned flags) {
  if (flags || made == 64)
    return Invalid;
  *event = &events[made++];
  return Ok;
}
int cuEventRecord(void *event, void *stream) { return event && !stream ? Ok : Invalid; }
int cuEventSynchronize(void *event) { return event ? Ok : Invalid; }
int cuEventElapsedTime(float *ms, void *begin, void *end) {
  *ms = 0.5f;
  return begin && end && begin != end ? Ok : Invalid;
}
int cuModuleLoadData(void **out, const void *image) {
  *out = &module;
  return memcmp(image, "\177ELF", 4) ? Invalid : Ok;
}
int cuModuleGetFunction(void **out, void *from, const char *name) {
  if (from != &module || (strcmp(name, "read_all") && strcmp(name, "one_block_a_processor")))
    return Invalid;
  *out = &kernels[name[0] == 'o'];
  return Ok;
}
int cuFuncSetAttribute(void *kernel, int which, int value) {
  shared = value;
  return kernel == &kernels[1] && which == 8 ? Ok : Invalid;
}
int cuLaunchKernel(void *kernel, unsigned x, unsigned y, unsigned z, unsigned threadsX,
                   unsigned threadsY, unsigned threadsZ, unsigned bytes, void *stream,
                   void **arguments, void **extra) {
  const uint64_t from = *(uint64_t *)arguments[0], to = *(uint64_t *)arguments[2];
  const unsigned long long pieces = *(unsigned long long *)arguments[1];
  const int shape = x % 132 == 0 && y == 1 && z == 1 && threadsX == 256 && threadsY == 1 &&
                    threadsZ == 1 && !bytes && !stream && !extra;
  return kernel == &kernels[0] && shape && inside(from, pieces * 16) && inside(to, 4) ? Ok
                                                                                      : Invalid;
}
int cuOccupancyMaxActiveClusters(int *most, void *kernel, const Config *config) {
  const unsigned blocks = config->attributes->value[0];
  *most = (int)(132 / blocks);
  const int attribute = config->count == 1 && config->attributes->id == 4;
  const int shape = config->gridX % blocks == 0 && config->blockX == 384 &&
                    config->shared == (unsigned)shared && !config->stream;
  return kernel == &kernels[1] && attribute && shape ? Ok : Invalid;
}
