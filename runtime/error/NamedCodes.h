//===- NamedCodes.h - Codes that decide what happens next -------------------===//
//
// Codes.def has all codes. Some of them change how other parts of ingot go on: they try again, answer
// with another status or give more advice. These codes have a name here, and are raised and compared only
// by that name; tests/docs/check_codes.py refuses a comparison with a literal. The same test checks the
// names in Python, TypeScript and the Triton backend, which do not include this file.
//===----------------------------------------------------------------------===//
#pragma once

#include <string_view>

namespace ingot::errors {

// Models by name.
inline constexpr char kHubDenies[] = "E0153";
inline constexpr char kHubLacks[] = "E0154";
// Engine files.
inline constexpr char kCannotMapEngine[] = "E0314";
inline constexpr char kEngineFailsItsChecks[] = "E0399";
// Compiling.
inline constexpr char kPatternChangesModel[] = "E0428";
inline constexpr char kInsertedPassChangesModel[] = "E0432";
inline constexpr char kNoGpuKernel[] = "E0460";
inline constexpr char kPassChangesModel[] = "E0491";
inline constexpr char kWrongKernel[] = "E0886";
inline constexpr char kNotInterpreted[] = "E0889";
inline constexpr char kWrongUserKernel[] = "E0890";
// Sessions and requests.
inline constexpr char kTooLittleMemory[] = "E0502";
inline constexpr char kBeyondContext[] = "E0505";
inline constexpr char kBeyondKvMemory[] = "E0506";
inline constexpr char kOutOfMemory[] = "E0507";
inline constexpr char kSamplingRange[] = "E0510";
inline constexpr char kNoHiddenStates[] = "E0522";
inline constexpr char kSearchBeyondMemory[] = "E0534";
inline constexpr char kQueueFull[] = "E0560";
inline constexpr char kShuttingDown[] = "E0561";
// Devices.
inline constexpr char kTooLittleGpuMemory[] = "E0715";
inline constexpr char kNoEmulator[] = "E0723";
inline constexpr char kStepHangs[] = "E0725";

/// Returns whether the code is in the range of devices, E07xx.
constexpr bool isOfDevice(std::string_view code) { return code.starts_with("E07"); }

} // namespace ingot::errors
