// This is the plugin information of a plugin for another LLVM. Nothing else in the plugin may be touched.
#include <stdint.h>
#include <stdlib.h>

struct Info {
  uint32_t api;
  const char *name, *version;
  void (*registerPasses)(void);
};

__attribute__((visibility("default"))) struct Info mlirGetPassPluginInfo(void) {
  struct Info info = {1, "old", "21.1.0", abort};
  return info;
}
