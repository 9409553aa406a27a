// This is the plugin information of a plugin built with headers of another version. Nothing else in the plugin may be
// touched: the functions that it calls no longer exist.
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
