//===- HostCpu.cpp - See HostCpu.h ----------------------------------------===//
#include "compiler/targets/cpu/HostCpu.h"
#include "runtime/engine/Isa.h"

#include <cpuid.h>
#include <cstring>

using namespace ingot;

cpu::CpuName compiler::hostCpuName() {
  cpu::CpuName host;
  host.name = runtime::hostCpu().name;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d))
    return host;
  char vendor[12];
  std::memcpy(vendor, &b, 4), std::memcpy(vendor + 4, &d, 4), std::memcpy(vendor + 8, &c, 4);
  host.vendor.assign(vendor, sizeof vendor);
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    unsigned family = a >> 8 & 15, model = a >> 4 & 15;
    if (family == 15 || family == 6)
      model += (a >> 16 & 15) << 4;
    if (family == 15)
      family += a >> 20 & 255;
    host.family = family, host.model = model;
  }
  return host;
}
