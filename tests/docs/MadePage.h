//===- MadePage.h - Tables of a page, made by a program ---------------------===//
//
// A page of docs/ has text that is written by hand and tables that a program makes. Each table is
// between two markers:
//
//     <!-- dev docs: NAME -->
//     …
//     <!-- dev docs: end of NAME -->
//===----------------------------------------------------------------------===//
#pragma once

#include <span>
#include <string>

namespace ingot {

struct MadeTable {
  const char *name;
  std::string (*make)(const std::string &page); ///< gets the page as it is now
};

/// Serves as the main function of such a program, PROGRAM PAGE [--write]. Without --write, it changes nothing: if page
/// and tables differ, the exit status is 1 and the differing lines are printed. `page` becomes the page with its tables
/// regenerated; it is empty if a marker is missing.
int makePage(int argc, char **argv, std::span<const MadeTable> tables, std::string &page);

} // namespace ingot
