// Opens the S3 store that a URL (see location.h) and the surroundings of the process name.
#pragma once
#include "runtime/clock.h"
#include "runtime/rng.h"
#include "storage/s3/environment.h"
#include "storage/s3/s3_store.h"

#include <memory>
#include <string>

namespace weir::storage::s3 {

// Reads configuration files, sends no request: a store that is not there shows at the first call.
// The clock outlives the store. kInvalid names what is wrong.
[[nodiscard]] Result<std::unique_ptr<S3Store>> open_s3_store(const std::string& url,
                                                             const Environment& environment,
                                                             Clock& clock, Rng rng,
                                                             S3StoreOptions options = {});

}  // namespace weir::storage::s3
