//===- Live.h - What the server does now, for the live page ----------------===//
#pragma once

#include "runtime/service/api/ServedModel.h"

namespace ingot::api {

/// GET /live.json. Counts are since each model was loaded, clock_s is monotonic: rates are
/// differences of two reports. At most 200 requests a model are listed, in the order they came.
std::string liveReport(const ModelRegistry &models, std::string_view version, bool draining);

} // namespace ingot::api
