#include "storage/store_operation.h"

namespace weir::storage {

std::string_view to_string(StoreOperation operation) {
  switch (operation) {
    case StoreOperation::kPut:
      return "put";
    case StoreOperation::kGet:
      return "get";
    case StoreOperation::kGetRange:
      return "get_range";
    case StoreOperation::kHead:
      return "head";
    case StoreOperation::kRemove:
      return "remove";
    case StoreOperation::kList:
      return "list";
  }
  return "unknown";
}

}  // namespace weir::storage
