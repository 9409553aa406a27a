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
#define INGOT_SERVER_ABI_VERSION 1

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
 * should. Not from a callback. */
INGOT_SERVER_API int ingot_server_close(ingot_server *server);

/** What comes of a request. */
enum {
  INGOT_ANSWER_WHOLE = 0, /**< status, headers, all of the body; the last */
  INGOT_ANSWER_HEAD = 1,  /**< status and headers of a stream */
  INGOT_ANSWER_BYTES = 2, /**< a piece of its body: whole events */
  INGOT_ANSWER_END = 3,   /**< the last of a stream */
  INGOT_ANSWER_BROKEN = 4 /**< the last, where an answer broke off */
};

/** Called on threads of the server's, one after the other for a request; `headers` are lines of
 * "name: value". Pointers are valid during the call. It must return soon. */
typedef void (*ingot_server_answer)(uint64_t user, int32_t kind, int32_t status,
                                    const char *headers, const void *data, size_t size);

/** Asks. `target` is the path, decoded, with the query if there is one; `headers` are lines of
 * "name: value", names in lower case. All is copied. Gives the request's number, which is not 0. */
INGOT_SERVER_API uint64_t ingot_server_ask(ingot_server *server, const char *method,
                                           const char *target, const char *headers,
                                           const void *body, size_t size,
                                           ingot_server_answer answer, uint64_t user);
/** The client has left: nothing more is called for the request once this returns. */
INGOT_SERVER_API void ingot_server_cancel(ingot_server *server, uint64_t request);

/** Why an engine has failed, for good; NULL: none has. */
INGOT_SERVER_API ingot_server_error *ingot_server_failure(ingot_server *server);

#ifdef __cplusplus
}
#endif
#endif
