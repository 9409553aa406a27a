/*===- ingot.h - The C interface of libingot: engines inside other programs -===*
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
 * This is the interface that stays: C++ (ingot.hpp) and Python are written on it.
 *
 * VERSIONS. The library's file name is libingot.so.0; a program that runs with one libingot.so.0
 * runs with every later one. Functions are only ever added, each with its own symbol version, and
 * INGOT_ABI_VERSION grows by one when that happens. Structures grow at their end: the first field
 * of each is the size that the caller was compiled with, which the _init functions set. A library
 * that is older than the caller's header refuses a structure whose newer fields are set (E0570),
 * and a newer one takes fields that the caller does not have for their defaults.
 *
 * THREADS. Every function may be called from any thread at any time, except that a handle must not
 * be in use when it is freed. Callbacks are called on the library's threads, as said there.
 *
 * ERRORS. Functions return INGOT_OK or what kind of failure it was. Where there is an
 * `ingot_error **error`, it may be NULL; on failure it receives an error that the caller frees, and
 * on success it is not touched. Nothing throws, prints or exits.
 *
 * MEMORY. What is passed in is read during the call alone, unless said otherwise. What a function
 * gives out is freed by the function that its comment names. Free functions take NULL.
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

#define INGOT_ABI_VERSION 5

/** INGOT_ABI_VERSION of the library that is loaded. */
INGOT_API uint32_t ingot_abi_version(void);
/** Release of the library: "0.1.0". Static. */
INGOT_API const char *ingot_version(void);

/* ------------------------------------------------------------------ errors */

/** The numbers are the exit codes of the command line. */
typedef int32_t ingot_status;
enum {
  INGOT_OK = 0,
  INGOT_TIMEOUT = 1,  /**< nothing came in time; not an error, no ingot_error is made */
  INGOT_USAGE = 2,    /**< a request, a structure or a limit that cannot be */
  INGOT_FILE = 3,     /**< unreadable, damaged, unsupported, or it does not fit this machine */
  INGOT_DEVICE = 4,   /**< the device failed, or there is no room now (E0560), or no more (E0561) */
  INGOT_INTERNAL = 70 /**< a bug of ours */
};

/** What went wrong: a stable code, what, why with numbers, and what to do. Never changes. */
typedef struct ingot_error ingot_error;
INGOT_API ingot_status ingot_error_status(const ingot_error *error);
/** "E0505". This and the next live as long as the error; what there is nothing to say of is "". */
INGOT_API const char *ingot_error_code(const ingot_error *error);
INGOT_API const char *ingot_error_what(const ingot_error *error);
INGOT_API const char *ingot_error_why(const ingot_error *error);
INGOT_API const char *ingot_error_fix(const ingot_error *error);
/** All of it in up to three lines, as the command line prints it, with a newline at the end. */
INGOT_API const char *ingot_error_text(const ingot_error *error);
INGOT_API void ingot_error_free(ingot_error *error);

/** Frees what ingot_encode, ingot_decode, ingot_render_chat and ingot_metrics gave out. */
INGOT_API void ingot_free(void *memory);

/* ---------------------------------------------------------------- executor */

/** One engine, loaded, with the thread that runs it. */
typedef struct ingot_executor ingot_executor;

