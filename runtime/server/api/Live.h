//===- Live.h - The server's current activity, for the live page -----------===//
#pragma once

#include "runtime/server/api/Routes.h"

namespace ingot::api {

/// Returns the body of GET /live.json. A model's counts start when it is loaded, and clock_s is
/// monotonic, so the difference of two reports gives rates. Lists at most 200 requests per model,
/// in order of arrival.
std::string liveReport(const service::ModelRegistry &models, std::string_view version,
                       bool draining);

/// Handles POST /live/cancel {"id"[, "model"]}. Ends the requests with this X-Request-Id, but only requests that came
/// with the same API key as this one.
std::optional<ApiError> cancelRequest(Call &call);

} // namespace ingot::api
