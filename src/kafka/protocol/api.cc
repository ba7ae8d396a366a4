#include "kafka/protocol/api.h"

#include <algorithm>

namespace weir::kafka {

const ApiInfo* find_api(std::int16_t key) {
  std::span<const ApiInfo> apis = all_apis();
  auto at = std::ranges::lower_bound(
      apis, key, {}, [](const ApiInfo& api) { return static_cast<std::int16_t>(api.key); });
  if (at == apis.end() || static_cast<std::int16_t>(at->key) != key) return nullptr;
  return &*at;
}

std::string_view to_string(ApiKey key) {
  const ApiInfo* api = find_api(key);
  return api == nullptr ? "?" : api->name;
}

}  // namespace weir::kafka