/** Limits are fixed when an engine is opened: all memory is taken, or refused, then. */
typedef struct ingot_config {
  size_t struct_size;
  int64_t context;           /**< positions of a sequence; 0: the model's, at most 4096, that fit */
  int64_t max_seqs;          /**< sequences in one step; 0: 8 */
  int64_t max_batch_tokens;  /**< tokens in one step; 0: 512, on GPUs up to 2048 */
  int64_t prefill_chunk;     /**< most tokens of one prompt in one step; 0: max_batch_tokens */
  uint64_t kv_memory;        /**< bytes of KV pages; 0: as many as max_seqs * context take */
  uint64_t swap_memory;      /**< host bytes for KV of requests that were put aside; 0: recompute */
  int64_t queue_requests;    /**< that may wait beyond max_seqs; -1: 256 */
  int64_t queue_tokens;      /**< prompt tokens that may wait; 0: 1,000,000 */
  int32_t threads;           /**< 0: every processor that this process may use */
  int32_t no_tokenizer;      /**< 1: ids alone, for a quicker start */
  int32_t no_prefix_cache;   /**< 1: compute every prompt whole */
  int32_t fair;              /**< 1: of one priority, the share that was served least goes first */
  double target_ttft_ms;     /**< first ids that are wanted within this time; 0: none */
  double target_itl_ms;      /**< time between two ids to keep to while prompts come; 0: none */
  const char *device;        /**< "cpu", "cuda", "cuda-emulator"; NULL: what the engine is for */
  const char *isa;           /**< "avx2", "avx512"; NULL: the best here */
  const char *chat_template; /**< a Jinja template instead of the engine's; NULL: the engine's */

  /* Since version 3. */
  double step_limit; /**< seconds after which a step, hooks included, has failed (E0725); 0: none */

  /* Since version 5. */
  int32_t lock_memory; /**< 1: weights, KV and working memory of a CPU are never paged out */
} ingot_config;

/** Sets every field to its default. `size` is sizeof(ingot_config). */
INGOT_API void ingot_config_init(ingot_config *config, size_t size);

/**
 * Opens an engine and starts its thread. `config` may be NULL: all defaults.
 * The executor is freed by ingot_executor_close. Errors: E03xx the file, E0501 a limit, E0502
 * memory, E0509 none that may be locked, E0570 the structure, E061x the template, E07xx the device.
 * Where a step takes longer than `step_limit`, all that is under way ends with E0725, and the
 * executor takes nothing from then on. No hook is called for a request after its last output; one
 * that is running then goes on to its end, and what it uses must live until it returns.
 */
INGOT_API ingot_status ingot_executor_open(const char *path, const ingot_config *config,
                                           ingot_executor **executor, ingot_error **error);
/**
 * Takes no more requests (E0561), waits up to `wait_ms` (-1: as long as it takes) for those under
 * way, then cancels the rest and waits for their ends. Outputs can still be awaited. Not from a
 * callback (E0574).
 */
INGOT_API ingot_status ingot_executor_shutdown(ingot_executor *executor, int64_t wait_ms,
                                               ingot_error **error);
/** Cancels what is under way, waits for it (callbacks included) and frees all. Not from a callback.
 */
INGOT_API void ingot_executor_close(ingot_executor *executor);

/* ----------------------------------------------------------------- outputs */

enum {
  INGOT_FINISH_NONE = 0, /**< it goes on */
  INGOT_FINISH_STOP = 1, /**< end of text, a stop id or a stop string */
  INGOT_FINISH_LENGTH = 2,
  INGOT_FINISH_CANCELLED = 3,
  INGOT_FINISH_ERROR = 4 /**< `error` says why */
};

typedef struct ingot_logprob {
  int32_t id;
  float logprob; /**< natural */
} ingot_logprob;

/**
 * What a request has answered since its last output: everything at once, or with
 * ingot_request.streaming what came since one looked. Pointers live as long as the ingot_outputs it
 * came from, or during the callback.
 */
typedef struct ingot_output {
  size_t struct_size;
  uint64_t request;
  int32_t choice;        /**< 0 … ingot_request.choices - 1 */
  int32_t finish_reason; /**< INGOT_FINISH_…; not NONE: the last output of this choice */
  int32_t is_last;       /**< 1: the last output of the request */
  int32_t reserved;
  const int32_t *ids; /**< new ones; a stop id is not among them */
  size_t id_count;
  const char *text; /**< UTF-8, whole characters, 0 after its end; "" without a tokenizer */
  size_t text_size;
  const ingot_logprob
      *logprobs;           /**< [id_count][logprobs_per_id]: the chosen id, then the likeliest */
  size_t logprobs_per_id;  /**< 0: none were asked for */
  const char *stop_string; /**< that ended it, or NULL */
  int64_t prompt_tokens;
  int64_t cached_tokens;    /**< of the prompt, found in the prefix cache; known at the end */
  int64_t new_tokens;       /**< of this choice so far, a stop id among them */
  double queue_ms;          /**< from enqueue to its first step; known at the end */
  double ttft_ms;           /**< from enqueue to the first new id of the request; 0 before */
  double elapsed_ms;        /**< from enqueue to the newest part of this output */
  const ingot_error *error; /**< with INGOT_FINISH_ERROR; owned by the output */
} ingot_output;

