// Prints a WAL object for people (text) or programs (one JSON document): its footer, every run and
// every batch, with all CRCs and the index checked against the batches. Pure.
#pragma once
#include "base/bytes.h"
#include "base/error.h"

#include <cstdint>
#include <string>

namespace weir::storage {

enum class DumpFormat : std::uint8_t { kText, kJson };

struct WalDump {
  std::string text;
  // Whether every check held. What is damaged is marked in the text.
  bool is_intact = true;
};

// kCorrupt when footer or index are damaged: there is nothing to go by then.
[[nodiscard]] Result<WalDump> dump_wal_object(Bytes object, DumpFormat format);

}  // namespace weir::storage
