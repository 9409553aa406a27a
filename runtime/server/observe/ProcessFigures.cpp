//===- ProcessFigures.cpp - See ProcessFigures.h ----------------------------===//
#include "runtime/server/observe/ProcessFigures.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

namespace ingot::observe {

namespace {

void family(std::string &out, const char *name, const char *help, const char *type, double value) {
  char number[32];
  std::snprintf(number, sizeof number, "%.15g", value);
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
  out.append(name).append(" ").append(type).append("\n");
  out.append(name).append(" ").append(number).append("\n");
}

/// Reads /proc/self/stat. Fields are numbered from 1. The second is a name in brackets that may
/// contain any character.
bool readStat(uint64_t &userTicks, uint64_t &systemTicks, uint64_t &start, uint64_t &virtualBytes,
              uint64_t &residentPages) {
  char text[2048];
  FILE *file = std::fopen("/proc/self/stat", "r");
  if (!file)
    return false;
  const size_t bytes = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  text[bytes] = 0;
  const char *at = std::strrchr(text, ')');
  return at && std::sscanf(at + 1,
                           " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                           " %*d %*d %*d %*d %*d %*d %" SCNu64 " %" SCNu64 " %" SCNu64,
                           &userTicks, &systemTicks, &start, &virtualBytes, &residentPages) == 5;
}

/// Returns the time at which the machine booted, in seconds since the epoch.
double bootTime() {
  double value = 0;
  FILE *file = std::fopen("/proc/stat", "r");
  if (!file)
    return 0;
  char line[4096];
  while (std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "btime %lf", &value) == 1)
      break;
  std::fclose(file);
  return value;
}

int64_t openDescriptors() {
  DIR *folder = opendir("/proc/self/fd");
  if (!folder)
    return -1;
  int64_t count = -1; // the descriptor of the open directory does not count
  while (const dirent *entry = readdir(folder))
    count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

} // namespace

std::string processExposition() {
  std::string out;
  uint64_t user = 0, system = 0, start = 0, virtualBytes = 0, pages = 0;
  if (readStat(user, system, start, virtualBytes, pages)) {
    const auto ticks = double(sysconf(_SC_CLK_TCK));
    family(out, "process_cpu_seconds_total", "Processor time, user and system.", "counter",
           double(user + system) / ticks);
    family(out, "process_resident_memory_bytes", "Memory in use, the mapped engine included.",
           "gauge", double(pages) * double(sysconf(_SC_PAGESIZE)));
    family(out, "process_virtual_memory_bytes", "Address space.", "gauge", double(virtualBytes));
    if (const double boot = bootTime(); boot > 0)
      family(out, "process_start_time_seconds", "Start of the process, seconds of the epoch.",
             "gauge", boot + double(start) / ticks);
  }
  if (const int64_t open = openDescriptors(); open >= 0)
    family(out, "process_open_fds", "Open files and connections.", "gauge", double(open));
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
    family(out, "process_max_fds", "Limit of open files.", "gauge", double(limit.rlim_cur));
  return out;
}

} // namespace ingot::observe
