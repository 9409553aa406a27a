//===- TurnEnds.h - What ends an answer, by the format of its turn ---------===//
#pragma once

#include <string_view>
#include <vector>

namespace ingot::text {

/// Names of control tokens.
struct TurnEnds {
  std::vector<std::string_view> ends;   ///< each ends the turn: an answer, or one that calls tools
  std::vector<std::string_view> within; ///< end a message within the turn, which goes on
};

/// Of the format that the chat template writes. Which of them a vocabulary has is for the caller to see.
TurnEnds turnEnds(std::string_view chatTemplate);

} // namespace ingot::text
