/*===- ServeInside.h - `ingot serve` without sockets, inside of a program ------===*
 *
 * libingot-server.so.0: the routes of `ingot serve`, its options and its answers, byte for byte, for
 * a program that has a transport of its own (Python's ingot.ray). libingot (ingot.h) is what others
 * embed: it is smaller and knows no HTTP.
 *
 * Every function may be called from any thread. Nothing throws or exits; options that are wrong and
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

/** Why something failed. Freed by ingot_server_error_free. */
typedef struct ingot_server_error ingot_server_error;
/** An exit code of the command line: 2 options, 3 a file, 4 a device, 70 a bug of ours. */
INGOT_SERVER_API int32_t ingot_server_error_status(const ingot_server_error *error);
/** Its parts: 0 the code ("E0505"), 1 what, 2 why, 3 what to do. Lives as long as the error. */
INGOT_SERVER_API const char *ingot_server_error_part(const ingot_server_error *error, int part);
INGOT_SERVER_API void ingot_server_error_free(ingot_server_error *error);

typedef struct ingot_server ingot_server;

/** Opens the models that `arguments` name: those of `ingot serve`, MODEL first, without what is
 * about sockets and keys (--host, --api-key, …). Takes seconds. NULL: `*error` says why. */
INGOT_SERVER_API ingot_server *ingot_server_open(const char *const *arguments, size_t count,
                                                 ingot_server_error **error);
/** Cancels what is under way and frees all. False: a step of an engine does not end; the process
 * should. */
INGOT_SERVER_API int ingot_server_close(ingot_server *server);

/** What comes of a request. */
enum {
  INGOT_ANSWER_WHOLE = 0, /**< status, headers, all of the body; the last */
  INGOT_ANSWER_HEAD = 1,  /**< status and headers of a stream */
  INGOT_ANSWER_BYTES = 2, /**< a piece of its body: whole events */
  INGOT_ANSWER_END = 3,   /**< the last of a stream */
  INGOT_ANSWER_BROKEN = 4 /**< the last, where an answer broke off */
};

/** Before each piece of news; its headers, lines of "name: value", and then its body follow it. */
typedef struct ingot_server_news {
  uint64_t user; /**< of ingot_server_ask */
  int32_t kind, status;
  uint32_t headers, body; /**< bytes of both */
} ingot_server_news;

/** Readable while there is news: the server waits for nobody, and who reads wakes once for all that
 * a step of an engine has brought. The server's; closed with it. */
INGOT_SERVER_API int ingot_server_descriptor(ingot_server *server);
/** All news of all requests since the last call, one after the other, in the order in which it
 * came. Gives its bytes, which are valid until the next call. From one thread at a time. */
INGOT_SERVER_API size_t ingot_server_take(ingot_server *server, const void **news);

/** Asks. `target` is the path, decoded, with the query if there is one; `headers` are lines of
 * "name: value", names in lower case. All is copied. Gives the request's number, which is not 0. */
INGOT_SERVER_API uint64_t ingot_server_ask(ingot_server *server, const char *method,
                                           const char *target, const char *headers,
                                           const void *body, size_t size, uint64_t user);
/** The client has left: there is no more news of the request but what has not been taken yet. */
INGOT_SERVER_API void ingot_server_cancel(ingot_server *server, uint64_t request);

/** Why an engine has failed, for good; NULL: none has. */
INGOT_SERVER_API ingot_server_error *ingot_server_failure(ingot_server *server);

#ifdef __cplusplus
}
#endif
#endif
