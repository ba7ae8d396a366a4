// Prints any object that Weir writes to an object store, for people (text) or programs (one JSON
// document), and checks it: records, snapshots, the store's marker, and the objects of a metadata
// log in the store. Pure.
#pragma once
#include "base/bytes.h"
#include "base/error.h"
#include "storage/wal_object_dump.h"

#include <string>

namespace weir {

// `path` is where it was found: objects without an own mark are told by the end of their key.
// kCorrupt: it is damaged, or it is no object of Weir. kInvalid: a newer Weir wrote it.
[[nodiscard]] Result<storage::WalDump> dump_object(const Slice& object, const std::string& path,
                                                   storage::DumpFormat format);

}  // namespace weir
