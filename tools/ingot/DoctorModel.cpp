//===- DoctorModel.cpp - See DoctorModel.h ---------------------------------===//
#include "tools/ingot/DoctorModel.h"

#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Inspect.h"
#include "runtime/engine/Isa.h"
#include "tools/hub/Fetch.h"
#include "tools/ingot/CompilerLibrary.h"
#include "tools/ingot/Console.h"
#include "tools/ingot/Json.h"
#include "tools/ingot/ModelName.h"
#include "tools/ingot/WeightSurvey.h"

#include <cstdlib>
#include <filesystem>
#include <thread>
#include <unistd.h>

namespace ingot::cli {

namespace fs = std::filesystem;

namespace {

/// What is looked at.
struct Patient {
  std::string shape; ///< what is compiled: a config.json, or a GGUF
  WeightSurvey weights;
};

Result<Patient> patientInFolder(const std::string &folder) {
  Patient patient{folder + "/config.json", {}};
  if (!fs::exists(patient.shape))
    return Patient{folder, {}}; // of another kind; the compiler says of which
  if (auto added = patient.weights.addFolder(folder); !added)
    return added.error();
  return patient;
}

Result<Patient> patientAt(const std::string &path) {
  std::error_code failure;
  if (fs::is_directory(path, failure))
    return patientInFolder(path);
  if (path.ends_with(".safetensors"))
    return patientInFolder(fs::path(path).has_parent_path() ? fs::path(path).parent_path().string()
                                                            : ".");
  return Patient{path, {}};
}

Result<Patient> patientOnHub(const std::string &model, bool quiet) {
  auto outline = outlineOf(model, quiet);
  if (!outline)
    return outline.error();
  if (outline->weights.empty()) // all of it is here
    return patientAt(outline->folder);
  Patient patient{outline->folder + "/config.json", {}};
  for (const auto &[file, header, bytes] : outline->weights)
    if (auto added = patient.weights.add(file, header, bytes); !added)
      return added.error();
  return patient;
}

/// A file's name that nobody else has, removed at the end.
struct TemporaryEngine {
  TemporaryEngine() {
    const char *folder = std::getenv("TMPDIR");
    path = std::string(folder && *folder ? folder : "/tmp") + "/ingot-doctor-XXXXXX";
    const int descriptor = ::mkstemp(path.data());
    if (descriptor >= 0)
      ::close(descriptor);
  }
  ~TemporaryEngine() { ::unlink(path.c_str()); }
  TemporaryEngine(const TemporaryEngine &) = delete;
  TemporaryEngine &operator=(const TemporaryEngine &) = delete;
  std::string path;
};

/// Compiles the shape, for this machine unless targets are given.
Result<void> compileShape(const Patient &patient, const CompileOptions &given,
                          const std::string &engine) {
  CompileOptions wanted = given;
  wanted.weights = "seed";
  if (const auto best = runtime::hostCpu().best(); wanted.targets.empty() && best)
    wanted.targets = {std::string(isaTarget(*best))};
  std::vector<std::string> arguments = {patient.shape, "-o", engine, "--quiet"};
  if (const std::string cache = cacheFolder(given); !cache.empty())
    arguments.insert(arguments.end(), {"--cache", cache});
  for (std::string &argument : wanted.arguments())
    arguments.push_back(std::move(argument));
  return compileAsChild(arguments);
}

std::string reportText(const DoctorModelOptions &options, const Patient &patient,
                       const fb::Model &model, uint64_t engineBytes,
                       const runtime::MemoryStatement &memory, double kvPerToken) {
  std::string text = options.model + " compiles\n  family    " + model.family()->str() + ", " +
                     grouped(model.parameters()) + " parameters, " + grouped(model.layers()) +
                     " layers, context " + grouped(model.context()) + "\n";
  if (patient.weights.files)
    text +=
        "  weights   " + patient.weights.formatsText() + "\n  parts     " +
        patient.weights.partsText() + "\n" +
        (patient.weights.leftOut.empty() ? ""
                                         : "  left out  " + patient.weights.leftOutText() + "\n");
  else if (!patient.shape.ends_with(".gguf"))
    text += "  weights   none beside config.json, which alone was looked at\n";
  return text + "  engine    " + runtime::humanBytes(engineBytes) + "\n  KV        " +
         runtime::humanBytes(static_cast<uint64_t>(kvPerToken + 0.5)) + " a token, " +
         runtime::humanBytes(memory.kv) + " at context " + grouped(memory.limits.context) +
         "\n  memory    " + runtime::humanBytes(engineBytes + memory.allocated() - memory.seeded) +
         " for one sequence\n";
}

std::string reportJson(const DoctorModelOptions &options, const Patient &patient,
                       const fb::Model &model, uint64_t engineBytes,
                       const runtime::MemoryStatement &memory, double kvPerToken) {
  return JsonObject()
             .field("model", options.model)
             .field("compiles", true)
             .field("family", model.family()->string_view())
             .field("parameters", model.parameters())
             .field("layers", model.layers())
             .field("context", model.context())
             .raw("weights", patient.weights.json())
             .field("engine_bytes", engineBytes)
             .field("kv_bytes_per_token", kvPerToken)
             .field("kv_bytes", memory.kv)
             .field("kv_context", memory.limits.context)
             .field("memory_bytes", engineBytes + memory.allocated() - memory.seeded)
             .str() +
         "\n";
}

} // namespace

Result<int> doctorModel(const DoctorModelOptions &options) {
  auto patient = isModelName(options.model)
                     ? patientOnHub(options.model, options.quiet || options.json)
                     : patientAt(options.model);
  if (!patient)
    return patient.error();
  const TemporaryEngine place;
  if (auto compiled = compileShape(*patient, options.compile, place.path); !compiled)
    return compiled.error();
  auto engine = runtime::EngineFile::open(place.path);
  if (!engine)
    return engine.error();
  runtime::MemoryLimits limits;
  limits.context = static_cast<uint64_t>(options.context);
  limits.threads = std::max(1u, std::thread::hardware_concurrency());
  auto memory = runtime::memoryStatement(**engine, limits);
  if (!memory)
    return memory.error();
  // What the device would make from the seed is what a real engine holds.
  const uint64_t engineBytes =
      (*engine)->fileBytes() + (*engine)->table().programs()->Get(0)->seed_bytes();
  double kvPerToken = 0; // inside every window
  for (const runtime::KvPages &group : memory->groups)
    kvPerToken += static_cast<double>(group.pageBytes) / static_cast<double>(memory->pageTokens);
  emit((options.json ? reportJson : reportText)(options, *patient, *(*engine)->table().model(),
                                                engineBytes, *memory, kvPerToken));
  return 0;
}

} // namespace ingot::cli
