//===- BlobFile.cpp - See BlobFile.h --------------------------------------===//
#include "tools/hub/BlobFile.h"

#include <cerrno>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::hub {

namespace fs = std::filesystem;

namespace {

/// Hashes the file's bytes in order, with the algorithm that made the etag.
class PromisedHash {
public:
  explicit PromisedHash(const RemoteFile &file) : etag(file.etag), bytes(file.bytes) { restart(); }
  ~PromisedHash() { EVP_MD_CTX_free(context); }
  PromisedHash(const PromisedHash &) = delete;
  PromisedHash &operator=(const PromisedHash &) = delete;

  void restart() {
    if (!kind())
      return;
    EVP_DigestInit_ex(context, kind(), nullptr);
    if (etag.size() == kSha1Digits) { // git's hash covers this header too
      const std::string head = "blob " + std::to_string(bytes) + '\0';
      EVP_DigestUpdate(context, head.data(), head.size());
    }
  }
  void add(std::span<const char> piece) {
    if (kind())
      EVP_DigestUpdate(context, piece.data(), piece.size());
  }
  /// Returns the hash in hex, or the etag itself if the etag is not a hash.
  std::string finish() {
    if (!kind())
      return etag;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_DigestFinal_ex(context, digest, &size);
    std::string hex;
    for (unsigned i = 0; i < size; ++i) {
      constexpr char kHex[] = "0123456789abcdef";
      hex += {kHex[digest[i] >> 4], kHex[digest[i] & 15]};
    }
    return hex;
  }

private:
  static constexpr size_t kSha1Digits = 40, kSha256Digits = 64;

  const EVP_MD *kind() const {
    const bool hex = etag.find_first_not_of("0123456789abcdef") == std::string::npos;
    return hex && etag.size() == kSha256Digits ? EVP_sha256()
           : hex && etag.size() == kSha1Digits ? EVP_sha1()
                                               : nullptr;
  }

  const std::string etag;
  const uint64_t bytes;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
};

/// Owns a file descriptor and closes it.
struct Descriptor {
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  const int number;
};

/// The open file blobs/ETAG.incomplete and the hash of its contents.
class Incomplete {
public:
  Incomplete(const fs::path &path, const RemoteFile &file)
      : path(path), hash(file), whole(file.bytes),
        descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {}

