// Writes and reads that go past the page cache (O_DIRECT). Objects are written once and read back
// from the broker's own cache, so pages of them would only push out others; and filling the page
// cache costs several times the processor time of the copy into an aligned buffer that direct
// writes need: measured on ext4, 0.3 s against 1.5 to 2.3 s a GiB (docs/adr/0006-direct-writes.md).
#pragma once
#include "storage/file_io.h"

#include <string_view>

namespace weir::storage {

// Below it the rounding up to whole blocks outweighs the gain.
constexpr std::size_t kDirectMin = 64 * 1024;

// Creates a file for direct writes. kInvalid: the file system has none; create it without.
[[nodiscard]] Result<Fd> create_direct(int folder, const std::string& name);

// Writes all slices to an empty file of create_direct(). Blocks; keeps a buffer per thread.
[[nodiscard]] Status write_direct(int file, const Chain& chain, std::string_view path);

// Exactly `count` bytes from `from` on; fewer are kCorrupt. As read_range(), which it falls back to
// where the file system has no direct reads.
[[nodiscard]] Result<Slice> read_direct(int file, std::uint64_t from, std::size_t count,
                                        std::string_view path);

}  // namespace weir::storage
