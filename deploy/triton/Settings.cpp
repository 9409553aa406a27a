//===- Settings.cpp - Reading and completing config.pbtxt --------------------===//
#include "deploy/triton/Settings.h"

#include "deploy/triton/Call.h"
#include "deploy/triton/Outputs.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace ingot::triton {

namespace {

using simdjson::dom::array;
using simdjson::dom::element;

Failure wrong(const std::string &name, const std::string &text, const std::string &wanted) {
  return badRequest("E0961", "the parameter '" + name + "' of the model is wrong",
                    "it is '" + text + "', wanted is " + wanted,
                    "correct it in config.pbtxt; docs/triton.md lists all of them");
}

Outcome whole(const std::string &name, const std::string &text, int64_t least, int64_t &into) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < least)
    return wrong(name, text, "a whole number of at least " + std::to_string(least));
  into = value;
  return {};
}

/// Reads a number of bytes, written as on the command line: 123, 800M, 2GiB.
Outcome bytes(const std::string &name, const std::string &text, uint64_t &into) {
  static constexpr std::pair<std::string_view, int> kUnits[] = {
      {"", 0}, {"K", 10}, {"KiB", 10}, {"M", 20}, {"MiB", 20}, {"G", 30}, {"GiB", 30}};
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, size_t(text.data() + text.size() - end));
  for (const auto &[written, shift] : kUnits)
    if (failed == std::errc() && unit == written && value <= (UINT64_MAX >> shift)) {
      into = value << shift;
      return {};
    }
  return wrong(name, text, "a number of bytes, as 800M or 2GiB");
}

Outcome seconds(const std::string &name, const std::string &text, double &into) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !(value >= 0 && value < 1e9))
    return wrong(name, text, "a number that is not negative");
  into = value;
  return {};
}

Outcome flag(const std::string &name, const std::string &text, bool &into) {
  if (text != "true" && text != "false")
    return wrong(name, text, "true or false");
  into = text == "true";
  return {};
}

} // namespace

/// A parameter of config.pbtxt.
struct Parameter {
  const char *name;
  Outcome (*set)(Settings &, const std::string &name, const std::string &text,
                 const std::string &folder);

  template <int64_t ingot_config::*field, int64_t least>
  static Outcome count(Settings &into, const std::string &name, const std::string &text,
                       const std::string &) {
    return whole(name, text, least, into.limits.*field);
  }
  template <uint64_t ingot_config::*field>
  static Outcome size(Settings &into, const std::string &name, const std::string &text,
                      const std::string &) {
    return bytes(name, text, into.limits.*field);
  }
  template <double ingot_config::*field>
  static Outcome time(Settings &into, const std::string &name, const std::string &text,
                      const std::string &) {
    return seconds(name, text, into.limits.*field);
  }
  template <int32_t ingot_config::*field, bool inverted>
  static Outcome truth(Settings &into, const std::string &name, const std::string &text,
                       const std::string &) {
    bool on = false;
    if (Outcome failed = flag(name, text, on))
      return failed;
    into.limits.*field = on != inverted;
    return {};
  }
  static Outcome threads(Settings &into, const std::string &name, const std::string &text,
                         const std::string &) {
    int64_t value = 0;
    if (Outcome failed = whole(name, text, 0, value))
      return failed;
    into.limits.threads = int32_t(std::min<int64_t>(value, INT32_MAX));
    return {};
  }
  static Outcome engine(Settings &into, const std::string &, const std::string &text,
                        const std::string &folder) {
    into.engine = text.starts_with('/') ? text : folder + "/" + text;
    return {};
  }
  static Outcome device(Settings &into, const std::string &, const std::string &text,
                        const std::string &) {
    into.device = text;
    return {};
  }
  static Outcome isa(Settings &into, const std::string &, const std::string &text,
                     const std::string &) {
    into.isa = text;
    return {};
  }
  static Outcome chatTemplate(Settings &into, const std::string &name, const std::string &text,
                              const std::string &folder) {
    const std::string path = text.starts_with('/') ? text : folder + "/" + text;
    std::ifstream file(path);
    std::ostringstream content;
    if (!file || !(content << file.rdbuf()))
      return wrong(name, text, "a file that is there and not empty");
    into.chatTemplate = content.str();
    into.hasTemplate = true;
    return {};
  }
  static Outcome checkPeriod(Settings &into, const std::string &name, const std::string &text,
                             const std::string &) {
    return whole(name, text, 1, into.checkPeriodMs);
  }
  static Outcome unknown(Settings &into, const std::string &name, const std::string &text,
                         const std::string &) {
    if (text != "refuse" && text != "ignore")
      return wrong(name, text, "refuse or ignore");
    into.ignoreUnknownParameters = text == "ignore";
    return {};
  }
};

