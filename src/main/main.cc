// The `weir` program.
#include "main/command_line.h"

#include <iostream>

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return weir::run_command_line(arguments, {.out = &std::cout, .err = &std::cerr});
}
