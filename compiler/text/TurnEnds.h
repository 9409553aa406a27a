//===- TurnEnds.h - Tokens that end a turn, by chat format -----------------===//
#pragma once

#include <string_view>
#include <vector>

namespace ingot::text {

/// Names of control tokens.
struct TurnEnds {
  std::vector<std::string_view> ends;   ///< each ends the turn: an answer, or one that calls tools
  std::vector<std::string_view> within; ///< each ends a message inside the turn, which continues
};

/// Returns the turn ends of the format that the chat template writes. The caller checks which of them a vocabulary has.
TurnEnds turnEnds(std::string_view chatTemplate);

} // namespace ingot::text
