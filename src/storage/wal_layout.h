// Numbers of the WAL object format that its writer and its parser share;
// docs/formats/wal-object.md.
#pragma once
#include <cstddef>

namespace weir::storage::wal_layout {

constexpr std::size_t kRunEntrySize = 36;
constexpr std::size_t kBatchEntrySize = 32;
// The footer's CRC covers the bytes before it.
constexpr std::size_t kFooterCrc = 44;

}  // namespace weir::storage::wal_layout
