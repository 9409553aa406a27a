#include <ingot.h>

#include <stdio.h>

int main(int argc, char **argv) {
  ingot_executor *executor = NULL;
  ingot_error *error = NULL;
  ingot_request request;
  uint64_t id = 0;
  ingot_outputs *outputs = NULL;
  ingot_output output = {sizeof output};
  if (argc != 2)
    return 2;
  ingot_request_init(&request, sizeof request);
  request.prompt = "hello";
  request.prompt_size = 5;
  request.max_tokens = 8;
  request.ignore_eos = 1;
  if (ingot_executor_open(argv[1], NULL, &executor, &error) ||
      ingot_enqueue(executor, &request, &id, &error) ||
      ingot_await(executor, id, -1, &outputs, &error)) {
    fputs(ingot_error_text(error), stderr);
    ingot_error_free(error);
    return 1;
  }
  ingot_outputs_get(outputs, 0, &output);
  puts(output.text);
  ingot_outputs_free(outputs);
  ingot_executor_close(executor);
  return 0;
}
