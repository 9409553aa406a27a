//===- Settings.h - Hub, cache and token ----------------------------------===//
//
// The settings come from the environment variables that huggingface_hub reads, so a machine that is set up
// for Python programs is set up for `ingot` too.
//
//   HF_ENDPOINT     a hub other than the public one
//   HF_HUB_CACHE    the folder of models; else HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or
//                   ~/.cache/huggingface/hub
//   HF_TOKEN        the token for gated and private models; else the file HF_TOKEN_PATH or HF_HOME/token,
//                   which `hf auth login` writes
//   HF_HUB_OFFLINE  1: no request is made
//
// libcurl handles the proxy variables (https_proxy, no_proxy).
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <chrono>
#include <filesystem>
#include <string>

namespace ingot::hub {

/// The URL of the public hub. HF_ENDPOINT overrides it.
inline constexpr char kPublicHub[] = "https://huggingface.co";

/// Describes how often and how soon requests are retried when a hub is busy or a connection breaks.
struct RetryPolicy {
  int attempts = 5;                      ///< maximum number in a row that gain no byte
  std::chrono::milliseconds first{500};  ///< first wait; doubles each time
  std::chrono::seconds longestAsked{60}; ///< longest Retry-After that we honour; else an error
};

struct Settings {
  std::string endpoint = kPublicHub; ///< without a trailing slash
  std::filesystem::path cache;       ///< folder of models--ORG--NAME; empty: none is set
  std::string token;                 ///< empty: anonymous
  bool offline = false;
  RetryPolicy retry;

  /// Reads the settings. Errors: E0179: the endpoint is not an http or https URL; E0180: the token cannot be sent in a
  /// header.
  static Result<Settings> fromEnvironment();
};

} // namespace ingot::hub
