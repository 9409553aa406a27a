/*===- ingot.h - The C interface of libingot --------------------------------===*
 *
 *   ingot_executor *executor;
 *   ingot_error *error = NULL;
 *   if (ingot_executor_open("smollm2.ingot", NULL, &executor, &error)) { … ingot_error_text(error)
 * … }
 *
 *   ingot_request request;
 *   ingot_request_init(&request, sizeof request);
 *   request.prompt = "Once upon a time";
 *   request.prompt_size = strlen(request.prompt);
 *   request.max_tokens = 64;
 *   uint64_t id;
 *   ingot_enqueue(executor, &request, &id, &error);
 *
 *   ingot_outputs *outputs;
 *   ingot_await(executor, id, -1, &outputs, &error);
 *
 * This interface is stable. The C++ interface (ingot.hpp) and the Python package are built on it.
 *
 * VERSIONS. The library's file name is libingot.so.0. A program that runs with one libingot.so.0
 * runs with every later one. Functions are added but never removed or changed. Each has a symbol
 * version, and every addition increments INGOT_ABI_VERSION. Structures grow at their end. The first
 * field of a structure is the size that the caller was compiled with; the _init functions set it. A
 * library that is older than the caller's header refuses a structure whose newer fields are set
 * (E0570). A newer library uses the defaults for fields that the caller's header lacks.
 *
 * THREADS. Every function may be called from any thread at any time, but a handle must not be in
 * use when it is freed. Callbacks run on the library's threads; their types describe which.
 *
 * ERRORS. Functions return INGOT_OK or the kind of failure. An `ingot_error **error` argument may
 * be NULL. On failure it receives an error that the caller must free; on success it is not touched.
 * No function throws an exception, prints or exits.
 *
 * MEMORY. The library reads arguments only during the call, unless their comments say otherwise.
 * The comment of a function that returns memory names the function that frees it. Every free
 * function accepts NULL.
 *===---------------------------------------------------------------------------===*/
#ifndef INGOT_H
#define INGOT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(INGOT_BUILDS_LIBRARY)
#define INGOT_API __attribute__((visibility("default")))
#else
#define INGOT_API
#endif

#define INGOT_ABI_VERSION 6

/** Returns the INGOT_ABI_VERSION of the loaded library. */
INGOT_API uint32_t ingot_abi_version(void);
/** Returns the release of the library, such as "0.1.0": a static string. */
INGOT_API const char *ingot_version(void);

/* ------------------------------------------------------------------ errors */

/** The values are the exit codes of the command-line tool. */
typedef int32_t ingot_status;
enum {
  INGOT_OK = 0,
  INGOT_TIMEOUT = 1, /**< no output in time; not an error, so there is no ingot_error */
  INGOT_USAGE = 2,   /**< an invalid request, structure or limit */
  INGOT_FILE = 3, /**< a file that is unreadable, damaged, unsupported or unfit for this machine */
  INGOT_DEVICE = 4, /**< the device failed, the queue is full (E0560), or it is shut down (E0561) */
  INGOT_INTERNAL = 70 /**< a bug in Ingot */
};

/** An immutable error: a stable code, what failed, why (with numbers), and how to fix it. */
typedef struct ingot_error ingot_error;
INGOT_API ingot_status ingot_error_status(const ingot_error *error);
/**
 * Returns a code such as "E0505". The strings that this and the next functions return live as long as
 * the error. A part that the error lacks is "".
 */
INGOT_API const char *ingot_error_code(const ingot_error *error);
INGOT_API const char *ingot_error_what(const ingot_error *error);
INGOT_API const char *ingot_error_why(const ingot_error *error);
INGOT_API const char *ingot_error_fix(const ingot_error *error);
/**
 * Returns the whole error in up to three lines, each with a newline, as the command line prints it.
 */
INGOT_API const char *ingot_error_text(const ingot_error *error);
INGOT_API void ingot_error_free(ingot_error *error);

/** Frees memory that ingot_encode, ingot_decode, ingot_render_chat or ingot_metrics returned. */
INGOT_API void ingot_free(void *memory);

/* ---------------------------------------------------------------- executor */

/** A loaded engine and the thread that runs it. */
typedef struct ingot_executor ingot_executor;

