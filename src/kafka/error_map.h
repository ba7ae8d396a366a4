// Where the errors of Weir's own modules become error codes of the Kafka protocol: the only such
// place.
#pragma once
#include "base/error.h"
#include "kafka/protocol/errors.h"

namespace weir::kafka {

// For a failed read of stored records.
[[nodiscard]] KafkaError read_error(ErrorCode code);
// For records that could not be stored or committed. Always retriable: the records may stand all
// the same.
[[nodiscard]] KafkaError write_error(ErrorCode code);
// For an administrative call or a coordinator's state change that could not be made.
[[nodiscard]] KafkaError admin_error(ErrorCode code);

}  // namespace weir::kafka
