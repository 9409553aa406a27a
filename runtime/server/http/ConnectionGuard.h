//===- ConnectionGuard.h - No exception gets past a connection ------------===//
#pragma once

#include "runtime/server/http/Connection.h"

namespace ingot::http {

/// Runs one entry of a connection, and keeps it alive meanwhile: it may close itself.
template <typename Work> void Connection::guarded(Work work) {
  auto self = shared_from_this();
  try {
    work();
  } catch (...) {
    close(true);
  }
}

} // namespace ingot::http