/** Limits of an engine. Opening the engine fixes them and allocates all memory, or fails. */
typedef struct ingot_config {
  size_t struct_size;
  int64_t context;           /**< positions of a sequence; 0: min(the model's, 4096, what fits) */
  int64_t max_seqs;          /**< sequences in one step; 0: 8 */
  int64_t max_batch_tokens;  /**< tokens in one step; 0: 512, on GPUs up to 2048 */
  int64_t prefill_chunk;     /**< maximum tokens of one prompt in a step; 0: max_batch_tokens */
  uint64_t kv_memory;        /**< bytes of KV pages; 0: enough for max_seqs * context */
  uint64_t swap_memory;      /**< host bytes for KV of preempted requests; 0: recompute it */
  int64_t queue_requests;    /**< requests that may wait, in addition to max_seqs; -1: 256 */
  int64_t queue_tokens;      /**< prompt tokens that may wait; 0: 1,000,000 */
  int32_t threads;           /**< 0: one for each processor that this process may use */
  int32_t no_tokenizer;      /**< 1: token ids only, for a quicker start */
  int32_t no_prefix_cache;   /**< 1: compute every prompt in full */
  int32_t fair;              /**< 1: at equal priority, the least-served share goes first */
  double target_ttft_ms;     /**< target for the time to the first id; 0: none */
  double target_itl_ms;      /**< target for the time between ids during prefill; 0: none */
  const char *device;        /**< "cpu", "cuda", "cuda-emulator"; NULL: CPU if the engine has it */
  const char *isa;           /**< "avx2", "avx512"; NULL: the best that this machine has */
  const char *chat_template; /**< a Jinja template; NULL: the engine's own */

  /* Since version 3. */
  double step_limit; /**< seconds after which a step, hooks included, fails (E0725); 0: none */

  /* Since version 5. */
  int32_t lock_memory; /**< 1: weights, KV and working memory of a CPU are locked in RAM */
} ingot_config;

/** Sets every field to its default. `size` is sizeof(ingot_config). */
INGOT_API void ingot_config_init(ingot_config *config, size_t size);

/**
 * Opens an engine and starts its thread. `config` may be NULL, which means all defaults.
 * Free the executor with ingot_executor_close. Errors: E03xx the file, E0501 a limit, E0502 memory,
 * E0509 memory that cannot be locked, E0570 the structure, E061x the template, E07xx the device.
 *
 * If a step takes longer than `step_limit`, every request under way ends with E0725, and the
 * executor accepts no more requests. No hook is called for a request after its last output. A hook
 * that is running at that moment runs to its end, and the data it uses must live until it returns.
 */
INGOT_API ingot_status ingot_executor_open(const char *path, const ingot_config *config,
                                           ingot_executor **executor, ingot_error **error);
/**
 * Stops accepting requests (E0561), and waits up to `wait_ms` (-1: without limit) for the requests
 * under way. Then cancels the rest and waits until they have ended. Outputs can still be awaited
 * afterwards. Must not be called from a callback (E0574).
 */
INGOT_API ingot_status ingot_executor_shutdown(ingot_executor *executor, int64_t wait_ms,
                                               ingot_error **error);
/**
 * Cancels all requests, waits until they and their callbacks have ended, and frees the executor.
 * Must not be called from a callback.
 */
INGOT_API void ingot_executor_close(ingot_executor *executor);

/* ----------------------------------------------------------------- outputs */

enum {
  INGOT_FINISH_NONE = 0, /**< the answer goes on */
  INGOT_FINISH_STOP = 1, /**< end of text, a stop id or a stop string */
  INGOT_FINISH_LENGTH = 2,
  INGOT_FINISH_CANCELLED = 3,
  INGOT_FINISH_ERROR = 4 /**< `error` holds the reason */
};

typedef struct ingot_logprob {
  int32_t id;
  float logprob; /**< natural logarithm */
} ingot_logprob;

/**
 * The part of an answer that is new since the last output of its choice. With
 * ingot_request.streaming, it has the ids drawn since the last output was fetched. Otherwise it has
 * the whole answer. Pointers live as long as the ingot_outputs that the output came from, or until
 * the callback returns.
 */
