//===- main.cpp - The `ingot` command line ---------------------------------===//
//
// main finds the subcommand, parses its options, runs it and prints errors. The exit codes are defined in
// runtime/error/Error.h. `compile` is forwarded with all arguments to libingot-compiler.so, so this binary needs no
// LLVM.
//===----------------------------------------------------------------------===//
#include "runtime/engine/Header.h"
#include "runtime/engine/Isa.h"
#include "runtime/error/Suggest.h"
#include "tools/ingot/FatalError.h"
#include "tools/ingot/command/Command.h"
#include "tools/ingot/engines/CompilerLibrary.h"
#include "tools/ingot/engines/ModelName.h"
#include "tools/options/CommandLine.h"
#include "tools/terminal/Console.h"

#include <cstdio>
#include <cstring>
#include <system_error>

namespace ingot::cli {

std::span<const Command> commands() {
  static const Command table[] = {
      {"run", "answer a prompt; compiles a checkpoint first if needed", defineRun},
      {"chat", "talk to a model in the terminal", defineChat},
      {"serve", "answer clients over HTTP: OpenAI's and Anthropic's routes", defineServe},
      {"batch", "answer a file of requests in OpenAI's batch format", defineBatch},
      {"compile", "compile a checkpoint into an engine file", defineCompile},
      {"inspect", "show what is in an engine and what memory it takes", defineInspect},
      {"explain", "show a model's launches, and why there are not fewer; explain an error",
       defineExplain},
      {"diff", "show what differs between two engines", defineDiff},
      {"verify", "check every byte of an engine", defineVerify},
      {"bench", "measure prompt and decode speed", defineBench},
      {"bench-kernels", "measure each kernel alone, over all layers", defineBenchKernels},
      {"simulate", "compare scheduling policies under a virtual clock", defineSimulate},
      {"bench-serve", "put load on a server and measure latencies and throughput",
       defineBenchServe},
      {"score", "print the negative log-likelihood and perplexity of ids", defineScore},
      {"logits", "write the logits of every position as .npy", defineLogits},
      {"tokenize", "print the ids of a text", defineTokenize},
      {"passes", "list the passes of the compiler", definePasses},
      {"list", "list fetched models and compiled engines", defineList},
      {"rm", "remove fetched models and compiled engines", defineRemove},
      {"doctor", "check this machine and installation, or whether a model would compile",
       defineDoctor},
      {"completion", "print a completion script for bash, zsh or fish", defineCompletion},
  };
  return table;
}

namespace {

void printOverview() {
  std::printf("ingot %s: compiles a transformer checkpoint into one engine file and runs it\n\n"
              "usage: ingot COMMAND [OPTION...]\n\n",
              INGOT_VERSION);
  for (const Command &command : commands())
    std::printf("  %-13s %s\n", command.name, command.summary);
  std::printf("\n"
              "  ingot COMMAND --help shows a command's options and examples\n"
              "  ingot --version      this version\n\n"
              "examples:\n"
              "  ingot run smollm2.gguf --chat \"What is the capital of Japan?\"\n"
              "  ingot run hf:HuggingFaceTB/SmolLM2-135M-Instruct --chat \"What is a compiler?\"\n"
              "  ingot compile smollm2.gguf -o smollm2.ingot && ingot chat smollm2.ingot\n");
}

const Command *findCommand(const char *name) {
  for (const Command &command : commands())
    if (!std::strcmp(command.name, name))
      return &command;
  return nullptr;
}

Error unknownCommand(std::string_view name) {
  std::vector<std::string> names;
  for (const Command &command : commands())
    names.push_back(command.name);
  std::string near = nearest(name, names);
  return {ExitCode::Usage, "E0101", "unknown command: " + std::string(name),
          near.empty() ? "" : "did you mean `" + near + "`?", "ingot --help lists the commands"};
}

int runCommand(const Command &command, int argc, const char *const *argv) {
  CommandLine line(command.summary, std::string("ingot ") + command.name);
  Action action = command.define(line);
  Result<bool> parsed = line.parse(argc, argv);
  if (!parsed)
    return printError(parsed.error());
  if (!*parsed)
    return 0;
  Result<int> code = action();
  return code ? *code : printError(code.error());
}

int dispatch(int argc, const char *const *argv) {
  if (argc < 2 || !std::strcmp(argv[1], "--help") || !std::strcmp(argv[1], "-h") ||
      (!std::strcmp(argv[1], "help") && argc == 2)) {
    printOverview();
    return argc < 2 ? static_cast<int>(ExitCode::Usage) : 0;
  }
  if (!std::strcmp(argv[1], "--version")) {
    const runtime::CpuFeatures cpu = runtime::hostCpu();
    std::printf("ingot %s, engine format %d.%d, this machine runs %s\n", INGOT_VERSION,
                runtime::kFormatMajor, runtime::kFormatMinor,
                cpu.best() ? cpu.names().c_str() : "no engine (it has no AVX2)");
    return 0;
  }
  if (!std::strcmp(argv[1], "help")) {
    const Command *command = findCommand(argv[2]);
    const char *const help[] = {argv[0], argv[2], "--help"};
    return command ? dispatch(3, help) : printError(unknownCommand(argv[2]));
  }
  const Command *command = findCommand(argv[1]);
  if (!command)
    return printError(unknownCommand(argv[1]));
  if (command->define == defineCompile) {
    auto arguments = withCheckpoint(argc, argv);
    if (!arguments)
      return printError(arguments.error());
    std::vector<const char *> words;
    for (const std::string &argument : *arguments)
      words.push_back(argument.c_str());
    Result<int> code = callCompiler(argc, words.data());
    return code ? *code : printError(code.error());
  }
  return runCommand(*command, argc - 1, argv + 1);
}

} // namespace
} // namespace ingot::cli

int main(int argc, char **argv) {
  // An exception from a library is our bug or the machine's state. The user gets an error, never a
  // stack trace.
  ingot::cli::installFatalErrorHandler();
  try {
    return ingot::cli::finishOutput(ingot::cli::dispatch(argc, argv));
  } catch (const std::system_error &error) {
    return ingot::cli::printError(
        {ingot::ExitCode::File, "E0508", "the system refused a resource that is needed",
         error.what(),
         "raise the limits of memory and threads (ulimit -v, -u), or give --threads 1 or -j 1"});
  } catch (const std::exception &error) {
    return ingot::cli::printError(
        {ingot::ExitCode::Internal, "E0902", error.what(), "",
         "this is a bug in ingot: please report it with the command you typed"});
  }
}
