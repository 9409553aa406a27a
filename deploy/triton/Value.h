//===- Value.h - A named value from a client ---------------------------------===//
//
// Clients pass an option of a request as a tensor, in JSON (`sampling_parameters`) or as a request
// parameter. All three become a Value, so each option has one reader, and its errors name the
// option.
//===----------------------------------------------------------------------===//
#pragma once

#include "deploy/triton/Failure.h"

#include <simdjson.h>

#include <limits>
#include <string>
#include <vector>

namespace ingot::triton {

class Value {
public:
  enum class Kind { Integers, Reals, Flags, Texts };

  /// `batched`: the first dimension is the batch, which has one row.
  static Outcome ofTensor(TRITONBACKEND_Input *input, bool batched, Value &into);
  static Outcome ofJson(std::string_view name, const simdjson::dom::element &json, Value &into);
  static Outcome ofParameter(const char *name, TRITONSERVER_ParameterType type, const void *given,
                             Value &into);

  const std::string &name() const { return itsName; }
  Kind kind() const { return itsKind; }
  /// Returns the shape of a tensor without the batch dimension.
  const std::vector<int64_t> &shape() const { return itsShape; }
  size_t count() const {
    return itsKind == Kind::Texts   ? texts.size()
           : itsKind == Kind::Reals ? reals.size()
                                    : integers.size();
  }

  // Readers of exactly one value. Another kind or number of values is refused.
  Outcome integer(int64_t least, int64_t most, int64_t &into) const;
  Outcome int32(int32_t &into, int32_t least = std::numeric_limits<int32_t>::min()) const;
  Outcome seed(uint64_t &into) const; ///< all 64 bits
  Outcome real(float &into) const;    ///< finite
  Outcome flag(bool &into) const;
  Outcome text(std::string &into) const;
  Outcome textWithoutNul(std::string &into) const;
  // Readers of any number of values.
  Outcome integerList(std::vector<int32_t> &into) const;
  Outcome textList(std::vector<std::string> &into) const;

private:
  Outcome one(Kind kind, const char *wanted) const;
  Outcome tensorData(TRITONSERVER_DataType type, const std::string &bytes, uint64_t count);
  Outcome unlike(const std::string &wanted) const;
  std::string found() const;

  std::string itsName;
  Kind itsKind = Kind::Texts;
  std::vector<int64_t> itsShape;
  std::vector<int64_t> integers; ///< integers and flags; unsigned 64-bit values as their bits
  std::vector<double> reals;
  std::vector<std::string> texts;
};

/// Returns a name such as "INT32", for messages.
const char *nameOf(TRITONSERVER_DataType type);

} // namespace ingot::triton