typedef struct ingot_output {
  size_t struct_size;
  uint64_t request;
  int32_t choice;        /**< 0 … ingot_request.choices - 1 */
  int32_t finish_reason; /**< INGOT_FINISH_…; not NONE in the choice's last output */
  int32_t is_last;       /**< 1: the last output of the request */
  int32_t reserved;
  const int32_t *ids; /**< new ids, without a stop id */
  size_t id_count;
  const char *text; /**< UTF-8, whole characters, NUL-terminated; "" without a tokenizer */
  size_t text_size;
  const ingot_logprob *logprobs; /**< [id_count][logprobs_per_id]: chosen id, then likeliest */
  size_t logprobs_per_id;        /**< 0: none were requested */
  const char *stop_string;       /**< the stop string that ended the choice, or NULL */
  int64_t prompt_tokens;
  int64_t cached_tokens;    /**< prompt tokens found in the prefix cache; known at the end */
  int64_t new_tokens;       /**< ids of this choice so far, including a stop id */
  double queue_ms;          /**< from enqueue to the request's first step; known at the end */
  double ttft_ms;           /**< from enqueue to the request's first new id; 0 until then */
  double elapsed_ms;        /**< from enqueue to the newest part of this output */
  const ingot_error *error; /**< NULL without INGOT_FINISH_ERROR; owned by the output */
} ingot_output;

/** A list of outputs. Free it with ingot_outputs_free. */
typedef struct ingot_outputs ingot_outputs;
INGOT_API size_t ingot_outputs_count(const ingot_outputs *outputs);
/**
 * Fills `output`, whose struct_size the caller sets. Returns INGOT_USAGE if there is no such index.
 */
INGOT_API ingot_status ingot_outputs_get(const ingot_outputs *outputs, size_t index,
                                         ingot_output *output);
INGOT_API void ingot_outputs_free(ingot_outputs *outputs);

/**
 * Receives the outputs of a request. Callbacks of all requests run one at a time on a thread that
 * does nothing else, so a callback may block. It may call any function except
 * ingot_executor_shutdown and ingot_executor_close.
 */
typedef void (*ingot_output_callback)(void *user, const ingot_output *output);

/* ------------------------------------------------------------------ logits */

typedef struct ingot_logits_row {
  size_t struct_size;
  uint64_t request;
  int32_t choice;
  int32_t reserved;
  const int32_t *ids; /**< new ids so far */
  size_t id_count;
  float *logits; /**< [vocab]; may be edited before the draw; -INFINITY excludes an id */
  size_t vocab;
} ingot_logits_row;

/**
 * Called on the engine's thread before each id is drawn. All requests wait until it returns, so it
 * must not wait for an output. It may cancel requests. Bias, penalties, temperature and filters
 * apply to the logits that it has edited, and log-probabilities are computed from them. Bad words,
 * min_tokens and no_repeat_ngram are applied after it.
 */
typedef void (*ingot_logits_callback)(void *user, const ingot_logits_row *row);

/* ---------------------------------------------------------------- requests */

typedef struct ingot_bias {
  int32_t id;
  float bias; /**< added to the logit */
} ingot_bias;

typedef struct ingot_id_list {
  const int32_t *ids;
  size_t count;
} ingot_id_list;

enum {
  INGOT_GRAMMAR_NONE = 0,
  INGOT_GRAMMAR_JSON_OBJECT = 1, /**< any JSON object; no source */
  INGOT_GRAMMAR_JSON_SCHEMA = 2,
  INGOT_GRAMMAR_REGEX = 3, /**< matches the whole answer */
  INGOT_GRAMMAR_LARK = 4,
  INGOT_GRAMMAR_GBNF = 5,
  INGOT_GRAMMAR_CHOICE = 6 /**< a JSON array of strings; the answer is one of them */
};

/** When a beam search ends, once it has as many finished answers as beams. */
enum {
  INGOT_STOP_WHEN_WORSE = 0, /**< when the best unfinished answer currently scores no better */
  INGOT_STOP_EARLY = 1,      /**< at once */
  INGOT_STOP_NEVER_EARLY = 2 /**< when no unfinished answer can become better any more */
};

