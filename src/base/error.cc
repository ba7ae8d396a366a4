#include "base/error.h"

namespace weir {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kTimeout:
      return "timed out";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kThrottled:
      return "throttled";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kFenced:
      return "fenced";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kExhausted:
      return "limit reached";
    case ErrorCode::kRefused:
      return "refused";
    case ErrorCode::kInternal:
      return "internal error";
  }
  return "unknown error";
}

std::string Error::to_string() const { return std::string(weir::to_string(code)) + ": " + message; }

Error Error::in(std::string_view context) const {
  return {code, std::string(context) + ": " + message};
}

}  // namespace weir
