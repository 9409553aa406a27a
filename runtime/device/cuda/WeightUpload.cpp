//===- WeightUpload.cpp - See WeightUpload.h ---------------------------------===//
#include "runtime/device/cuda/WeightUpload.h"

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

namespace ingot::cuda {

namespace {
constexpr int kMostThreads = 4;
constexpr size_t kCopiesUnderWay = 2;
constexpr size_t kPieces = runtime::kUploadPieces;
} // namespace

/// One filling of a piece: the bytes, and where they go.
struct WeightUpload::Turn {
  std::span<const std::byte> bytes;
  Address to;
};

/// Coordinates the filling threads and the sender. Turns are taken in order, up to `allowed`; full
/// pieces belong to the sender.
struct Fillers {
  std::mutex mutex;
  std::condition_variable more, full;
  size_t taken = 0, allowed = 0;
  std::array<bool, kPieces> isFull = {};
  bool over = false;

  /// Returns the next turn to fill; nullopt when the upload is over.
  std::optional<size_t> take() {
    std::unique_lock lock(mutex);
    more.wait(lock, [&] { return over || taken < allowed; });
    return over ? std::nullopt : std::optional(taken++);
  }
  void filled(size_t turn) {
    std::lock_guard lock(mutex);
    isFull[turn % kPieces] = true;
    full.notify_one();
  }
  void waitUntilFull(size_t turn) {
    std::unique_lock lock(mutex);
    full.wait(lock, [&] { return isFull[turn % kPieces]; });
    isFull[turn % kPieces] = false;
  }
  void allow(size_t turns) {
    std::lock_guard lock(mutex);
    allowed = turns;
    more.notify_all();
  }
  void end() {
    std::lock_guard lock(mutex);
    over = true;
    more.notify_all();
  }
};

Result<WeightUpload> WeightUpload::create(Driver &driver) {
  WeightUpload upload;
  upload.driver = &driver;
  for (Piece &piece : upload.pieces) {
    auto memory = PinnedMemory::allocate(driver, runtime::kUploadPiece);
    if (!memory)
      return memory.error();
    piece.memory = std::move(*memory);
    auto event = driver.createEvent(/*timed=*/false);
    if (!event)
      return event.error();
    piece.sent = *event;
  }
  return upload;
}

Result<void> WeightUpload::arrived(Piece &piece) {
  if (!std::exchange(piece.travels, false))
    return {};
  return driver->wait(piece.sent);
}

Result<void> WeightUpload::sendPiece(Piece &piece, uint64_t bytes, Address to) {
  assert(bytes <= piece.memory.size() && "more than a piece holds");
  assert(!piece.travels && "an earlier copy may still read the piece");
  if (auto ok = driver->copyToDevice(to, piece.memory.data(), bytes); !ok)
    return ok;
  piece.travels = true;
  return driver->record(piece.sent);
}

Result<void> WeightUpload::send(std::span<const Part> parts, int threads) {
  std::vector<Turn> turns;
  for (const Part &part : parts)
    for (uint64_t at = 0; at < part.bytes.size(); at += runtime::kUploadPiece)
      turns.push_back({part.bytes.subspan(
                           at, std::min<uint64_t>(runtime::kUploadPiece, part.bytes.size() - at)),
                       part.to + at});
  Fillers fillers;
  auto fill = [&] {
    while (std::optional<size_t> turn = fillers.take()) {
      const Turn &what = turns[*turn];
      std::memcpy(pieces[*turn % kPieces].memory.data(), what.bytes.data(), what.bytes.size());
      fillers.filled(*turn);
    }
  };
  std::vector<std::jthread> working;
  const auto count = std::min<size_t>(size_t(std::clamp(threads, 1, kMostThreads)), turns.size());
  for (size_t i = 0; i < count; ++i)
    working.emplace_back(fill);
  Result<void> sent = sendFilled(turns, fillers);
  fillers.end();
  working.clear(); // from here on no thread writes a piece
  return sent ? driver->wait() : sent;
}

Result<void> WeightUpload::sendFilled(std::span<const Turn> turns, Fillers &fillers) {
  for (Piece &piece : pieces)
    if (auto ok = arrived(piece); !ok)
      return ok;
  fillers.allow(std::min(turns.size(), kPieces));
  for (size_t turn = 0; turn < turns.size(); ++turn) {
    fillers.waitUntilFull(turn);
    if (auto ok = sendPiece(pieces[turn % kPieces], turns[turn].bytes.size(), turns[turn].to); !ok)
      return ok;
    if (turn + 1 < kCopiesUnderWay)
      continue;
    const size_t oldest = turn + 1 - kCopiesUnderWay;
    if (auto ok = arrived(pieces[oldest % kPieces]); !ok)
      return ok;
    fillers.allow(std::min(turns.size(), oldest + 1 + kPieces));
  }
  return {};
}

Result<std::span<std::byte>> WeightUpload::next() {
  Piece &piece = pieces[turn % kPieces];
  if (auto ok = arrived(piece); !ok)
    return ok.error();
  return std::span(piece.memory.data(), piece.memory.size());
}

Result<void> WeightUpload::sendNext(uint64_t bytes, Address to) {
  return sendPiece(pieces[turn++ % kPieces], bytes, to);
}

void WeightUpload::leave() {
  for (Piece &piece : pieces)
    piece.memory.leave();
}

} // namespace ingot::cuda