/** A request. Its prompt is exactly one of ids, text and messages. */
typedef struct ingot_request {
  size_t struct_size;
  const int32_t *prompt_ids; /**< used unchanged; no BOS or other id is added */
  size_t prompt_id_count;
  const char *prompt; /**< UTF-8; special tokens are recognised; BOS is added if required */
  size_t prompt_size;
  const char *messages;           /**< JSON array of {"role","content"}, for the chat template */
  const char *template_variables; /**< JSON object of other variables ("tools", …), or NULL */

  int64_t max_tokens;      /**< maximum new ids; -1: as many as the context allows */
  int64_t min_tokens;      /**< no stop id is drawn before this many new ids; default 0 */
  const int32_t *stop_ids; /**< in addition to the engine's own */
  size_t stop_id_count;
  const char *const *stop_strings; /**< never shown in the text, not even in part */
  size_t stop_string_count;
  const ingot_id_list *bad_words; /**< id sequences that the answer must not contain */
  size_t bad_word_count;
  int32_t ignore_eos;   /**< 1: the engine's own stop ids do not end the answer */
  int32_t show_special; /**< 1: special tokens appear in the text */

  float temperature; /**< 0: greedy; this and the next five: NaN is the engine's default */
  float top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty;
  float typical_p;         /**< 1: off; NaN means 1 */
  int32_t top_k;           /**< 0: all; -1: the engine's default */
  int32_t no_repeat_ngram; /**< no n-gram of this length occurs twice, prompt included; 0: off */
  uint64_t seed;           /**< the same seed draws the same ids; default 0 */
  const ingot_bias *logit_bias;
  size_t logit_bias_count;

  int32_t choices;      /**< number of independent answers; default 1 */
  int32_t logprobs;     /**< -1: none; 0: the chosen id's; k <= 20: also the k likeliest ids' */
  int32_t streaming;    /**< 1: outputs as ids are drawn; 0: one output per choice, at its end */
  int32_t grammar_kind; /**< INGOT_GRAMMAR_…: the kind of grammar that the answer must match */
  const char *grammar;  /**< source of the grammar, or NULL */

  int32_t priority;        /**< a lower number runs first and may preempt higher ones; default 0 */
  int32_t no_prefix_cache; /**< 1: neither reads the prefix cache nor adds pages to it */
  int64_t share;           /**< the share that the request is charged to (ingot_config.fair) */
  uint64_t cache_salt;     /**< only finds cached pages of requests with the same salt */

  ingot_output_callback on_output; /**< gets the outputs, which then cannot be awaited; or NULL */
  ingot_logits_callback on_logits; /**< called before each draw; or NULL */
  void *user; /**< argument of both; must live until the output with is_last has been delivered */

  /* Since version 2. A search does not sample. Of the sampling fields, only logit_bias affects it.
     on_logits gets the row of each sequence of a search, with its index in the search as `choice`. */
  int32_t beam_width;   /**< 1 to 8, and at least `choices`: beam search for the answers that are
                           likeliest as a whole; all come at the end, best first; 0: none */
  int32_t stop_beams;   /**< INGOT_STOP_…; default 0 */
  float length_penalty; /**< answers rank by sum of logprobs / length^this; -8 to 8, default 1 */
  float penalty_alpha;  /**< above 0, at most 1: contrastive search among the top_k (2 to 8; -1: 4)
                             likeliest ids, with one choice; 0: none */

  /* Since version 4. */
  int32_t trust_content; /**< 0: control tokens in `messages` and `template_variables` are text,
                              so content cannot open or close a turn; 1: they are tokens */
  int32_t reserved;

  /* Since version 6. */
  int32_t penalty_window; /**< penalties consider this many of the last ids; -1: all */
  int32_t reserved2;
} ingot_request;

/** Sets every field to its default. `size` is sizeof(ingot_request). */
INGOT_API void ingot_request_init(ingot_request *request, size_t size);

/**
 * Reads a request and queues it. The chat template and the tokenizer run on the caller's thread.
 * `id` is never 0 and never repeats. Callbacks may run before this function returns. Errors: E0503 to
 * E0506 the prompt, E0510 sampling, E0520 no tokenizer, E0521 no chat template, E0522 and E0530 to
 * E0536 a search, E0560 the queue is full, E0561 shut down, E0570 the structure, E0572 the prompt is
 * given twice, E0575 bad words, E0576 grammar_kind, E0577 choices, E061x the template, E062x the
 * grammar, E07xx the device.
 */
INGOT_API ingot_status ingot_enqueue(ingot_executor *executor, const ingot_request *request,
                                     uint64_t *id, ingot_error **error);

#define INGOT_ANY ((uint64_t)0)
/**
 * Waits until `request` (INGOT_ANY: any request without on_output) has outputs, and returns all of
 * them. Free them with ingot_outputs_free. `timeout_ms` 0 does not wait, -1 waits without limit. If
 * the time runs out, the status is INGOT_TIMEOUT. A request is forgotten once its last output has
 * been taken. Errors: E0571 a forgotten or unknown request; E0573 a request whose outputs go to its
 * callback; E0561 (INGOT_ANY only) the executor is shut down and no request is under way.
 */
INGOT_API ingot_status ingot_await(ingot_executor *executor, uint64_t request, int64_t timeout_ms,
                                   ingot_outputs **outputs, ingot_error **error);