/** A list of outputs, freed by ingot_outputs_free. */
typedef struct ingot_outputs ingot_outputs;
INGOT_API size_t ingot_outputs_count(const ingot_outputs *outputs);
/** Fills `output`, whose struct_size the caller has set. INGOT_USAGE: no such index. */
INGOT_API ingot_status ingot_outputs_get(const ingot_outputs *outputs, size_t index,
                                         ingot_output *output);
INGOT_API void ingot_outputs_free(ingot_outputs *outputs);

/**
 * Called with each output, one at a time over all requests, on a thread that does nothing else: it
 * may take its time and call any function but ingot_executor_shutdown and ingot_executor_close.
 */
typedef void (*ingot_output_callback)(void *user, const ingot_output *output);

/* ------------------------------------------------------------------ logits */

typedef struct ingot_logits_row {
  size_t struct_size;
  uint64_t request;
  int32_t choice;
  int32_t reserved;
  const int32_t *ids; /**< new ones so far */
  size_t id_count;
  float *logits; /**< [vocab]; what is left there is drawn from; -INFINITY rules an id out */
  size_t vocab;
} ingot_logits_row;

/**
 * Called before each id is drawn, on the engine's thread: every request waits for it, and it must
 * not wait for an output. It may cancel. Bias, penalties, temperature and filters apply to what it
 * leaves, log-probabilities are of it. Bad words and min_tokens are applied after it.
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
  INGOT_GRAMMAR_REGEX = 3, /**< of the whole answer */
  INGOT_GRAMMAR_LARK = 4,
  INGOT_GRAMMAR_GBNF = 5,
  INGOT_GRAMMAR_CHOICE = 6 /**< a JSON array of strings, one of which is the answer */
};

/** When a beam search ends that has as many ended answers as beams. */
enum {
  INGOT_STOP_WHEN_WORSE = 0, /**< and the best that goes on is worse, as it stands */
  INGOT_STOP_EARLY = 1,
  INGOT_STOP_NEVER_EARLY = 2 /**< and nothing that goes on can become better */
};

