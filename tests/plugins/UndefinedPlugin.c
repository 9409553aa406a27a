// A plugin that calls a function that no library has. This is found when the plugin is loaded, not when the
// call is made.
#include <stdint.h>

struct Info {
  uint32_t api;
  const char *name, *version;
  void (*registerPasses)(void);
};

void notThere(void);
static void registerPasses(void) { notThere(); }

__attribute__((visibility("default"))) struct Info mlirGetPassPluginInfo(void) {
  struct Info info = {1, "undefined", INGOT_LLVM_VERSION, registerPasses};
  return info;
}
