#include "main/urls.h"

#include "base/secret.h"
#include "config/keys.h"
#include "config/value.h"

#include <fmt/format.h>

#include <filesystem>

namespace weir {

std::string shown_url(const std::string& url) {
  const config::ConfigKey* key = config::find_key(config::Scope::kBroker, "metadata.log.url");
  std::string shown = config::shown_text(*key, url).value_or(kHiddenSecret);
  for (const std::string_view scheme : {"sqlite:", "file:"}) {
    if (!shown.starts_with(scheme) || shown.substr(scheme.size()).starts_with('/')) continue;
    std::error_code ignored;
    shown += fmt::format(" (in {})", std::filesystem::current_path(ignored).string());
  }
  return shown;
}

}  // namespace weir
