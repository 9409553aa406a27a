//===- Settings.h - Which hub, whose cache, as whom -----------------------===//
//
// The environment says it, by the names that huggingface_hub reads: whoever has set up Python
// programs has set up `ingot`.
//
//   HF_ENDPOINT     another hub than the public one
//   HF_HUB_CACHE    the folder of models; else HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub,
//                   ~/.cache/huggingface/hub
//   HF_TOKEN        for models that are not open to all; else the file HF_TOKEN_PATH or HF_HOME/token,
//                   which `hf auth login` writes
//   HF_HUB_OFFLINE  1: no request is made
//
// Proxies (https_proxy, no_proxy) are libcurl's matter.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <chrono>
#include <filesystem>
#include <string>

namespace ingot::hub {

/// The public hub: a fact of the product. HF_ENDPOINT names another.
inline constexpr char kPublicHub[] = "https://huggingface.co";

/// What is done about a hub that is busy and connections that break.
struct RetryPolicy {
  int attempts = 5;                      ///< in a row without a byte gained
  std::chrono::milliseconds first{500};  ///< then twice as long each time
  std::chrono::seconds longestAsked{60}; ///< of Retry-After; beyond it we give up and say so
};

struct Settings {
  std::string endpoint = kPublicHub; ///< without a slash at its end
  std::filesystem::path cache;       ///< folder of models--ORG--NAME; empty: there is no place
  std::string token;                 ///< empty: nobody
  bool offline = false;
  RetryPolicy retry;

  /// Error: E0150 for an endpoint that is no http or https address, or a token that no header can hold.
  static Result<Settings> fromEnvironment();
};

} // namespace ingot::hub