namespace {

using P = Parameter;
using C = ingot_config;
constexpr Parameter kParameters[] = {
    {"engine", P::engine},
    {"threads", P::threads},
    {"context", P::count<&C::context, 0>},
    {"max_seqs", P::count<&C::max_seqs, 0>},
    {"max_batch_tokens", P::count<&C::max_batch_tokens, 0>},
    {"prefill_chunk", P::count<&C::prefill_chunk, 0>},
    {"kv_memory", P::size<&C::kv_memory>},
    {"swap_memory", P::size<&C::swap_memory>},
    {"queue_requests", P::count<&C::queue_requests, -1>},
    {"queue_tokens", P::count<&C::queue_tokens, 0>},
    {"prefix_cache", P::truth<&C::no_prefix_cache, true>},
    {"tokenizer", P::truth<&C::no_tokenizer, true>},
    {"target_ttft_ms", P::time<&C::target_ttft_ms>},
    {"target_itl_ms", P::time<&C::target_itl_ms>},
    {"step_limit", P::time<&C::step_limit>},
    {"lock_memory", P::truth<&C::lock_memory, false>},
    {"device", P::device},
    {"isa", P::isa},
    {"chat_template", P::chatTemplate},
    {"cancellation_check_period_ms", P::checkPeriod},
    {"unknown_request_parameters", P::unknown},
};

Failure unknownParameter(std::string_view name) {
  std::string known;
  for (const Parameter &parameter : kParameters)
    known += std::string(known.empty() ? "" : ", ") + parameter.name;
  return badRequest("E0960", "the model has an unknown parameter '" + std::string(name) + "'",
                    "known: " + known,
                    "correct it in config.pbtxt, or leave it out for the default");
}

bool hasElements(const element &json, const char *name) {
  array list;
  return !json[name].get_array().get(list) && list.size() > 0;
}

std::string_view textOf(const element &json, const char *name) {
  std::string_view text;
  return json[name].get_string().get(text) ? std::string_view() : text;
}

Outcome notJson(simdjson::error_code code) {
  return failure(TRITONSERVER_ERROR_INTERNAL, "E0962", "the model's configuration cannot be read",
                 std::string("it should be JSON: ") + simdjson::error_message(code),
                 "report it with the version of the server");
}

Outcome unknownPort(const char *kind, std::string_view name) {
  return badRequest(
      "E0963", std::string("the model has an unknown ") + kind + " '" + std::string(name) + "'",
      "config.pbtxt lists it, and the backend knows no such tensor",
      "take it out; without any list all that there are are filled in");
}

Outcome wrongType(const char *kind, std::string_view name, std::string_view type,
                  const char *wanted) {
  return badRequest(
      "E0963", std::string("the ") + kind + " '" + std::string(name) + "' has another type",
      "config.pbtxt says " + std::string(type) + ", it is " + wanted, "correct data_type");
}

template <typename Each> Outcome eachPort(const element &json, const char *list, Each &&each) {
  array ports;
  if (json[list].get_array().get(ports))
    return {};
  for (const element port : ports)
    if (Outcome failed = each(textOf(port, "name"), textOf(port, "data_type")))
      return failed;
  return {};
}

} // namespace

