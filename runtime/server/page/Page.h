//===- Page.h - The chat page and the live page, over HTTP -----------------===//
//
// Serves static files with strict headers. The Content-Security-Policy has no exceptions. Scripts and
// styles come from this server only, nothing is inline, and connections go to this server only. Model
// output cannot become HTML, because Trusted Types are required and no policy is allowed.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/http/Server.h"
#include "runtime/server/page/Assets.h"

namespace ingot::page {

/// Answers a GET if its path belongs to the page. Otherwise sends nothing and returns false. In a
/// build without the page, the answers to "/" and "/live" explain how to get it. May be called from
/// any thread.
bool answer(const http::HttpRequest &request, http::Responder &responder,
            std::span<const Asset> from = assets());

} // namespace ingot::page
