// How a change of configurations is refused: the code that the client gets and a message for
// people.
#pragma once
#include "kafka/protocol/errors.h"

#include <expected>
#include <string>

namespace weir::config {

struct Rejection {
  kafka::KafkaError error = kafka::KafkaError::kInvalidConfig;
  std::string message;
};

template <typename T>
using Checked = std::expected<T, Rejection>;

[[nodiscard]] inline std::unexpected<Rejection> invalid_config(std::string message) {
  return std::unexpected(Rejection{kafka::KafkaError::kInvalidConfig, std::move(message)});
}
[[nodiscard]] inline std::unexpected<Rejection> invalid_request(std::string message) {
  return std::unexpected(Rejection{kafka::KafkaError::kInvalidRequest, std::move(message)});
}

}  // namespace weir::config
