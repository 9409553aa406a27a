//===- Live.h - What the server does now, for the live page ----------------===//
#pragma once

#include "runtime/server/api/Routes.h"

namespace ingot::api {

/// GET /live.json. Counts are since each model was loaded, clock_s is monotonic: rates are
/// differences of two reports. At most 200 requests a model are listed, in the order they came.
std::string liveReport(const service::ModelRegistry &models, std::string_view version,
                       bool draining);

/// POST /live/cancel {"id"[, "model"]}: ends the requests of that X-Request-Id, if they came with
/// the same API key as this one.
std::optional<ApiError> cancelRequest(Call &call);

} // namespace ingot::api
