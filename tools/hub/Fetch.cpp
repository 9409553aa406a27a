//===- Fetch.cpp - See Fetch.h --------------------------------------------===//
#include "tools/hub/Fetch.h"
#include "tools/hub/BlobFile.h"

#include <fstream>
#include <iterator>
#include <sys/statvfs.h>

namespace ingot::hub {

namespace fs = std::filesystem;

namespace {

std::string contentOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string opened(const RepositoryCache &cache, const std::string &commit,
                   const WantedFiles &wanted) {
  const fs::path folder = cache.snapshot(commit);
  return (wanted.opened.empty() ? folder : folder / wanted.opened).string();
}

/// Sets `weights` to the shards that a snapshot's index names.
Result<void> addShards(WantedFiles &wanted, const RepositoryCache &cache,
                       const std::string &commit) {
  if (wanted.index.empty())
    return {};
  const fs::path index = cache.snapshot(commit) / wanted.index;
  auto shards = shardsOf(contentOf(index), index.string());
  if (!shards)
    return shards.error();
  wanted.weights = std::move(*shards);
  return {};
}

/// Reports a lack of space (E0158) before the first byte is fetched rather than after most of them.
Result<void> checkSpace(const RepositoryCache &cache, uint64_t needed) {
  fs::path there = cache.folder();
  std::error_code failure;
  while (!fs::exists(there, failure) && there != there.parent_path())
    there = there.parent_path();
  struct statvfs disk = {};
  if (::statvfs(there.c_str(), &disk) != 0)
    return {};
  const uint64_t free = uint64_t(disk.f_bavail) * disk.f_frsize;
  if (needed <= free)
    return {};
  return Error{
      ExitCode::File, "E0158", "the disk for models has too little space",
      readableBytes(needed) + " must be fetched into " + cache.folder().string() + ", " +
          readableBytes(free) + " are free",
      "free some space (ingot list shows the models), or set HF_HUB_CACHE to a folder on another "
      "disk"};
}

class Fetching {
public:
  Fetching(const Reference &reference, HubClient &client, const RepositoryCache &cache,
           std::string commit, Listener &listener)
      : reference(reference), client(client), cache(cache), commit(std::move(commit)),
        listener(listener) {}