Outcome Settings::readParameters(const element &json, const std::string &folder) {
  const std::string_view file = textOf(json, "default_model_filename");
  engine = folder + "/" + (file.empty() ? "model.ingot" : std::string(file));
  simdjson::dom::object parameters;
  if (json["parameters"].get_object().get(parameters))
    return {};
  for (const auto &[name, value] : parameters) {
    const auto known = std::ranges::find_if(
        kParameters, [&](const Parameter &parameter) { return name == parameter.name; });
    if (known == std::end(kParameters))
      return unknownParameter(name);
    const std::string text(textOf(value, "string_value"));
    if (text.empty())
      return wrong(std::string(name), "", "a string_value that is not empty");
    if (Outcome failed = known->set(*this, std::string(name), text, folder))
      return failed;
  }
  return {};
}

Outcome Settings::readPorts(const element &json) const {
  if (Outcome failed = eachPort(json, "input", [](std::string_view name, std::string_view type) {
        for (const Port &port : inputPorts())
          if (name == port.name)
            return acceptsType(port, type) ? Outcome() : wrongType("input", name, type, port.type);
        return unknownPort("input", name);
      }))
    return failed;
  return eachPort(json, "output", [](std::string_view name, std::string_view type) {
    for (const OutputPort &port : outputPorts())
      if (name == port.name)
        return type == port.type ? Outcome() : wrongType("output", name, type, port.type);
    return unknownPort("output", name);
  });
}

Outcome Settings::read(std::string_view text, const std::string &folder, Settings &into) {
  ingot_config_init(&into.limits, sizeof into.limits);
  simdjson::dom::parser parser;
  element json;
  if (const auto code = parser.parse(simdjson::padded_string(text)).get(json))
    return notJson(code);
  if (Outcome failed = into.readParameters(json, folder))
    return failed;
  if (Outcome failed = into.readPorts(json))
    return failed;
  if (simdjson::dom::object batching; !json["sequence_batching"].get_object().get(batching))
    return badRequest("E0964", "the model asks for sequence batching",
                      "a request carries all of its prompt; what its beginning shares with others "
                      "is found in the prefix cache",
                      "take sequence_batching out of config.pbtxt");
  int64_t batch = 0;
  if (!json["max_batch_size"].get_int64().get(batch))
    into.batched = batch > 0;
  bool decoupled = false;
  if (!json["model_transaction_policy"]["decoupled"].get_bool().get(decoupled))
    into.decoupled = decoupled;
  return {};
}

ingot_config Settings::config() const {
  ingot_config config = limits;
  config.device = device.empty() ? nullptr : device.c_str();
  config.isa = isa.empty() ? nullptr : isa.c_str();
  config.chat_template = hasTemplate ? chatTemplate.c_str() : nullptr;
  return config;
}

std::string completed(std::string_view text) {
  simdjson::dom::parser parser;
  element json;
  simdjson::dom::object object;
  if (parser.parse(simdjson::padded_string(text)).get(json) || json.get_object().get(object))
    return {}; // Settings::read reports the error
  element policy;
  const bool inputs = !hasElements(json, "input"), outputs = !hasElements(json, "output"),
             streams = json["model_transaction_policy"].get(policy) != simdjson::SUCCESS;
  if (!inputs && !outputs && !streams)
    return {};
  std::ostringstream out;
  const char *comma = "{";
  auto member = [&](std::string_view name) -> std::ostringstream & {
    out << comma << '"' << name << "\":";
    comma = ",";
    return out;
  };
  for (const auto &[name, value] : object)
    if (!(inputs && name == "input") && !(outputs && name == "output"))
      member(name) << simdjson::minify(value);
  auto list = [&](const auto &ports, const char *more) {
    const char *between = "[";
    for (const auto &port : ports) {
      out << between << "{\"name\":\"" << port.name << "\",\"data_type\":\"" << port.type
          << "\",\"dims\":[";
      for (size_t i = 0; i < port.dims.size(); ++i)
        out << (i ? "," : "") << port.dims[i];
      out << "]" << more << "}";
      between = ",";
    }
    out << "]";
  };
  if (inputs) {
    member("input");
    list(inputPorts(), ",\"optional\":true");
  }
  if (outputs) {
    member("output");
    list(outputPorts(), "");
  }
  if (streams)
    member("model_transaction_policy") << "{\"decoupled\":true}";
  out << "}";
  return out.str();
}

} // namespace ingot::triton
