//===- Page.h - The chat page and the live page, over HTTP -----------------===//
//
// Static files with strict headers. The Content-Security-Policy has no exceptions: scripts and
// styles come from here alone, nothing is inline, connections go nowhere else, and what a model
// writes cannot become HTML (Trusted Types with no policy at all).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/server/http/Server.h"
#include "runtime/server/page/Assets.h"

namespace ingot::page {

/// Answers a GET if its path is one of the page's; false if it is not, and nothing was sent. In a
/// build without the page, "/" and "/live" say how to get it. From any thread.
bool answer(const http::Request &request, http::Responder &responder,
            std::span<const Asset> from = assets());

} // namespace ingot::page
