//===- WeightUpload.h - Weights on their way to a GPU ------------------------===//
//
// A mapped file comes into memory by page faults, and one thread that copies from it makes a fifth
// of what a bus takes. So several fill page-locked pieces while the caller, who alone calls the
// driver, sends the full ones in order:
//
//   file --up to 4 threads--> [piece][piece] … 8 --the driver's queue--> device
//
// Turn t goes through piece t % 8, which may be filled again when the event behind its copy is
// done. Two copies are in the queue, so that it never runs dry while one is waited for.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/DeviceMemory.h"
#include "runtime/engine/Inspect.h"

#include <array>
#include <span>

namespace ingot::cuda {

class WeightUpload {
public:
  struct Part {
    std::span<const std::byte> bytes;
    Address to;
  };

  /// E0716.
  static Result<WeightUpload> create(Driver &driver);
  /// Has the parts on the device when it returns. `threads`: that fill pieces, at most 4.
  Result<void> send(std::span<const Part> parts, int threads);

  /// For what is made piece by piece: the next piece, whose last copy is done; then its copy.
  Result<std::span<std::byte>> next();
  Result<void> sendNext(uint64_t bytes, Address to);

  /// See PinnedMemory.
  void leave();

private:
  struct Piece {
    PinnedMemory memory;
    Event sent = nullptr;
    bool travels = false; ///< `sent` was recorded
  };
  struct Turn;
  Result<void> arrived(Piece &piece);
  Result<void> sendPiece(Piece &piece, uint64_t bytes, Address to);
  Result<void> sendFilled(std::span<const Turn> turns, struct Fillers &fillers);

  Driver *driver = nullptr;
  std::array<Piece, runtime::kUploadPieces> pieces;
  size_t turn = 0; ///< of next()
};

} // namespace ingot::cuda
