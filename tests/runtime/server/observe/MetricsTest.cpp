//===- MetricsTest.cpp - Everything at /metrics, read by a strict parser -----===//
#include "runtime/service/Metrics.h"
#include "runtime/device/Trace.h"
#include "runtime/server/observe/ProcessFigures.h"
#include "runtime/server/observe/RouteCounts.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace ingot;
using namespace ingot::observe;

namespace {

/// Parses the text exposition format 0.0.4 in the order that Prometheus' own libraries keep: a family is
/// its help, its type and its samples, and occurs once. Reports the first error with its line, or "".
class Exposition {
public:
  std::map<std::string, std::map<std::string, double>> samples; ///< name, labels, value
  std::map<std::string, std::string> types;

  std::string read(std::string_view text) {
    size_t number = 0;
    if (!text.ends_with('\n'))
      return "it does not end with a line feed";
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      const std::string line(text.substr(at, end - at));
      at = end + 1;
      ++number;
      if (std::string wrong = this->line(line); !wrong.empty())
        return "line " + std::to_string(number) + ": " + wrong + ": " + line;
    }
    return histograms();
  }

private:
  std::string family, helped;

  static bool isName(const std::string &name, bool colons) {
    auto letter = [&](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (colons && c == ':');
    };
    if (name.empty() || !letter(name[0]))
      return false;
    for (char c : name)
      if (!letter(c) && !std::isdigit(static_cast<unsigned char>(c)))
        return false;
    return true;
  }

  std::string line(const std::string &line) {
    if (line.starts_with("# HELP ")) {
      helped = line.substr(7, line.find(' ', 7) - 7);
      return line.find(' ', 7) == std::string::npos ? "no help"
             : types.count(helped)                  ? "twice"
                                                    : "";
    }
    if (line.starts_with("# TYPE ")) {
      const size_t space = line.find(' ', 7);
      family = line.substr(7, space - 7);
      const std::string type = line.substr(space + 1);
      if (family != helped || !isName(family, true))
        return "a type without its help";
      if (type != "counter" && type != "gauge" && type != "histogram")
        return "an unknown type";
      return types.emplace(family, type).second ? "" : "the family was there before";
    }
    return sample(line);
  }

  std::string sample(const std::string &line) {
    size_t at = line.find_first_of("{ ");
    const std::string name = line.substr(0, at);
    std::string base = name;
    if (types[family] == "histogram")
      for (const char *end : {"_bucket", "_sum", "_count"})
        if (base.ends_with(end) && base.size() - std::string(end).size() == family.size())
          base.resize(family.size());
    if (base != family)
      return "a sample of no family";
    std::string labels;
    if (line[at] == '{') {
      const size_t begin = at;
      std::set<std::string> seen;
      for (++at; line[at] != '}';) {
        const size_t equals = line.find("=\"", at);
        const std::string label = line.substr(at, equals - at);
        if (equals == std::string::npos || !isName(label, false) || !seen.insert(label).second)
          return "a bad label";
        for (at = equals + 2; at < line.size() && line[at] != '"'; ++at)
          if (line[at] == '\\' && (++at, line[at] != '\\' && line[at] != '"' && line[at] != 'n'))
            return "a bad escape";
        if (at >= line.size())
          return "an open label";
        if (line[++at] == ',')
          ++at;
        else if (line[at] != '}')
          return "labels without a comma";
      }
      ++at;
      labels = line.substr(begin, at - begin);
    }
    if (line[at] != ' ')
      return "no value";
    size_t used = 0;
    const std::string number = line.substr(at + 1);
    const double value = std::stod(number, &used);
    if (used != number.size() || std::isspace(static_cast<unsigned char>(number[0])))
      return "a bad number";
    if (types[family] == "counter" && value < 0)
      return "a counter below zero";
    return samples[name].emplace(labels, value).second ? "" : "the series was there before";
  }

  /// Checks that buckets increase up to +Inf, which equals the count.
  std::string histograms() {
    for (const auto &[name, type] : types) {
      if (type != "histogram")
        continue;
      std::map<std::string, std::map<double, double>> buckets;
      for (const auto &[labels, value] : samples[name + "_bucket"]) {
        const size_t at = labels.find(",le=\"");
        const std::string bound = labels.substr(at + 5, labels.find('"', at + 5) - at - 5);
        buckets[labels.substr(0, at) + "}"][bound == "+Inf" ? INFINITY : std::stod(bound)] = value;
      }
      for (const auto &[labels, rising] : buckets) {
        double before = 0;
        for (const auto &[bound, value] : rising) {
          if (value < before)
            return name + " falls";
          before = value;
        }
        if (!std::isinf(rising.rbegin()->first) || before != samples[name + "_count"].at(labels))
          return name + " does not end in its count";
      }
    }
    return "";
  }
};

