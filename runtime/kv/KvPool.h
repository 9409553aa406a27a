//===- KvPool.h - Pages of the KV cache, and who holds them ---------------===//
//
// Every layer slot has a pool of the same number of pages (KernelAbi.h), and a
// page number means the same positions in all of them. So one allocator and one
// block table serve all layers:
//
//   block table            page 0    1    2    3    4    5    6    7
//   row 0: [2 5 7 .]            .    .    A    B    .    A    .    A
//   row 1: [3 . . .]       A's positions 32..63 lie in page 5, in each layer
//
// Admission is exact: a sequence is admitted with the most positions it can
// reach, and that many pages are promised to it; pages are taken from the promise
// as positions are reached, so pages that are never needed are never touched. A
// promise always holds: extend() cannot fail.
//
// Pages are counted by reference, so that a prefix can be shared by sequences.
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::runtime {

/// Page numbers with reference counts. Low numbers are given out first, so that
/// a pool's used part stays dense.
class PageAllocator {
public:
  explicit PageAllocator(int64_t pages);

  int64_t total() const { return int64_t(references.size()); }
  int64_t free() const { return int64_t(freeList.size()); }
  int32_t referencesOf(int32_t page) const { return references[size_t(page)]; }

  int32_t allocate();         ///< with one reference; free() must not be 0
  void retain(int32_t page);  ///< one more holder
  void release(int32_t page); ///< free again when the last holder lets go

private:
  std::vector<int32_t> freeList; ///< a min-heap
  std::vector<int32_t> references;
};

class KvPool {
public:
  /// `maxSeqs` rows of ceil(context / pageTokens) entries.
  KvPool(int64_t pages, int64_t maxSeqs, int64_t context, int64_t pageTokens);

  int64_t pagesFor(int64_t positions) const { return (positions + pageTokens - 1) / pageTokens; }
  int64_t totalPages() const { return allocator.total(); }
  int64_t pagesInUse() const { return allocator.total() - allocator.free(); }
  /// Neither in use nor promised.
  int64_t availablePages() const { return allocator.free() - promised; }

  /// A block table row for a sequence of at most `positions` positions; -1 if all
  /// rows are taken or the pages are not available now.
  int32_t admit(int64_t positions);
  /// Pages for positions [0, positions) of the row; at most what was admitted.
  void extend(int32_t row, int64_t positions);
  /// Gives pages, promise and row back.
  void release(int32_t row);

  int64_t rows() const { return int64_t(state.size()); }
  const int32_t *blockTable() const { return table.data(); } ///< [rows][stride]
  int64_t blockTableStride() const { return stride; }

private:
  struct Row {
    int64_t held = 0;     ///< pages in the table
    int64_t promised = 0; ///< further ones it may take
    bool taken = false;
  };

  PageAllocator allocator;
  int64_t pageTokens;
  int64_t stride;
  int64_t promised = 0; ///< sum over rows
  std::vector<Row> state;
  std::vector<int32_t> table; ///< unused entries are 0: a valid page, never read
};

} // namespace ingot::runtime
