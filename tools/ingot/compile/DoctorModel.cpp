//===- DoctorModel.cpp - See DoctorModel.h ---------------------------------===//
#include "tools/ingot/compile/DoctorModel.h"

#include "compiler/engine/EngineWriter.h"
#include "compiler/import/OpenCheckpoint.h"
#include "compiler/import/checkpoint/Checkpoint.h"
#include "runtime/device/cpu/HostMemory.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/Inspect.h"
#include "runtime/engine/Isa.h"
#include "tools/files/Json.h"
#include "tools/files/TemporaryFolder.h"
#include "tools/hub/Fetch.h"
#include "tools/ingot/compile/WeightSurvey.h"
#include "tools/ingot/engines/CompilerLibrary.h"
#include "tools/ingot/engines/ModelName.h"
#include "tools/terminal/Console.h"

#include <filesystem>
#include <fstream>
#include <thread>

namespace ingot::cli {

namespace fs = std::filesystem;

namespace {

/// The model under examination.
struct Patient {
  std::string model; ///< the path to compile: a checkpoint, or config.json of a model on a hub
  WeightSurvey weights;
  bool hasTensors = false; ///< whether the opened checkpoint lists tensors (a GGUF)
};

/// Returns whether the model is quantised, so that its import depends on values in tensors that were not fetched
/// (versions, shapes and scales).
bool isQuantised(const fs::path &folder) {
  for (const char *name : {"quantize_config.json", "quant_config.json", "hf_quant_config.json"})
    if (fs::exists(folder / name))
      return true;
  std::ifstream config(folder / "config.json");
  const std::string text(std::istreambuf_iterator<char>(config), {});
  return text.find("\"quantization") != std::string::npos;
}

/// Builds a checkpoint from a fetched outline. It has the small files, and sparse weight files in which a hole
/// follows the header.
Result<void> layOut(const hub::Outline &outline, const fs::path &folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  for (fs::directory_iterator at(outline.folder, failure), end; !failure && at != end;
       at.increment(failure))
    if (at->is_regular_file(failure) && !failure)
      fs::copy_file(at->path(), folder / at->path().filename(), failure);
  for (const auto &[file, header, bytes] : outline.weights) {
    const fs::path path = folder / fs::path(file).filename();
    const uint64_t length = header.size();
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char *>(&length), sizeof length) << header;
    out.close();
    if (!failure)
      fs::resize_file(path, bytes, failure);
  }
  if (!failure)
    return {};
  return Error{ExitCode::File, "E0189", "cannot write into " + folder.string(), failure.message(),
               "name another folder: TMPDIR=DIR ingot doctor …"};
}

/// Prepares a model on a hub. `place` is the folder in which the checkpoint is built.
Result<Patient> patientOnHub(const std::string &model, bool quiet, const fs::path &place) {
  auto outline = outlineOf(model, quiet);
  if (!outline)
    return outline.error();
  if (outline->weights.empty()) // all of the model is local
    return Patient{outline->folder, {}};
  Patient patient{outline->folder + "/config.json", {}};
  if (!isQuantised(outline->folder)) {
    patient.model = place.string();
    if (auto laid = layOut(*outline, place); !laid)
      return laid.error();
  }
  for (const auto &[file, header, bytes] : outline->weights)
    if (auto added = patient.weights.add(file, header, bytes); !added)
      return added.error();
  return patient;
}

/// Counts the tensors of a checkpoint that has compiled.
Result<void> survey(Patient &patient) {
  auto checkpoint = import::openCheckpoint(patient.model, import::Hashed::Beginnings);
  if (!checkpoint)
    return checkpoint.error();
  for (const std::string &file : (*checkpoint)->weightFiles)
    if (auto added = patient.weights.addFile(file); !added)
      return added;
  patient.hasTensors = !(*checkpoint)->tensors.empty();
  return {};
}

/// Returns the maximum memory that compilation takes, apart from the page cache (docs/models.md has the
/// measurements). The checks run a plan of one layer over some prompts, the tokenizer is read as JSON trees,
/// and each thread holds the bytes that it packs and writes at once. Weights are not included, since they
/// stream through.
uint64_t memoryToCompile(const fb::Engine &engine, uint64_t engineBytes, uint64_t textBytes,
                         int threads) {
  constexpr uint64_t kMiB = uint64_t(1) << 20, kCode = 96 * kMiB, kThread = 8 * kMiB,
                     kTokens = 2048, kText = 14;
  return kCode + kTokens * engine.programs()->Get(0)->bytes_per_token() + kText * textBytes +
         uint64_t(threads) * (kThread + compiler::bytesAtOnce(engineBytes, threads));
}

/// Compiles the model with dummy weights, for this machine unless targets are given.
Result<void> compileSeeded(const Patient &patient, const CompileOptions &given,
                           const std::string &engine) {
  CompileOptions wanted = given;
  wanted.weights = "seed";
  if (const auto best = runtime::hostCpu().best(); wanted.targets.empty() && best)
    wanted.targets = {std::string(isaTarget(*best))};
  std::vector<std::string> arguments = {patient.model, "-o", engine, "--quiet"};
  if (const std::string cache = cacheFolder(given); !cache.empty())
    arguments.insert(arguments.end(), {"--cache", cache});
  for (std::string &argument : wanted.arguments())
    arguments.push_back(std::move(argument));
  return compileAsChild(arguments);
}

/// The properties that the engine would have.
struct Diagnosis {
  const fb::Model &model;
  uint64_t engineBytes = 0,
           memoryBytes = 0; ///< of an engine with real weights
  runtime::MemoryPlan memory;
  double kvPerToken = 0; ///< inside every attention window
  bool tokenizer = false, chatTemplate = false;
  uint64_t toCompile = 0, toCompileAlone = 0; ///< memory to compile: on all threads, on one
  uint64_t available = 0;                     ///< available memory; 0: not known
  std::string text;                           ///< description of the weights
  std::string passedOver;                     ///< ignored configuration keys, with their values
};

Result<Diagnosis> diagnose(const runtime::EngineFile &engine, int64_t context) {
  const fb::Engine &table = engine.table();
  runtime::MemoryLimits limits;
  limits.context = static_cast<uint64_t>(context);
  const int threads = int(std::max(1u, std::thread::hardware_concurrency()));
  limits.threads = uint64_t(threads);
  auto memory = runtime::memoryPlan(engine, limits);
  if (!memory)
    return memory.error();
  Diagnosis found{*table.model()};
  found.memory = *memory;
  found.engineBytes = engine.fileBytes() + table.programs()->Get(0)->seed_bytes();
  found.memoryBytes = found.engineBytes + memory->allocated() - memory->seeded;
  found.toCompile = memoryToCompile(table, found.engineBytes, engine.tokenizer().size(), threads);
  found.toCompileAlone = memoryToCompile(table, found.engineBytes, engine.tokenizer().size(), 1);
  found.available = cpu::availableMemory();
  for (const runtime::KvPages &group : memory->groups)
    found.kvPerToken +=
        static_cast<double>(group.pageBytes) / static_cast<double>(memory->pageTokens);
  if (const auto *attributes = table.provenance())
    for (const fb::Attribute *attribute : *attributes)
      if (attribute->key()->string_view() == "keys.passed_over")
        found.passedOver = attribute->value()->str();
  found.tokenizer = table.text() && table.text()->tokenizer_segment() >= 0;
  found.chatTemplate = table.text() && table.text()->chat_template_segment() >= 0;
  found.text = runtime::textTaken(table);
  return found;
}

/// Returns a warning if there is less memory than compilation takes; otherwise an empty string.
std::string tooLittle(const Diagnosis &found) {
  using runtime::humanBytes;
  if (found.available == 0 || found.available >= found.toCompile)
    return "";
  return "  warning   " + humanBytes(found.available) + " of memory are free here: " +
         (found.toCompileAlone <= found.available
              ? "ingot compile -j 1 takes " + humanBytes(found.toCompileAlone) + "\n"
              : "raise the limit, or compile on another machine for this one (--target) and copy "
                "the engine\n");
}

std::string reportText(const std::string &name, const Patient &patient, const Diagnosis &found) {
  using runtime::humanBytes;
  const fb::Model &model = found.model;
  std::string text = name + " compiles\n  family    " + model.family()->str() + ", " +
                     grouped(model.parameters()) + " parameters, " + grouped(model.layers()) +
                     " layers, context " + grouped(model.context()) + "\n";
  if (patient.weights.files)
    text +=
        "  weights   " + patient.weights.formatsText() + "\n  parts     " +
        patient.weights.partsText() + "\n" +
        (patient.weights.leftOut.empty() ? ""
                                         : "  left out  " + patient.weights.leftOutText() + "\n");
  else if (!patient.hasTensors)
    text += "  weights   none: only config.json was examined\n";
  text += "  text      " + found.text + "\n";
  if (!found.passedOver.empty())
    text += "  keys      ignored: " + found.passedOver + "\n";
  return text + "  engine    " + humanBytes(found.engineBytes) + "\n  KV        " +
         humanBytes(static_cast<uint64_t>(found.kvPerToken + 0.5)) + " a token, " +
         humanBytes(found.memory.kv) + " at context " + grouped(found.memory.limits.context) +
         "\n  memory    " + humanBytes(found.memoryBytes) + " for one sequence\n  compiling " +
         humanBytes(found.toCompile) + " of memory at most, without the page cache\n" +
         tooLittle(found);
}

std::string reportJson(const std::string &name, const Patient &patient, const Diagnosis &found) {
  return JsonObject()
             .field("model", name)
             .field("compiles", true)
             .field("family", found.model.family()->string_view())
             .field("parameters", found.model.parameters())
             .field("layers", found.model.layers())
             .field("context", found.model.context())
             .raw("weights", patient.weights.json())
             .field("tokenizer", found.tokenizer)
             .field("chat_template", found.chatTemplate)
             .field("text", found.text)
             .field("keys_passed_over", found.passedOver)
             .field("engine_bytes", found.engineBytes)
             .field("kv_bytes_per_token", found.kvPerToken)
             .field("kv_bytes", found.memory.kv)
             .field("kv_context", found.memory.limits.context)
             .field("memory_bytes", found.memoryBytes)
             .field("compile_memory_bytes", found.toCompile)
             .field("compile_fits", tooLittle(found).empty())
             .str() +
         "\n";
}

} // namespace

Result<int> doctorModel(const DoctorModelOptions &options) {
  auto place = TemporaryFolder::make("ingot-doctor");
  if (!place)
    return place.error();
  Result<Patient> patient = isModelName(options.model)
                                ? patientOnHub(options.model, options.quiet || options.json,
                                               fs::path((*place)->path) / "model")
                                : Patient{options.model, {}};
  if (!patient)
    return patient.error();
  const std::string path = (*place)->path + "/model.ingot";
  if (auto compiled = compileSeeded(*patient, options.compile, path); !compiled)
    return compiled.error();
  if (patient->weights.files == 0) // for a model on a hub they are already counted
    if (auto counted = survey(*patient); !counted)
      return counted.error();
  auto engine = runtime::EngineFile::open(path);
  if (!engine)
    return engine.error();
  auto found = diagnose(**engine, options.context);
  if (!found)
    return found.error();
  emit((options.json ? reportJson : reportText)(options.model, *patient, *found));
  return 0;
}

} // namespace ingot::cli
