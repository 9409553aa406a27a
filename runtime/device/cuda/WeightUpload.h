//===- WeightUpload.h - Uploads weights to a GPU -----------------------------===//
//
// A mapped file is read through page faults, and a single thread that copies from it reaches a
// fifth of the bus bandwidth. So several threads fill page-locked pieces while the caller, the only
// thread that calls the driver, sends the full ones in order:
//
//   file --up to 4 threads--> [piece][piece] … 8 --the driver's queue--> device
//
// The n-th filling uses piece n % 8, which may be refilled once the event recorded after its copy has
// completed. Two copies are kept in the queue, so that it never runs dry while the caller waits for
// one of them.
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

  /// Allocates the pieces. E0716.
  static Result<WeightUpload> create(Driver &driver);
  /// Sends the parts and returns when they are on the device. `threads`: number of threads that
  /// fill pieces, at most 4.
  Result<void> send(std::span<const Part> parts, int threads);

  /// Uploads data that is produced piece by piece: next() waits for the last copy of the next piece and returns its
  /// memory; after the caller has filled it, sendNext() queues its copy to `to`.
  Result<std::span<std::byte>> next();
  Result<void> sendNext(uint64_t bytes, Address to);

  /// Gives up the pieces without releasing their memory (PinnedMemory::leave).
  void leave();

private:
  struct Piece {
    PinnedMemory memory;
    Event sent = nullptr;
    bool travels = false; ///< `sent` was recorded and the copy may still be in flight
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
