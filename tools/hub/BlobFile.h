//===- BlobFile.h - Fetching one file into the cache ----------------------===//
//
//   lock ─▶ blobs/ETAG there already? done
//        ─▶ blobs/ETAG.incomplete, from where it ends ─▶ length and hash ─▶ rename to blobs/ETAG
//
// If the process ends in between (Ctrl-C, kill -9, a full disk), the incomplete file stays and the next run
// resumes at its end. A file under the blob's own name is complete and checked: by sha256 if the etag has
// 64 hexadecimal digits, by the sha1 of a git blob if it has 40, and otherwise by length alone.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/hub/HubCache.h"
#include "tools/hub/HubClient.h"

namespace ingot::hub {

/// Fetches `file` to cache.blob(file.etag). Errors: all errors of HubClient; E0158: a file cannot be written; E0159:
/// the received bytes differ from the size or hash that the hub announced.
Result<void> fetchBlob(HubClient &client, const Reference &reference, const RemoteFile &file,
                       const RepositoryCache &cache, Listener &listener);

/// Returns the number of bytes of `file` still to fetch; 0 if the blob exists.
uint64_t missingBytes(const RemoteFile &file, const RepositoryCache &cache);

} // namespace ingot::hub