  /// Hashes the bytes that an earlier run left; starts over if the file is too long.
  Result<void> resume() {
    if (descriptor.number < 0)
      return cannotKeep(path, errno);
    char bytes[1 << 16];
    ssize_t n = 0;
    while ((n = ::read(descriptor.number, bytes, sizeof bytes)) > 0) {
      hash.add({bytes, static_cast<size_t>(n)});
      size += static_cast<uint64_t>(n);
    }
    if (n < 0)
      return cannotKeep(path, errno);
    return size > whole ? restart() : Result<void>();
  }
  Result<void> restart() {
    hash.restart();
    size = 0;
    if (::ftruncate(descriptor.number, 0) != 0 || ::lseek(descriptor.number, 0, SEEK_SET) != 0)
      return cannotKeep(path, errno);
    return {};
  }
  Result<void> append(std::span<const char> bytes) {
    hash.add(bytes);
    while (!bytes.empty()) {
      const ssize_t n = ::write(descriptor.number, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return cannotKeep(path, errno);
      size += static_cast<uint64_t>(n);
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return {};
  }
  /// Returns the hash of all bytes.
  std::string finish() { return hash.finish(); }
  /// Syncs the file to disk and then renames it to the blob's name, so a crash cannot leave a name
  /// without its bytes.
  Result<void> rename(const fs::path &blob) {
    if (::fsync(descriptor.number) != 0 || ::rename(path.c_str(), blob.c_str()) != 0)
      return cannotKeep(blob, errno);
    return {};
  }

  uint64_t size = 0;

private:
  const fs::path path;
  PromisedHash hash;
  const uint64_t whole;
  const Descriptor descriptor;
};

/// Takes the lock of a blob and holds it until the descriptor is closed. Python programs take the
/// same lock.
Result<std::unique_ptr<Descriptor>> lockOf(const fs::path &path, const RemoteFile &file,
                                           Listener &listener) {
  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  if (failure)
    return cannotKeep(path.parent_path(), failure.value());
  auto lock =
      std::make_unique<Descriptor>(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock->number < 0)
    return cannotKeep(path, errno);
  if (::flock(lock->number, LOCK_EX | LOCK_NB) == 0)
    return lock;
  if (errno != EWOULDBLOCK) // the file system does not support locks: go on without one
    return lock;
  listener.say("another program is fetching " + file.path + ": waiting for it");
  while (::flock(lock->number, LOCK_EX) != 0 && errno == EINTR) {
  }
  return lock;
}

bool isThere(const fs::path &blob, const RemoteFile &file) {
  std::error_code failure;
  return fs::is_regular_file(blob, failure) && fs::file_size(blob, failure) == file.bytes;
}

/// Fetches bytes until `part` is complete.
Result<void> fill(Incomplete &part, HubClient &client, const Reference &reference,
                  const RemoteFile &file, Listener &listener) {
  uint64_t fetched = 0;
  auto keep = [&](std::span<const char> bytes, bool restart) -> Result<void> {
    if (restart)
      if (auto done = part.restart(); !done)
        return done;
    if (part.size + bytes.size() > file.bytes)
      return Error{ExitCode::File, "E0159", file.path + " does not match the hub's metadata",
                   "more than the expected " + std::to_string(file.bytes) + " bytes were received",
                   "try again later"};
    if (auto done = part.append(bytes); !done)
      return done;
    fetched += bytes.size();
    listener.progress(file.path, part.size, file.bytes, fetched);
    return {};
  };
  while (part.size < file.bytes) {
    const uint64_t before = fetched, from = part.size;
    auto got = client.get(reference, file, from, keep);
    if (!got && !client.mayGoOn(fetched - before))
      return got;
    const bool startsOver = from > 0 && part.size == 0;
    if (got && fetched == before && !startsOver) // success, but no bytes
      return Error{ExitCode::File, "E0159", file.path + " does not match the hub's metadata",
                   std::to_string(part.size) + " bytes received, " + std::to_string(file.bytes) +
                       " expected",
                   "try again later"};
  }
  return {};
}

} // namespace

uint64_t missingBytes(const RemoteFile &file, const RepositoryCache &cache) {
  if (isThere(cache.blob(file.etag), file))
    return 0;
  std::error_code failure;
  const uint64_t there = fs::file_size(cache.incomplete(file.etag), failure);
  return failure || there > file.bytes ? file.bytes : file.bytes - there;
}

Result<void> fetchBlob(HubClient &client, const Reference &reference, const RemoteFile &file,
                       const RepositoryCache &cache, Listener &listener) {
  const fs::path blob = cache.blob(file.etag);
  if (isThere(blob, file))
    return {};
  std::error_code failure;
  fs::create_directories(blob.parent_path(), failure);
  if (failure)
    return cannotKeep(blob.parent_path(), failure.value());
  auto lock = lockOf(cache.lock(file.etag), file, listener);
  if (!lock)
    return lock.error();
  if (isThere(blob, file)) // another process fetched it while we waited
    return {};

  Incomplete part(cache.incomplete(file.etag), file);
  if (auto resumed = part.resume(); !resumed)
    return resumed;
  for (bool again = part.size > 0;; again = false) {
    if (auto filled = fill(part, client, reference, file, listener); !filled)
      return filled;
    const std::string found = part.finish();
    if (found == file.etag)
      break;
    if (auto restarted = part.restart(); !restarted)
      return restarted;
    if (!again) // all bytes came in this run, so fetching them again would not help
      return Error{ExitCode::File, "E0159", file.path + " does not match the hub's metadata",
                   "its hash is " + found + ", expected " + file.etag,
                   "try again later; a proxy in between may have changed it"};
    listener.say(file.path + ": the partial download is damaged; fetching the whole file");
  }
  if (auto renamed = part.rename(blob); !renamed)
    return renamed;
  listener.finished(file.path, file.bytes);
  return {};
}

} // namespace ingot::hub