/** Returns the number of outputs that ingot_await would return without waiting. */
INGOT_API size_t ingot_ready(ingot_executor *executor, uint64_t request);
/**
 * Ends a request within one step. Its choices finish with INGOT_FINISH_CANCELLED. Does nothing if
 * the request has ended or is unknown.
 */
INGOT_API void ingot_cancel(ingot_executor *executor, uint64_t request);

/* ------------------------------------------------------ statistics and model */

/** Statistics of an engine since it was opened. Request counts are counts of choices. */
typedef struct ingot_stats {
  size_t struct_size;
  int64_t running, waiting;
  int64_t kv_pages_used, kv_pages;
  uint64_t steps;
  uint64_t prompt_tokens, new_tokens;
  uint64_t finished_stop, finished_length, cancelled, failed, refused;
  uint64_t preemptions;
  uint64_t prefix_queries, prefix_hits; /**< tokens */
  double step_seconds;                  /**< time that the engine was busy */
  double ttft_p50_ms, ttft_p99_ms;      /**< from enqueue to the first new id */
  double itl_p50_ms, itl_p99_ms;        /**< between new ids */
} ingot_stats;
/** Fills `stats`, whose struct_size the caller sets. */
INGOT_API ingot_status ingot_stats_get(ingot_executor *executor, ingot_stats *stats);
/**
 * Returns these and more metrics in Prometheus text format, NUL-terminated. Free with ingot_free.
 */
INGOT_API ingot_status ingot_metrics(ingot_executor *executor, char **text, size_t *size,
                                     ingot_error **error);

/** Properties of an open engine. Strings live as long as the executor. */
typedef struct ingot_model {
  size_t struct_size;
  const char *name;
  const char *fingerprint; /**< hash of engine and code; equal values mean equal answers */
  const char *target;      /**< "cpu:avx512": the code that runs */
  const char *device;      /**< "2 threads", "NVIDIA H200" */
  const char *remark;      /**< a note on the choice of target and device, or "" */
  int64_t vocab;           /**< logits in a row */
  int64_t context, max_seqs, max_batch_tokens; /**< limits in force */
  int32_t threads;
  int32_t has_tokenizer, has_chat_template;
  int32_t bos; /**< -1: none */
  const int32_t *eos;
  size_t eos_count;
  uint64_t mapped_bytes;    /**< mapped part of the engine file */
  uint64_t allocated_bytes; /**< KV pages and working memory */
  uint64_t kv_bytes;        /**< KV pages only, part of allocated_bytes */
  double load_ms;
} ingot_model;
/** Fills `model`, whose struct_size the caller sets. */
INGOT_API ingot_status ingot_model_get(ingot_executor *executor, ingot_model *model);

/* -------------------------------------------------------------------- text */

/**
 * Encodes a text. Free the ids with ingot_free. With `plain_prompt` 1, it is encoded like
 * ingot_request.prompt, with the BOS that the engine adds to prompts; with 0, only the text is.
 * Errors: E0520, E0603, E0604.
 */
INGOT_API ingot_status ingot_encode(ingot_executor *executor, const char *text, size_t size,
                                    int32_t plain_prompt, int32_t **ids, size_t *count,
                                    ingot_error **error);
/** Decodes ids to NUL-terminated text. Free it with ingot_free. Errors: E0520. */
INGOT_API ingot_status ingot_decode(ingot_executor *executor, const int32_t *ids, size_t count,
                                    int32_t show_special, char **text, size_t *size,
                                    ingot_error **error);
/**
 * Returns the bytes of one id, not NUL-terminated. They live as long as the executor. Errors:
 * E0520, E0504.
 */
INGOT_API ingot_status ingot_token_bytes(ingot_executor *executor, int32_t id, const char **bytes,
                                         size_t *size, ingot_error **error);
/** Returns the id of a token with this spelling ("<|im_end|>"), or -1. */
INGOT_API int32_t ingot_token_id(ingot_executor *executor, const char *token, size_t size);
/**
 * Renders messages to the NUL-terminated text of a prompt. Free it with ingot_free. `messages` and
 * `variables` are as in ingot_request. With `add_generation_prompt` 1 the text ends where the
 * assistant's turn begins. The text is for inspection: if it were passed as ingot_request.prompt,
 * control tokens in message contents would become tokens. Errors: E0520, E0521, E061x.
 */
INGOT_API ingot_status ingot_render_chat(ingot_executor *executor, const char *messages,
                                         const char *variables, int32_t add_generation_prompt,
                                         char **text, size_t *size, ingot_error **error);

#ifdef __cplusplus
}
#endif

#endif /* INGOT_H */
