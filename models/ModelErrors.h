//===- ModelErrors.h - Why a family refuses a checkpoint ------------------===//
//
// The codes of import errors that families report, in addition to those in ImportErrors.h. All have exit code 3.
//===----------------------------------------------------------------------===//
#pragma once

namespace ingot::models::cause {
inline constexpr char architectureUnknown[] = "E0293";
inline constexpr char keyUnused[] = "E0294";
inline constexpr char tensorMissing[] = "E0295";
inline constexpr char tensorUnused[] = "E0296";
inline constexpr char tensorShape[] = "E0297";
inline constexpr char valueUnsupported[] = "E0298";
inline constexpr char tensorFormat[] = "E0299";
inline constexpr char rowsUnused[] = "E0850"; // E02xx is full
inline constexpr char rowsTwice[] = "E0851";
inline constexpr char formatsDiffer[] = "E0854";
} // namespace ingot::models::cause
