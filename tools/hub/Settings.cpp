//===- Settings.cpp - See Settings.h --------------------------------------===//
#include "tools/hub/Settings.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>

namespace ingot::hub {

namespace fs = std::filesystem;

namespace {

/// Returns the variable's value; an empty value counts as not set.
std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// Expands a leading "~" as a shell would, because values from configuration files do not pass
/// through a shell.
fs::path withHome(const std::string &path) {
  const std::string home = variable("HOME");
  return path == "~" || path.starts_with("~/") ? fs::path(home + path.substr(1)) : fs::path(path);
}

bool isTrue(std::string value) {
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

/// Returns the home folder of huggingface_hub; empty if neither the environment nor HOME names one.
fs::path homeOfHub() {
  if (std::string home = variable("HF_HOME"); !home.empty())
    return withHome(home);
  if (std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return withHome(cache) / "huggingface";
  const std::string home = variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / "huggingface";
}

std::string trimmed(const std::string &text) {
  const size_t first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// HF_TOKEN, else the first line of the file that `hf auth login` writes.
std::string tokenOfUser(const fs::path &home) {
  if (std::string token = trimmed(variable("HF_TOKEN")); !token.empty())
    return token;
  std::string place = variable("HF_TOKEN_PATH");
  if (place.empty() && home.empty())
    return "";
  std::ifstream file(place.empty() ? home / "token" : withHome(place));
  std::string line;
  std::getline(file, line);
  return trimmed(line);
}

} // namespace

Result<Settings> Settings::fromEnvironment() {
  Settings settings;
  const fs::path home = homeOfHub();
  if (std::string endpoint = variable("HF_ENDPOINT"); !endpoint.empty())
    settings.endpoint = trimmed(endpoint);
  while (settings.endpoint.ends_with('/'))
    settings.endpoint.pop_back();
  if (!settings.endpoint.starts_with("https://") && !settings.endpoint.starts_with("http://"))
    return Error{ExitCode::Usage, "E0179", "HF_ENDPOINT is not an address: " + settings.endpoint,
                 "", std::string("give one that begins with https://, or unset it: ") + kPublicHub};
  if (std::string cache = variable("HF_HUB_CACHE"); !cache.empty())
    settings.cache = withHome(cache);
  else if (!home.empty())
    settings.cache = home / "hub";
  settings.token = tokenOfUser(home);
  auto isOdd = [](unsigned char c) { return c <= 0x20 || c >= 0x7f; };
  if (std::ranges::any_of(settings.token, isOdd)) // such a character could end the header and begin
                                                  // another
    return Error{ExitCode::Usage, "E0180", "the token of the hub cannot be used",
                 "it has a blank or a character that is not ASCII",
                 "set HF_TOKEN to only the token, or: hf auth login"};
  settings.offline = isTrue(variable("HF_HUB_OFFLINE")) || isTrue(variable("TRANSFORMERS_OFFLINE"));
  return settings;
}

} // namespace ingot::hub
