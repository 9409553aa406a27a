#include <ingot.hpp>

#include <iostream>

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  ingot::Executor executor(argv[1]);
  ingot::Request request;
  request.prompt = "hello";
  request.maxTokens = 8;
  request.ignoreEos = true;
  std::cout << executor.generate(request).value().front().text << "\n";
}
