//===- BlobFile.h - One file's way into the cache -------------------------===//
//
//   lock ─▶ blobs/ETAG there already? done
//        ─▶ blobs/ETAG.incomplete, from where it ends ─▶ length and hash ─▶ rename to blobs/ETAG
//
// Whatever ends the process in between (Ctrl-C, kill -9, a full disk) leaves the incomplete file, and the
// next run goes on behind it. Bytes under the blob's own name are whole and checked: sha256 where the etag
// has 64 hexadecimal digits, the sha1 of a git blob where it has 40, else the length alone.
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/hub/HubCache.h"
#include "tools/hub/HubClient.h"

namespace ingot::hub {

/// Brings `file` under cache.blob(file.etag). Errors: those of HubClient, E0158 the disk refuses,
/// E0159 the bytes that came are others than the hub announced.
Result<void> fetchBlob(HubClient &client, const Reference &reference, const RemoteFile &file,
                       const RepositoryCache &cache, Listener &listener);

/// Bytes of `file` that are still to come: 0 if the blob is there.
uint64_t missingBytes(const RemoteFile &file, const RepositoryCache &cache);

} // namespace ingot::hub