/** The prompt is exactly one of: ids, text, messages. */
typedef struct ingot_request {
  size_t struct_size;
  const int32_t *prompt_ids; /**< used as they are: nothing is added */
  size_t prompt_id_count;
  const char
      *prompt; /**< UTF-8; special tokens are recognised, BOS is added where the engine says */
  size_t prompt_size;
  const char *messages;           /**< JSON array of {"role","content"}, for the chat template */
  const char *template_variables; /**< JSON object of more variables ("tools", …), or NULL */

  int64_t max_tokens;      /**< new ids at most; -1: as many as the context leaves */
  int64_t min_tokens;      /**< new ids before which no stop id is drawn; 0 */
  const int32_t *stop_ids; /**< besides the engine's own */
  size_t stop_id_count;
  const char *const *stop_strings; /**< never shown, not even in part */
  size_t stop_string_count;
  const ingot_id_list *bad_words; /**< sequences of ids that the answer must not contain */
  size_t bad_word_count;
  int32_t ignore_eos;   /**< 1: the engine's own stop ids do not end the answer */
  int32_t show_special; /**< 1: special tokens appear in the text */

  float temperature; /**< 0: greedy. This and the next five: NaN is the engine's default */
  float top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty;
  float typical_p;         /**< 1: off; NaN is 1 */
  int32_t top_k;           /**< 0: all; -1: the engine's default */
  int32_t no_repeat_ngram; /**< no sequence of so many ids comes twice, prompt included; 0: off */
  uint64_t seed;           /**< the same seed draws the same ids; 0 */
  const ingot_bias *logit_bias;
  size_t logit_bias_count;

  int32_t choices;      /**< independent answers; 1 */
  int32_t logprobs;     /**< -1: none; 0: of the chosen id; k <= 20: and of the k likeliest */
  int32_t streaming;    /**< 1: outputs as ids are drawn; 0: one output per choice, at its end */
  int32_t grammar_kind; /**< INGOT_GRAMMAR_…: what the answer must match */
  const char *grammar;  /**< its source, or NULL */

  int32_t priority;        /**< lower goes first, and may take the place of a higher one; 0 */
  int32_t no_prefix_cache; /**< 1: neither uses the prefix cache nor leaves pages there */
  int64_t share;           /**< whose share it counts to (ingot_config.fair); 0 */
  uint64_t cache_salt;     /**< meets only cached pages of requests with the same; 0 */

  ingot_output_callback on_output; /**< outputs go here and cannot be awaited; or NULL */
  ingot_logits_callback on_logits; /**< or NULL */
  void *user; /**< for both; must live until the output with is_last was given */

  /* Since version 2. A search draws nothing: of what shapes a draw, logit_bias alone has an effect
     in it. A hook sees the row of each of its sequences, by its place as `choice`. */
  int32_t beam_width; /**< 1 to 8, choices or more: the likeliest answers as a whole, which all come
                           at the end, best first; 0: no beam search */
  int32_t stop_beams; /**< INGOT_STOP_…; 0 */
  float length_penalty; /**< answers are compared by sum of logprobs / length^this, -8 to 8; 1 */
  float penalty_alpha;  /**< above 0, to 1: contrastive search among the top_k (2 to 8; -1: 4)
                             likeliest ids, with one choice; 0: none */

  /* Since version 4. */
  int32_t trust_content; /**< 0: control tokens that `messages` and `template_variables` hold are
                              text, so that no content opens or ends a turn; 1: they are tokens */
  int32_t reserved;
} ingot_request;

/** Sets every field to its default. `size` is sizeof(ingot_request). */
INGOT_API void ingot_request_init(ingot_request *request, size_t size);

/**
 * Reads a request (templates and tokenizing happen here, on the caller's thread) and queues it.
 * `id` is never 0 and never given twice. Callbacks may come before this returns. Errors: E0503 to
 * E0506 the prompt, E0510 sampling, E0522 and E0530 to E0534 a search, E0520 no tokenizer, E0521 no
 * chat template, E0560 no room now, E0561 shut down, E0570 the structure, E0572 the prompt is given
 * twice, E0575 bad words, E061x the template, E062x the grammar, E07xx the device.
 */
INGOT_API ingot_status ingot_enqueue(ingot_executor *executor, const ingot_request *request,
                                     uint64_t *id, ingot_error **error);

#define INGOT_ANY ((uint64_t)0)
/**
 * Waits until `request` (INGOT_ANY: any without on_output) has outputs, and gives all that it has.
 * `timeout_ms` 0 only looks, -1 waits for ever. A request whose last output was taken is forgotten:
 * E0571, as for an id that never was. E0573: its outputs go to its callback. E0561: shut down, and
 * nothing is under way.
 */
INGOT_API ingot_status ingot_await(ingot_executor *executor, uint64_t request, int64_t timeout_ms,
                                   ingot_outputs **outputs, ingot_error **error);
/** Outputs that ingot_await would give at once. */
INGOT_API size_t ingot_ready(ingot_executor *executor, uint64_t request);
/**
 * Ends a request within one step; its choices end with INGOT_FINISH_CANCELLED. What has ended or
 * was never there is left alone.
 */
INGOT_API void ingot_cancel(ingot_executor *executor, uint64_t request);

