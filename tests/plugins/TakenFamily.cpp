// A family whose architecture Ingot already has (E0449). With OTHER_LLVM, it is a plugin with the right
// headers but another LLVM (E0420).
#include "compiler/extend/Plugin.h"

#include <cstdlib>

using namespace ingot;

static void readNothing(models::Config &, const import::Checkpoint &, models::Decoder &) {}

extern "C" PluginInfo ingotGetPlugin() {
#ifdef OTHER_LLVM
  return {INGOT_PLUGIN_API, "other-llvm", INGOT_PLUGIN_VERSION, "21.1.0",
          [](PluginRegistry &) { abort(); }};
#else
  return {INGOT_PLUGIN_API, "taken", INGOT_PLUGIN_VERSION, LLVM_VERSION_STRING,
          [](PluginRegistry &registry) {
            static constexpr llvm::StringLiteral kNames[] = {"MineForCausalLM", "Qwen3ForCausalLM"};
            registry.addFamily({"mine", kNames, readNothing});
          }};
#endif
}
