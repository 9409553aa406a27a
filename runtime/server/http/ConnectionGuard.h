//===- ConnectionGuard.h - Contains exceptions of a connection ------------===//
#pragma once

#include "runtime/server/http/Connection.h"

namespace ingot::http {

/// Runs one entry point of a connection and keeps the connection alive meanwhile, since it may
/// close itself.
template <typename Work> void Connection::guarded(Work work) {
  auto self = shared_from_this();
  try {
    work();
  } catch (...) {
    close(true);
  }
}

} // namespace ingot::http
