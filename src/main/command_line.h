// The command line of `weir`: finds the subcommand, reads its options, runs it. Each subcommand is
// a file of this folder with a function that registers it.
#pragma once
#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the name of CLI11
class App;
}

namespace weir {

// The streams must outlive the call.
struct Output {
  std::ostream* out;
  std::ostream* err;
};

// What the program ends with.
enum class ExitCode : int {
  kSuccess = 0,
  kFailure = 1,  // what was asked for could not be done
  kUsage = 2,    // what was asked for was not understood
  kDamage = 3,   // it was done, and something is damaged
};

// `arguments` without the name of the program.
[[nodiscard]] int run_command_line(std::vector<std::string> arguments, Output output);

}  // namespace weir