  /// Fetches the files of `paths` that the snapshot lacks.
  Result<void> fetch(const std::vector<std::string> &paths) {
    std::vector<RemoteFile> files;
    uint64_t bytes = 0, incomplete = 0;
    for (const std::string &path : paths) {
      if (cache.has(commit, path))
        continue;
      auto file = client.look(reference, commit, path);
      if (!file)
        return file.error();
      const uint64_t missing = missingBytes(*file, cache); // 0 if another commit has the same file
      bytes += missing;
      incomplete += missing != 0;
      files.push_back(std::move(*file));
    }
    if (bytes != 0) {
      if (auto fits = checkSpace(cache, bytes); !fits)
        return fits;
      listener.say("fetching " + reference.text() + ": " + std::to_string(incomplete) +
                   (incomplete == 1 ? " file, " : " files, ") + readableBytes(bytes));
    }
    for (const RemoteFile &file : files) {
      if (auto fetched = fetchBlob(client, reference, file, cache, listener); !fetched)
        return fetched;
      if (auto linked = cache.link(commit, file.path, file.etag); !linked)
        return linked;
    }
    return {};
  }

private:
  const Reference &reference;
  HubClient &client;
  const RepositoryCache &cache;
  const std::string commit;
  Listener &listener;
};

/// Fetches and links the wanted files of `repository`.
Result<std::string> fetchRepository(const Reference &reference, const Repository &repository,
                                    HubClient &client, const RepositoryCache &cache,
                                    Listener &listener) {
  auto wanted = wantedFiles(reference, repository.files);
  if (!wanted)
    return wanted.error();
  Fetching fetching(reference, client, cache, repository.commit, listener);
  if (auto texts = fetching.fetch(wanted->texts); !texts)
    return texts.error();
  if (auto shards = addShards(*wanted, cache, repository.commit); !shards)
    return shards.error();
  if (auto weights = fetching.fetch(wanted->weights); !weights)
    return weights.error();
  // This comes last, so a ref never points to an incomplete snapshot.
  if (auto set = cache.setCommit(reference.revision, repository.commit); !set)
    return set.error();
  return opened(cache, repository.commit, *wanted);
}

Error noPlace() {
  return {ExitCode::File, "E0151", "there is no folder for fetched models",
          "none of HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HOME is set",
          "set HF_HUB_CACHE to a folder"};
}

Error isOffline(const Reference &reference, const Settings &settings) {
  return {ExitCode::File, "E0160", reference.text() + " is not on this machine, or incomplete",
          "HF_HUB_OFFLINE is set, so nothing is downloaded; searched " +
              RepositoryCache(settings.cache, reference.repository).folder().string(),
          "run it once without HF_HUB_OFFLINE"};
}

/// Fetches the header of one safetensors file from a hub.
Result<Outline::Weights> headerOf(const Reference &reference, const std::string &commit,
                                  const std::string &path, HubClient &client) {
  auto file = client.look(reference, commit, path);
  if (!file)
    return file.error();
  auto size = client.part(reference, *file, 0, sizeof(uint64_t) - 1);
  if (!size)
    return size.error();
  const auto bytes = headerBytes(*size);
  if (!bytes || *bytes > file->bytes - sizeof(uint64_t))
    return Error{ExitCode::File, "E0165", path + " is not a safetensors file",
                 "its first 8 bytes are not the length of a header", "name another revision"};
  auto header = client.part(reference, *file, sizeof(uint64_t), sizeof(uint64_t) + *bytes - 1);
  if (!header)
    return header.error();
  return Outline::Weights{path, std::move(*header), file->bytes};
}

} // namespace

std::optional<std::string> localModel(const Reference &reference, const Settings &settings) {
  const RepositoryCache cache(settings.cache, reference.repository);
  const auto commit = cache.commitOf(reference.revision);
  if (!commit)
    return std::nullopt;
  std::vector<ListedFile> files;
  for (const std::string &path : cache.filesOf(*commit))
    files.push_back({path, std::nullopt});
  auto wanted = wantedFiles(reference, files);
  if (!wanted || !addShards(*wanted, cache, *commit))
    return std::nullopt;
  for (const std::string &path : wanted->weights)
    if (!cache.has(*commit, path))
      return std::nullopt;
  return opened(cache, *commit, *wanted);
}

Result<std::string> fetchModel(const Reference &reference, const Settings &settings,
                               Listener &listener) {
  if (settings.cache.empty())
    return noPlace();
  if (settings.offline || isCommit(reference.revision))
    if (auto local = localModel(reference, settings))
      return *local;
  if (settings.offline)
    return isOffline(reference, settings);
  // If the hub does not answer, the cached model is used instead. If the hub refuses the request, it is not.
  auto orLocal = [&](const Error &error) -> Result<std::string> {
    const bool isNo = error.code == errors::kHubDenies || error.code == errors::kHubLacks;
    auto local = isNo ? std::nullopt : localModel(reference, settings);
    if (!local)
      return error;
    listener.say(error.what + "; using the fetched files of " + reference.text());
    return *local;
  };
  auto client = HubClient::open(settings, listener);
  if (!client)
    return orLocal(client.error());
  auto repository = (*client)->repository(reference);
  if (!repository)
    return orLocal(repository.error());
  return fetchRepository(reference, *repository, **client,
                         RepositoryCache(settings.cache, reference.repository), listener);
}

std::optional<uint64_t> headerBytes(std::string_view firstBytes) {
  constexpr uint64_t kLargest = 100'000'000; // the limit of the format
  uint64_t bytes = 0;
  if (firstBytes.size() < sizeof bytes)
    return std::nullopt;
  for (size_t i = 0; i < sizeof bytes; ++i)
    bytes |= uint64_t(static_cast<unsigned char>(firstBytes[i])) << (8 * i);
  return bytes >= 2 && bytes <= kLargest ? std::optional(bytes) : std::nullopt;
}

Result<Outline> fetchOutline(const Reference &reference, const Settings &settings,
                             Listener &listener) {
  if (settings.cache.empty())
    return noPlace();
  if (settings.offline)
    return isOffline(reference, settings);
  auto client = HubClient::open(settings, listener);
  if (!client)
    return client.error();
  auto repository = (*client)->repository(reference);
  if (!repository)
    return repository.error();
  auto wanted = wantedFiles(reference, repository->files);
  if (!wanted)
    return wanted.error();
  if (wanted->opened.ends_with(".gguf"))
    return Error{ExitCode::File, "E0166",
                 reference.text() +
                     " is a GGUF, which can be examined only after it has been fetched",
                 "", "ingot compile " + reference.text() + " -o E fetches and compiles it"};
  const RepositoryCache cache(settings.cache, reference.repository);
  if (auto texts =
          Fetching(reference, **client, cache, repository->commit, listener).fetch(wanted->texts);
      !texts)
    return texts.error();
  if (auto shards = addShards(*wanted, cache, repository->commit); !shards)
    return shards.error();
  Outline outline{cache.snapshot(repository->commit).string(), {}};
  for (const std::string &path : wanted->weights) {
    auto header = headerOf(reference, repository->commit, path, **client);
    if (!header)
      return header.error();
    outline.weights.push_back(std::move(*header));
  }
  return outline;
}

} // namespace ingot::hub
