//===- KvBudget.cpp - See KvBudget.h ----------------------------------------===//
#include "tools/ingot/serve/KvBudget.h"

#include "runtime/engine/Inspect.h"
#include "tools/options/CommandLine.h"

#include <algorithm>
#include <optional>

namespace ingot::cli {

using runtime::humanBytes;

Result<std::vector<uint64_t>> divideKv(const std::vector<std::string> &given,
                                       const std::vector<KvUser> &users, uint64_t available) {
  std::vector<uint64_t> shares(users.size(), 0);
  uint64_t sum = 0, named = 0;
  for (const std::string &one : given) {
    const size_t sign = one.find('=');
    const auto size = parseBytes(one.substr(sign == one.npos ? 0 : sign + 1));
    if (!size || (sign == one.npos && sum))
      return Error{ExitCode::Usage, "E0556", "--kv-memory cannot be read: " + one,
                   size ? "the total was given twice" : "",
                   "give SIZE for all models, such as 800M or 2GiB, or NAME=SIZE for one"};
    if (sign == one.npos) {
      sum = *size;
      continue;
    }
    auto user = std::ranges::find_if(users, [&](const KvUser &user) {
      return std::ranges::find(user.names, one.substr(0, sign)) != user.names.end();
    });
    if (user == users.end()) {
      std::string known;
      for (const KvUser &one : users)
        known += (known.empty() ? "" : ", ") + one.names.front();
      return Error{ExitCode::Usage, "E0538", "--kv-memory names an unknown model: " + one,
                   "models: " + known, "give NAME=SIZE with one of these names"};
    }
    uint64_t &share = shares[size_t(user - users.begin())];
    named += *size - share;
    share = *size;
  }
  const auto open = std::ranges::count(shares, uint64_t(0));
  if (users.size() == 1 && open == 1) {
    shares.front() = sum;
    return shares;
  }
  if ((sum && named > sum) || (sum && open && named == sum) || (available && named > available))
    return Error{ExitCode::Usage, "E0557", "the KV memory assigned to models exceeds the total",
                 humanBytes(named) + " of " +
                     humanBytes(sum && (named >= sum || !available) ? sum : available),
                 "lower --kv-memory NAME=SIZE" + std::string(sum ? ", or raise the total" : "")};
  const uint64_t left = sum ? sum - named : (available - std::min(available, named)) / 2;
  double needs = 0;
  for (size_t i = 0; i < users.size(); ++i)
    needs += shares[i] ? 0 : double(std::max<uint64_t>(users[i].need, 1));
  for (size_t i = 0; i < users.size(); ++i)
    if (!shares[i]) {
      const double part = double(std::max<uint64_t>(users[i].need, 1)) / needs;
      shares[i] = std::max<uint64_t>(1, uint64_t(double(left) * part));
    }
  return shares;
}

} // namespace ingot::cli
