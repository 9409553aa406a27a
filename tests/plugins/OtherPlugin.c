// What a plugin says of itself that was built with headers of another version. Nothing else of it may be touched; what it
// calls is not there any more.
#include <stdint.h>

struct Info {
  uint32_t api;
  const char *name, *ingot, *llvm;
  void (*addTo)(void *);
};

void gone(void *registry);
static void addTo(void *registry) { gone(registry); }

__attribute__((visibility("default"))) struct Info ingotGetPlugin(void) {
  struct Info info = {1, "other", "0.0.9 (headers 00000000)", "22.1.0", addTo};
  return info;
}
