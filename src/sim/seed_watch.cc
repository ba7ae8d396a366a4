#include "sim/seed_watch.h"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

namespace weir::sim {
namespace {

// Signal handlers may read neither strings nor what is on its way to be written.
constexpr std::size_t kMost = 256;
char the_command[kMost];

void say(const char* text) {
  // Nothing helps when it cannot be said.
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void say_command() {
  say("  again: ");
  say(static_cast<const char*>(the_command));
  say("\n");
}

void on_crash(int signal) {
  say("weir-sim: a run crashes\n");
  say_command();
  // The handler was for one time; the default ends the process, with a core where wanted.
  ::raise(signal);
}

void on_hang(int /*signal*/) {
  say("weir-sim: a run does not end\n");
  say_command();
  ::_exit(kHangs);
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void watch_run(const std::string& command, Duration most) {
  // A stack that has run over has no room for a handler.
  static std::array<char, 1 << 16> stack;
  const stack_t other = {.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  ::sigaltstack(&other, nullptr);
  std::strncpy(the_command, command.c_str(), kMost - 1);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    handle(signal, on_crash, static_cast<int>(SA_RESETHAND | SA_NODEFER | SA_ONSTACK));
  handle(SIGVTALRM, on_hang, 0);
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(most).count();
  constexpr std::int64_t kSecond = 1'000'000;
  const itimerval timer{.it_interval = {},
                        .it_value = {.tv_sec = us / kSecond, .tv_usec = us % kSecond}};
  ::setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

}  // namespace weir::sim
