/*===- ServeInside.h - `ingot serve` without sockets, inside a program ---------===*
 *
 * libingot-server.so.0 has the routes, the options and, byte for byte, the answers of `ingot serve`,
 * for a program that has a transport of its own (Python's ingot.ray). Other programs embed libingot
 * (ingot.h), which is smaller and has no HTTP.
 *
 * Every function may be called from any thread. No function throws or exits; wrong options and
 * engines that do not open are errors.
 *===---------------------------------------------------------------------------===*/
#ifndef INGOT_SERVE_INSIDE_H
#define INGOT_SERVE_INSIDE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INGOT_SERVER_API __attribute__((visibility("default")))
#define INGOT_SERVER_ABI_VERSION 2

INGOT_SERVER_API uint32_t ingot_server_abi_version(void);

/** An error. Freed by ingot_server_error_free. */
typedef struct ingot_server_error ingot_server_error;
/** Returns the command line's exit code: 2 options, 3 a file, 4 a device, 70 a bug of ours. */
INGOT_SERVER_API int32_t ingot_server_error_status(const ingot_server_error *error);
/** Returns a part of the error: 0 the code ("E0505"), 1 the message, 2 the reason, 3 the remedy. The
 * text lives as long as the error. */
INGOT_SERVER_API const char *ingot_server_error_part(const ingot_server_error *error, int part);
INGOT_SERVER_API void ingot_server_error_free(ingot_server_error *error);

typedef struct ingot_server ingot_server;

/** Opens the models that `arguments` name. The arguments are those of `ingot serve`, MODEL first,
 * without the options for sockets and keys (--host, --api-key, …). Takes seconds. Returns NULL and
 * sets `*error` on failure. */
INGOT_SERVER_API ingot_server *ingot_server_open(const char *const *arguments, size_t count,
                                                 ingot_server_error **error);
/** Cancels the requests in flight and frees everything. Returns false if a step of an engine does not
 * end; the process should then exit. */
INGOT_SERVER_API int ingot_server_close(ingot_server *server);

/** The kinds of news about a request. */
enum {
  INGOT_ANSWER_WHOLE = 0, /**< status, headers and the whole body; the last news */
  INGOT_ANSWER_HEAD = 1,  /**< status and headers of a stream */
  INGOT_ANSWER_BYTES = 2, /**< a piece of a stream's body: whole events */
  INGOT_ANSWER_END = 3,   /**< the end of a stream; the last news */
  INGOT_ANSWER_BROKEN = 4 /**< the answer broke off; the last news */
};

/** Precedes each piece of news. The headers (lines of "name: value") follow, and then the body. */
typedef struct ingot_server_news {
  uint64_t user; /**< the value given to ingot_server_ask */
  int32_t kind, status;
  uint32_t headers, body; /**< sizes in bytes */
} ingot_server_news;

/** Returns a descriptor that is readable while there is news. The server does not wait for its reader,
 * and the reader wakes once for all the news of an engine's step. The server owns the descriptor and
 * closes it. */
INGOT_SERVER_API int ingot_server_descriptor(ingot_server *server);
/** Takes all news of all requests since the last call, in the order of arrival. Returns its size in
 * bytes; the bytes are valid until the next call. Only one thread may call this at a time. */
INGOT_SERVER_API size_t ingot_server_take(ingot_server *server, const void **news);

/** Sends a request. `target` is the decoded path with the query, if any; `headers` are lines of
 * "name: value", with names in lower case. Everything is copied. Returns the request's number, which is
 * never 0. */
INGOT_SERVER_API uint64_t ingot_server_ask(ingot_server *server, const char *method,
                                           const char *target, const char *headers,
                                           const void *body, size_t size, uint64_t user);
/** Reports that the client has left. No more news of the request arrives, except for news that has not
 * been taken yet. */
INGOT_SERVER_API void ingot_server_cancel(ingot_server *server, uint64_t request);

/** Returns the error of an engine that has failed permanently; NULL if none has. */
INGOT_SERVER_API ingot_server_error *ingot_server_failure(ingot_server *server);

#ifdef __cplusplus
}
#endif
#endif
