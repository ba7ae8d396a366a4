// A text that must not appear in logs, errors or descriptions: a password, a key. Its only way out
// is reveal().
#pragma once
#include <string>
#include <utility>

namespace weir {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] const std::string& reveal() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  bool operator==(const Secret&) const = default;

 private:
  std::string text_;
};

// What stands in the place of a secret wherever people read.
constexpr const char* kHiddenSecret = "****";

}  // namespace weir
