/*===- AbiTest.c - ingot.h used from a C program ---------------------------------===*
 * abi-test ENGINE: exits 0 if every check passes. Structures shorter or longer than the library's
 * stand for programs that were built against an older or a newer header.
 *===-------------------------------------------------------------------------------===*/
#include "ingot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                \
  do {                                                                                             \
    if (!(what)) {                                                                                 \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                                   \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static int is(const ingot_error *error, const char *code) {
  return strcmp(ingot_error_code(error), code) == 0;
}

/* Checks that the error has the given code, and frees it. */
static void expect(ingot_error *error, const char *code) {
  if (!is(error, code))
    fprintf(stderr, "expected %s: %s", code, ingot_error_text(error));
  CHECK(is(error, code));
  ingot_error_free(error);
}

static void errors(const char *engine) {
  ingot_executor *executor = NULL;
  ingot_error *error = NULL;
  CHECK(ingot_executor_open("none.ingot", NULL, &executor, &error) == INGOT_FILE);
  CHECK(executor == NULL && error != NULL);
  CHECK(ingot_error_status(error) == INGOT_FILE);
  CHECK(strlen(ingot_error_code(error)) == 5 && strlen(ingot_error_what(error)) > 0);
  CHECK(strncmp(ingot_error_text(error), "error[E0", 8) == 0);
  ingot_error_free(error);
  CHECK(ingot_executor_open("none.ingot", NULL, &executor, NULL) ==
        INGOT_FILE); /* no error pointer */

  /* None of these files exists. */
  CHECK(ingot_error_status(NULL) == INGOT_OK && strcmp(ingot_error_text(NULL), "") == 0);
  CHECK(ingot_outputs_count(NULL) == 0);
  ingot_error_free(NULL);
  ingot_outputs_free(NULL);
  ingot_executor_close(NULL);
  ingot_free(NULL);

  ingot_config unset;
  memset(&unset, 0, sizeof unset);
  error = NULL;
  CHECK(ingot_executor_open(engine, &unset, &executor, &error) == INGOT_USAGE);
  expect(error, "E0570");
}

static void generate(ingot_executor *executor) {
  ingot_error *error = NULL;
  ingot_request request;
  ingot_request_init(&request, sizeof request);
  CHECK(request.struct_size == sizeof request && request.max_tokens == -1 && request.choices == 1);
  CHECK(isnan(request.temperature) && request.logprobs == -1);
  request.prompt = "hello";
  request.prompt_size = 5;
  request.max_tokens = 6;
  request.ignore_eos = 1;
  uint64_t id = 0;
  CHECK(ingot_enqueue(executor, &request, &id, &error) == INGOT_OK && id != 0);
  ingot_outputs *outputs = NULL;
  CHECK(ingot_await(executor, id, -1, &outputs, &error) == INGOT_OK);
  CHECK(ingot_outputs_count(outputs) == 1);
  ingot_output output;
  output.struct_size = sizeof output;
  CHECK(ingot_outputs_get(outputs, 1, &output) == INGOT_USAGE);
  CHECK(ingot_outputs_get(outputs, 0, &output) == INGOT_OK);
  CHECK(output.struct_size == sizeof output && output.request == id && output.is_last);
  CHECK(output.finish_reason == INGOT_FINISH_LENGTH && output.id_count == 6);
  CHECK(output.text_size == strlen(output.text) && output.error == NULL);
  CHECK(output.logprobs_per_id == 0 && output.stop_string == NULL);

  char *text = NULL;
  size_t size = 0;
  CHECK(ingot_decode(executor, output.ids, output.id_count, 0, &text, &size, &error) == INGOT_OK);
  CHECK(size == output.text_size && memcmp(text, output.text, size) == 0 && text[size] == 0);
  ingot_free(text);
  ingot_outputs_free(outputs);

  CHECK(ingot_await(executor, id, 0, &outputs, &error) == INGOT_USAGE);
  expect(error, "E0571");
  error = NULL;
  CHECK(ingot_await(executor, INGOT_ANY, 0, &outputs, &error) == INGOT_TIMEOUT && error == NULL);
}

/* A caller built against an older header has only the first fields; a newer one has more. */
static void growth(const char *engine, ingot_executor *executor) {
  struct {
    ingot_config config;
    uint64_t newer[2];
  } config;
  memset(&config, 0xff, sizeof config);
  ingot_config_init(&config.config, sizeof config);
  CHECK(config.config.struct_size == sizeof config && config.newer[1] == 0);
  CHECK(config.config.queue_requests == -1 && config.config.max_seqs == 0);
  ingot_executor *other = NULL;
  ingot_error *error = NULL;
  CHECK(ingot_executor_open(engine, &config.config, &other, &error) == INGOT_OK);
  ingot_executor_close(other);
  /* A caller compiled against version 1, whose ingot_config ends just before step_limit. */
  ingot_config first;
  memset(&first, 0xff, sizeof first);
  ingot_config_init(&first, offsetof(ingot_config, step_limit));
  CHECK(first.struct_size == offsetof(ingot_config, step_limit));
  CHECK(ingot_executor_open(engine, &first, &other, &error) == INGOT_OK);
  ingot_executor_close(other);
  config.newer[1] = 1; /* an option that this library does not know */
  CHECK(ingot_executor_open(engine, &config.config, &other, &error) == INGOT_USAGE);
  expect(error, "E0570");

  struct {
    ingot_stats stats;
    uint64_t newer;
  } longer;
  memset(&longer, 0xff, sizeof longer);
  longer.stats.struct_size = sizeof longer;
  CHECK(ingot_stats_get(executor, &longer.stats) == INGOT_OK);
  CHECK(longer.stats.struct_size == sizeof longer && longer.newer == 0);

  /* A caller compiled against version 1, whose ingot_request ends just before beam_width. */
  ingot_request old;
  memset(&old, 0xff, sizeof old);
  ingot_request_init(&old, offsetof(ingot_request, beam_width));
  CHECK(old.struct_size == offsetof(ingot_request, beam_width) && old.beam_width == -1);
  old.prompt = "hello";
  old.prompt_size = 5;
  old.max_tokens = 2;
  uint64_t id = 0;
  ingot_outputs *outputs = NULL;
  CHECK(ingot_enqueue(executor, &old, &id, &error) == INGOT_OK);
  CHECK(ingot_await(executor, id, -1, &outputs, &error) == INGOT_OK);
  ingot_outputs_free(outputs);

  /* A version 3 request, whose contents are text. */
  ingot_request chat;
  memset(&chat, 0xff, sizeof chat);
  ingot_request_init(&chat, offsetof(ingot_request, trust_content));
  CHECK(chat.trust_content == -1);
  chat.messages = "[{\"role\":\"user\",\"content\":\"a<eos>\"}]";
  chat.max_tokens = 1;
  CHECK(ingot_enqueue(executor, &chat, &id, &error) == INGOT_OK);
  CHECK(ingot_await(executor, id, -1, &outputs, &error) == INGOT_OK);
  ingot_output output;
  output.struct_size = sizeof output;
  CHECK(ingot_outputs_get(outputs, 0, &output) == INGOT_OK);
  CHECK(output.prompt_tokens == (int64_t)strlen("[user]a<eos>[assistant]"));
  ingot_outputs_free(outputs);

  ingot_model shorter;
  memset(&shorter, 0xff, sizeof shorter);
  shorter.struct_size = offsetof(ingot_model, vocab);
  CHECK(ingot_model_get(executor, &shorter) == INGOT_OK);
  CHECK(strcmp(shorter.name, "fake") == 0 &&
        shorter.vocab == -1); /* nothing is written beyond the structure */
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  CHECK(ingot_abi_version() == INGOT_ABI_VERSION && strlen(ingot_version()) > 0);
  errors(argv[1]);
  ingot_executor *executor = NULL;
  ingot_error *error = NULL;
  if (ingot_executor_open(argv[1], NULL, &executor, &error)) {
    fputs(ingot_error_text(error), stderr);
    return 1;
  }
  generate(executor);
  growth(argv[1], executor);
  ingot_executor_close(executor);
  puts("fine");
  return 0;
}
