//===- Sanitizers.h - Which sanitizer this build uses ----------------------===//
//
// Clang has __has_feature; GCC defines a macro for each sanitizer.
//===----------------------------------------------------------------------===//
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define INGOT_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define INGOT_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef INGOT_ADDRESS_SANITIZER
#define INGOT_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__)
#define INGOT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define INGOT_THREAD_SANITIZER 1
#endif
#endif
#ifndef INGOT_THREAD_SANITIZER
#define INGOT_THREAD_SANITIZER 0
#endif

#define INGOT_SANITIZED (INGOT_ADDRESS_SANITIZER || INGOT_THREAD_SANITIZER)
