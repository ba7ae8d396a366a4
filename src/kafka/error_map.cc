#include "kafka/error_map.h"

namespace weir::kafka {

KafkaError read_error(ErrorCode code) {
  return code == ErrorCode::kCorrupt ? KafkaError::kCorruptMessage : KafkaError::kKafkaStorageError;
}

KafkaError write_error(ErrorCode code) {
  return code == ErrorCode::kTimeout ? KafkaError::kRequestTimedOut
                                     : KafkaError::kKafkaStorageError;
}

KafkaError admin_error(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return KafkaError::kInvalidRequest;
    case ErrorCode::kTimeout:
    case ErrorCode::kUnavailable:
    case ErrorCode::kThrottled:
    case ErrorCode::kExhausted:
    case ErrorCode::kRefused:
    case ErrorCode::kCancelled:
      return KafkaError::kRequestTimedOut;
    case ErrorCode::kFenced:
      return KafkaError::kNotController;
    case ErrorCode::kNotFound:
    case ErrorCode::kConflict:
    case ErrorCode::kCorrupt:
    case ErrorCode::kInternal:
      return KafkaError::kUnknownServerError;
  }
  return KafkaError::kUnknownServerError;
}

}  // namespace weir::kafka
