// Lists the objects below a folder in the order of their keys. Blocks. Reads the folders on the way
// from `after` to the end of the page, and no others.
#pragma once
#include "storage/object_store.h"

#include <string>

namespace weir::storage {

// The arguments are those of ObjectStore::list, checked; `root` is an open folder.
[[nodiscard]] Result<ListPage> list_files(int root, const std::string& prefix,
                                          const std::string& after, std::size_t limit);

}  // namespace weir::storage
