//===- Findings.cpp - Findings, and the source lines of code addresses -----===//
#include "emulator/host/Findings.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace ingot::emulator {
namespace {

/// Returns the output of `addr2line -i` for one address: inlined frames, innermost first.
std::string framesOf(const char *object, uint64_t offset) {
  int ends[2];
  if (pipe(ends) != 0)
    return {};
  char address[32];
  snprintf(address, sizeof address, "0x%" PRIx64, offset);
  const char *arguments[] = {"addr2line", "-i", "-e", object, address, nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr,
                                  const_cast<char *const *>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t got; !failed && (got = read(ends[0], part, sizeof part)) > 0;)
    text.append(part, size_t(got));
  close(ends[0]);
  if (!failed)
    waitpid(child, nullptr, 0);
  return text;
}

/// Returns whether a frame is in a header of device primitives, which are skipped because users look for their own
/// code. (Kernel bodies, also in codegen/cuda/device, are not skipped.)
bool isVocabulary(const std::string &frame) {
  static constexpr const char *kHeaders[] = {
      "types.cuh",   "threads.cuh", "numbers.cuh",    "memory.cuh", "async_copy.cuh",
      "cluster.cuh", "matrix.cuh",  "wgmma.cuh",      "math.cuh",   "fp8.cuh",
      "reduce.cuh",  "swizzle.cuh", "KernelEntries.h"};
  const std::string name = frame.substr(frame.rfind('/') + 1);
  return std::any_of(std::begin(kHeaders), std::end(kHeaders), [&](const char *header) {
    return name.compare(0, name.find(':'), header) == 0;
  });
}

} // namespace

Location Where::resolve() const {
  if (bits & kSite)
    return {reinterpret_cast<const char *>(bits & kPointer), int(bits >> 47 & 0xffff)};
  Dl_info object{};
  if (!bits || !dladdr(reinterpret_cast<void *>(bits), &object) || !object.dli_fname)
    return {};
  // A return address follows the call, so the address one byte before it is inside the call.
  const std::string frames = framesOf(object.dli_fname, bits - 1 - uint64_t(object.dli_fbase));
  for (size_t at = 0; at < frames.size();) {
    const size_t end = std::min(frames.find('\n', at), frames.size());
    const std::string frame = frames.substr(at, end - at);
    at = end + 1;
    const size_t colon = frame.rfind(':');
    if (colon == std::string::npos || isVocabulary(frame))
      continue;
    if (const int line = atoi(frame.c_str() + colon + 1))
      return {frame.substr(0, colon), line};
  }
  return {object.dli_fname, 0};
}

void FindingList::add(Rule rule, const std::string &kernel, std::string text, Where where,
                      Where other) {
  std::lock_guard lock(mutex);
  if (list.size() >= 100)
    return;
  for (const Raw &known : list)
    if (known.rule == rule && known.where == where && known.other == other &&
        known.kernel == kernel)
      return;
  list.push_back({rule, kernel, std::move(text), where, other});
}

std::vector<Finding> FindingList::resolve() const {
  std::lock_guard lock(mutex);
  std::vector<Finding> found;
  for (const Raw &raw : list) {
    Finding finding{raw.rule, raw.kernel, raw.text, raw.where.resolve(), raw.other.resolve()};
    bool known = false;
    for (const Finding &f : found)
      known |= f.rule == finding.rule && f.kernel == finding.kernel &&
               f.where.line == finding.where.line && f.other.line == finding.other.line;
    if (!known)
      found.push_back(std::move(finding));
  }
  return found;
}

size_t FindingList::size() const {
  std::lock_guard lock(mutex);
  return list.size();
}

void FindingList::clear() {
  std::lock_guard lock(mutex);
  list.clear();
}

} // namespace ingot::emulator
