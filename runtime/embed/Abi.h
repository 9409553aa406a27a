//===- Abi.h - Common code of the C interface -------------------------------===//
//
// Handles, errors and growing structures, shared by the files that implement include/ingot.h.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/embed/AwaitableService.h"
#include "runtime/embed/include/ingot.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>

struct ingot_error {
  ingot::Error error;
  std::string text;
  explicit ingot_error(ingot::Error given) : error(std::move(given)), text(error.format()) {}
};

struct ingot_executor {
  std::unique_ptr<ingot::embed::AwaitableService> impl;
  // Storage that ingot_model points to.
  std::string device, remark, target;
  std::vector<int32_t> eos;
  int32_t bos = -1;
};

namespace ingot::embed {

/// Stores an error in `*where`, unless `where` is null, and returns its status.
inline ingot_status report(Error error, ingot_error **where) {
  const auto status = ingot_status(error.exit);
  if (where)
    *where = new (std::nothrow) ingot_error(std::move(error));
  return status;
}

/// Runs a body that returns Result<ingot_status>. No exception escapes.
template <typename Body> ingot_status guarded(ingot_error **error, Body &&body) noexcept {
  auto fail = [&](ExitCode exit, const char *code, const char *what, const char *why,
                  const char *fix) {
    try {
      return report({exit, code, what, why, fix}, error);
    } catch (...) { // there is no memory for the text of the error either
      return ingot_status(exit);
    }
  };
  try {
    Result<ingot_status> done = body();
    return done ? *done : report(std::move(done.error()), error);
  } catch (const std::bad_alloc &) {
    return fail(ExitCode::File, errors::kOutOfMemory, "there is not enough memory",
                "the system refused to allocate more", "stop other programs, or request less");
  } catch (const std::system_error &thrown) {
    return fail(ExitCode::File, "E0508", "the system refused a resource that is needed",
                thrown.what(), "raise the limits of memory and threads, or request fewer threads");
  } catch (const std::exception &thrown) {
    return fail(ExitCode::Internal, "E0902", "an exception reached the library's boundary",
                thrown.what(), "this is a bug in ingot: please report it");
  }
}

/// Reads a structure of the caller, which may be shorter or longer than ours. `defaults` supplies the
/// fields that it lacks. `least` is the size of the structure in version 1. Fails with E0570.
template <typename T>
Result<T> readStruct(const T &given, T defaults, size_t least, const char *name) {
  const size_t size = given.struct_size;
  auto wrong = [&](std::string why) {
    return Error{ExitCode::Usage, "E0570", std::string(name) + " cannot be read", std::move(why),
                 "call " + std::string(name) +
                     "_init first, and build against the header of the "
                     "library that is loaded"};
  };
  if (size < least || size > (size_t(1) << 16))
    return wrong("its struct_size is " + std::to_string(size) +
                 ", allowed: " + std::to_string(least) + " or more");
  const auto *bytes = reinterpret_cast<const unsigned char *>(&given);
  if (size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + size, [](auto b) { return b; }))
    return wrong("it sets fields that this library, which supports " + std::to_string(sizeof(T)) +
                 " of its " + std::to_string(size) + " bytes, does not have");
  std::memcpy(&defaults, bytes, std::min(size, sizeof(T)));
  defaults.struct_size = sizeof(T);
  return defaults;
}

/// Writes as much of `value` as the caller's structure holds, and zeroes the rest of that
/// structure.
template <typename T> ingot_status writeStruct(T &value, T *out) {
  const size_t size = out->struct_size;
  if (size < sizeof(size_t) || size > (size_t(1) << 16))
    return INGOT_USAGE;
  value.struct_size = size;
  auto *bytes = reinterpret_cast<unsigned char *>(out);
  std::memcpy(bytes, &value, std::min(size, sizeof(T)));
  if (size > sizeof(T))
    std::memset(bytes + sizeof(T), 0, size - sizeof(T));
  return INGOT_OK;
}

/// Implements the _init functions: sets a caller's structure of `size` bytes to its defaults.
template <typename T> void initStruct(T defaults, T *out, size_t size) {
  if (!out || size < sizeof(size_t))
    return;
  std::memset(static_cast<void *>(out), 0, size);
  defaults.struct_size = size;
  std::memcpy(out, &defaults, std::min(size, sizeof(T)));
}

/// Returns the C view of an output. `output` and `error` must outlive it.
ingot_output describe(const AwaitableOutput &output, const ingot_error *error);
/// Returns the output's error, or null if it has none.
std::unique_ptr<ingot_error> errorOf(const AwaitableOutput &output);

/// Reads and checks a caller's request. Hooks receive `id`. The errors are listed at ingot_enqueue.
Result<AwaitableRequest> readRequest(const ingot_executor &executor, const ingot_request &given,
                                     RequestId id);

/// Renders messages to the text of a prompt. Errors: E0520, E0521, E061x.
Result<std::string> renderChat(const service::ServedModel &model, const char *messages,
                               const char *variables, bool addGenerationPrompt);
/// Returns the token ids of the messages' prompt, up to the point where the assistant's turn begins. Control tokens in
/// contents are text unless the content is trusted.
Result<std::vector<int32_t>> encodeChat(const service::ServedModel &model, const char *messages,
                                        const char *variables, bool trustContent);

/// Copies data into memory for ingot_free, followed by a zero int32. Returns null if out of memory.
void *copyOut(const void *data, size_t bytes);

} // namespace ingot::embed
