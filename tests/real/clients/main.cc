// rdkafka_client PROGRAM ARGUMENTS...: the test programs that use librdkafka. tests/real/*.py run
// them.
#include "client.h"

#include <cstdio>
#include <map>
#include <string>

int main(int argc, char** argv) {
  using weir::clients::Arguments;
  const std::map<std::string, int (*)(const Arguments&)> programs = {
      {"produce-files", weir::clients::produce_files},
      {"verify-files", weir::clients::verify_files},
      {"load", weir::clients::load},
      {"follow", weir::clients::follow},
      {"read", weir::clients::read},
      {"dump", weir::clients::dump},
      {"bench-produce", weir::clients::bench_produce},
      {"bench-consume", weir::clients::bench_consume},
      {"paced-produce", weir::clients::paced_produce},
      {"paced-consume", weir::clients::paced_consume},
  };
  const auto program = argc > 1 ? programs.find(argv[1]) : programs.end();
  if (program == programs.end()) {
    std::fprintf(stderr, "rdkafka_client PROGRAM ARGUMENTS...; the programs are\n");
    for (const auto& [name, function] : programs) std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
  }
  return program->second(Arguments(argv + 2, argv + argc));
}
