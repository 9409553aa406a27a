//===- Intermediates.cpp - See Intermediates.h ----------------------------===//
#include "compiler/driver/Intermediates.h"
#include "compiler/console/OutputPlace.h"
#include "compiler/driver/EmitText.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>

namespace fs = std::filesystem;

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;

/// NNN-name.mlir.
static bool isOurs(const fs::path &path) {
  const std::string name = path.filename().string();
  return path.extension() == ".mlir" && name.size() > 9 && name[3] == '-' &&
         llvm::all_of(name.substr(0, 3), llvm::isDigit);
}

Result<void> Intermediates::open(const std::string &where) {
  if (where.empty())
    return {};
  std::error_code error;
  fs::create_directories(where, error);
  for (fs::directory_iterator entry(where, error), end; !error && entry != end;
       entry.increment(error))
    if (isOurs(entry->path()))
      fs::remove(entry->path(), error);
  if (error)
    return Error{ExitCode::File, "E0487", "cannot write intermediates to " + where, error.message(),
                 "give --dump-intermediates a folder that can be written"};
  folder = where;
  return {};
}

void Intermediates::add(ModuleOp module, const std::string &name) {
  const std::string text = irText(module);
  if (text == last || !failure)
    return;
  last = text;
  std::string file;
  llvm::raw_string_ostream(file) << folder << "/" << llvm::format("%03d", number++) << "-"
                                 << (device.empty() ? "" : device + "-") << name << ".mlir";
  if (auto written = writeText(text, file); !written) {
    const Error &error = written.error();
    failure = Error{ExitCode::File, "E0487", "cannot write " + file, error.why, error.fix};
  }
}

void Intermediates::begin(ModuleOp module, const std::string &name, const std::string &of) {
  device = of;
  if (!folder.empty())
    add(module, name);
}

class Intermediates::Watch : public PassInstrumentation {
public:
  explicit Watch(Intermediates &to) : to(to) {}
  void runAfterPass(Pass *pass, Operation *op) override {
    if (pass->getArgument().empty())
      return;
    auto module = dyn_cast<ModuleOp>(op);
    to.add(module ? module : op->getParentOfType<ModuleOp>(), pass->getArgument().str());
  }

private:
  Intermediates &to;
};

std::unique_ptr<PassInstrumentation> Intermediates::watch() {
  return folder.empty() ? nullptr : std::make_unique<Watch>(*this);
}
