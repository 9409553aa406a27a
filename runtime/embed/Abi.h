//===- Abi.h - Between the C interface and C++ ------------------------------===//
//
// What the files of include/ingot.h share: handles, errors, and structures that grow. Nothing gets
// past guarded() as an exception.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/embed/Executor.h"
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
  std::unique_ptr<ingot::embed::Executor> impl;
  // What ingot_model points at.
  std::string device, remark, target;
  std::vector<int32_t> eos;
  int32_t bos = -1;
};

namespace ingot::embed {

/// Puts an error where the caller wants it; its status.
inline ingot_status report(Error error, ingot_error **where) {
  const auto status = ingot_status(error.exit);
  if (where)
    *where = new (std::nothrow) ingot_error(std::move(error));
  return status;
}

/// Runs what gives a Result<ingot_status>, and lets no exception out.
template <typename Body> ingot_status guarded(ingot_error **error, Body &&body) noexcept {
  auto fail = [&](ExitCode exit, const char *code, const char *what, const char *why,
                  const char *fix) {
    try {
      return report({exit, code, what, why, fix}, error);
    } catch (...) { // no memory for the words either
      return ingot_status(exit);
    }
  };
  try {
    Result<ingot_status> done = body();
    return done ? *done : report(std::move(done.error()), error);
  } catch (const std::bad_alloc &) {
    return fail(ExitCode::File, "E0507", "there is not enough memory", "the system gives no more",
                "end other programs, or ask for less");
  } catch (const std::system_error &thrown) {
    return fail(ExitCode::File, "E0508", "the system refused what is needed", thrown.what(),
                "raise the limits of memory and threads, or ask for fewer threads");
  } catch (const std::exception &thrown) {
    return fail(ExitCode::Internal, "E0902", "an exception came to the border of the library",
                thrown.what(), "this is a bug in ingot: please report it");
  }
}

/// A structure of the caller's, which may be shorter or longer than ours: `defaults` fill up what
/// it lacks. `least`: its size in version 1. E0570.
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
    return wrong("it sets fields that this library, which knows " + std::to_string(sizeof(T)) +
                 " of its " + std::to_string(size) + " bytes, does not have");
  std::memcpy(&defaults, bytes, std::min(size, sizeof(T)));
  defaults.struct_size = sizeof(T);
  return defaults;
}

/// As much of `value` as the caller's structure holds; what it has beyond is zero.
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

/// `init` of a caller's structure of `size` bytes.
template <typename T> void initStruct(T defaults, T *out, size_t size) {
  if (!out || size < sizeof(size_t))
    return;
  std::memset(static_cast<void *>(out), 0, size);
  defaults.struct_size = size;
  std::memcpy(out, &defaults, std::min(size, sizeof(T)));
}

/// What the C side sees of an output; `error` must live as long.
ingot_output describe(const Output &output, const ingot_error *error);
/// Null unless the output has one.
std::unique_ptr<ingot_error> errorOf(const Output &output);

/// The request of a caller, read. Hooks are told `id`. Errors: see ingot_enqueue.
Result<Request> readRequest(const ingot_executor &executor, const ingot_request &given,
                            RequestId id);

/// The prompt that messages become. E0520, E0521, E061x.
Result<std::string> renderChat(const service::ServedModel &model, const char *messages,
                               const char *variables, bool addGenerationPrompt);
/// Its ids, where the assistant begins. Control tokens in contents are text unless they are
/// trusted.
Result<std::vector<int32_t>> encodeChat(const service::ServedModel &model, const char *messages,
                                        const char *variables, bool trustContent);

/// Memory that ingot_free takes, with a 0 behind; null if there is none.
void *copyOut(const void *data, size_t bytes);

} // namespace ingot::embed