TEST(Exposition, isValidWithSeveralModelsAndHostileNames) {
  service::Metrics metrics;
  metrics.update([](service::Measurements &m) {
    m.running = 3;
    m.pages = 100;
    m.pagesUsed = 25;
    m.pageTokens = 32;
    m.generationTokens = 12'345'678'901;
    for (double value : {0.0, 0.004, 0.5, 1e9})
      m.timeToFirstToken.observe(value);
  });
  const std::pair<std::string, service::Measurements> models[] = {
      {"plain", metrics.read()},
      {"a\"b\\c\nd\x1b[2J", service::Measurements()},
      {std::string(1 << 20, 'x'), service::Measurements()}};
  RouteCounts counts;
  auto record = std::make_shared<RequestRecord>();
  record->route = "/v1/models";
  for (int status : {200, 200, 429, 777}) {
    record->status = status;
    counts.ended(record);
  }
  Exposition read;
  const std::string text = service::exposition(models) + counts.exposition() + processExposition();
  ASSERT_EQ(read.read(text), "");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const std::string labels = "{model_name=\"plain\",engine=\"0\"}";
  EXPECT_EQ(read.samples["vllm:num_requests_running"][labels], 3);
  EXPECT_EQ(read.samples["vllm:kv_cache_usage_perc"][labels], 0.25);
  EXPECT_NE(text.find("vllm:generation_tokens_total" + labels + " 12345678901\n"),
            std::string::npos)
      << "to the last digit";
  EXPECT_EQ(read.samples["vllm:time_to_first_token_seconds_count"][labels], 4);
  EXPECT_EQ(read.samples["vllm:time_to_first_token_seconds_bucket"]
                        ["{model_name=\"plain\",engine=\"0\",le=\"0.005\"}"],
            2);
  EXPECT_EQ(read.samples["http_requests_total"]["{route=\"/v1/models\",status=\"200\"}"], 2);
  EXPECT_EQ(read.samples["http_requests_total"]["{route=\"/v1/models\",status=\"other\"}"], 1);
  EXPECT_EQ(
      read.samples["vllm:cache_config_info"]
                  ["{model_name=\"plain\",engine=\"0\",block_size=\"32\",num_gpu_blocks=\"100\"}"],
      1);
  // An endpoint picker reads which adapters are loaded (none) and the time of that state.
  const double loaded =
      read.samples["vllm:lora_requests_info"]
                  ["{model_name=\"plain\",engine=\"0\",max_lora=\"0\",running_lora_adapters=\"\","
                   "waiting_lora_adapters=\"\"}"];
  EXPECT_NEAR(loaded, double(std::time(nullptr)), 600);
}

TEST(Exposition, theParserOfThisTestIsStrict) {
  const std::string head = "# HELP a b\n# TYPE a counter\n";
  EXPECT_EQ(Exposition().read(head + "a{x=\"1\"} 2\na{x=\"\\n\"} 2.5e3\n"), "");
  for (const char *bad : {"a 1", "a{x=\"1\"} -1\n", "b 1\n", "a{x=\"1\",x=\"2\"} 1\n",
                          "a{x=\"\\t\"} 1\n", "a{x=\"1} 1\n", "a{1x=\"1\"} 1\n", "a 1x\n",
                          "a 1\na 2\n", "# TYPE a counter\n", "# HELP a again\n"})
    EXPECT_NE(Exposition().read(head + bad), "") << bad;
  EXPECT_NE(
      Exposition().read("# HELP h x\n# TYPE h histogram\nh_bucket{m=\"\",le=\"1\"} 3\n"
                        "h_bucket{m=\"\",le=\"+Inf\"} 2\nh_sum{m=\"\"} 1\nh_count{m=\"\"} 2\n"),
      "");
}

TEST(ProcessFigures, areOfThisProcess) {
  Exposition read;
  ASSERT_EQ(read.read(processExposition()), "");
  EXPECT_GT(read.samples["process_resident_memory_bytes"][""], 1e6);
  EXPECT_LT(read.samples["process_resident_memory_bytes"][""], 1e10);
  EXPECT_GE(read.samples["process_open_fds"][""], 3);
  EXPECT_LT(read.samples["process_open_fds"][""], 1000);
  const double now = double(std::time(nullptr));
  EXPECT_NEAR(read.samples["process_start_time_seconds"][""], now, 600);
  EXPECT_GE(read.samples["process_cpu_seconds_total"][""], 0);
}

TEST(RecentRate, countsTheLastWholeSeconds) {
  service::RecentRate rate;
  constexpr uint64_t kSecond = 1'000'000'000;
  for (uint64_t second = 100; second < 110; ++second)
    for (int i = 0; i < 30; ++i)
      rate.add(second * kSecond + uint64_t(i));
  EXPECT_EQ(rate.perSecond(110 * kSecond), 30);
  EXPECT_EQ(rate.perSecond(112 * kSecond), 18);
  EXPECT_EQ(rate.perSecond(1000 * kSecond), 0);
}

} // namespace