/* ------------------------------------------------------------- what is there */

/** Of the engine since it was opened. Counts of requests count choices. */
typedef struct ingot_stats {
  size_t struct_size;
  int64_t running, waiting;
  int64_t kv_pages_used, kv_pages;
  uint64_t steps;
  uint64_t prompt_tokens, new_tokens;
  uint64_t finished_stop, finished_length, cancelled, failed, refused;
  uint64_t preemptions;
  uint64_t prefix_queries, prefix_hits; /**< tokens */
  double step_seconds;                  /**< the engine was busy */
  double ttft_p50_ms, ttft_p99_ms;      /**< from enqueue to the first new id */
  double itl_p50_ms, itl_p99_ms;        /**< between new ids */
} ingot_stats;
/** Fills `stats`, whose struct_size the caller has set. */
INGOT_API ingot_status ingot_stats_get(ingot_executor *executor, ingot_stats *stats);
/** The same and more in Prometheus' text format, 0 after its end. Freed by ingot_free. */
INGOT_API ingot_status ingot_metrics(ingot_executor *executor, char **text, size_t *size,
                                     ingot_error **error);

/** Of an open engine. Strings live as long as the executor. */
typedef struct ingot_model {
  size_t struct_size;
  const char *name;
  const char *fingerprint;                     /**< of engine and code: equal ones answer equally */
  const char *target;                          /**< "cpu:avx512": the code that runs */
  const char *device;                          /**< "2 threads", "NVIDIA H200" */
  const char *remark;                          /**< what one should know of that choice, or "" */
  int64_t vocab;                               /**< logits of a row */
  int64_t context, max_seqs, max_batch_tokens; /**< in force */
  int32_t threads;
  int32_t has_tokenizer, has_chat_template;
  int32_t bos; /**< -1: none */
  const int32_t *eos;
  size_t eos_count;
  uint64_t mapped_bytes;    /**< the engine file */
  uint64_t allocated_bytes; /**< KV pages and working memory */
  uint64_t kv_bytes;        /**< of them */
  double load_ms;
} ingot_model;
/** Fills `model`, whose struct_size the caller has set. */
INGOT_API ingot_status ingot_model_get(ingot_executor *executor, ingot_model *model);

/* -------------------------------------------------------------------- text */

/**
 * The ids of a text, freed by ingot_free. `plain_prompt` 1: as ingot_request.prompt, with the BOS
 * that the engine asks for; 0: of the text alone. Errors: E0520, E0603.
 */
INGOT_API ingot_status ingot_encode(ingot_executor *executor, const char *text, size_t size,
                                    int32_t plain_prompt, int32_t **ids, size_t *count,
                                    ingot_error **error);
/** The text of ids, 0 after its end, freed by ingot_free. Errors: E0520. */
INGOT_API ingot_status ingot_decode(ingot_executor *executor, const int32_t *ids, size_t count,
                                    int32_t show_special, char **text, size_t *size,
                                    ingot_error **error);
/** The bytes of one id, not ended by 0; they live as long as the executor. E0520, E0504. */
INGOT_API ingot_status ingot_token_bytes(ingot_executor *executor, int32_t id, const char **bytes,
                                         size_t *size, ingot_error **error);
/** The id that the vocabulary has under that spelling ("<|im_end|>"), or -1. */
INGOT_API int32_t ingot_token_id(ingot_executor *executor, const char *token, size_t size);
/**
 * The prompt that messages become, 0 after its end, freed by ingot_free. `messages` and `variables`
 * as in ingot_request; `add_generation_prompt` 1: ends where the assistant begins. To be looked at:
 * as ingot_request.prompt, control tokens of contents would be tokens. Errors: E0520, E0521, E061x.
 */
INGOT_API ingot_status ingot_render_chat(ingot_executor *executor, const char *messages,
                                         const char *variables, int32_t add_generation_prompt,
                                         char **text, size_t *size, ingot_error **error);

#ifdef __cplusplus
}
#endif

#endif /* INGOT_H */
