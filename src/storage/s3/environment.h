// What surrounds the process and says how to reach S3: environment variables, and the configuration
// files that Amazon's tools share.
//
// ~/.aws/credentials ([NAME]) and ~/.aws/config ([profile NAME], [default]), or the files that
// AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name; settings of the first win.
#pragma once
#include "base/error.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir::storage::s3 {

// The value of a variable that is set and not empty.
using Environment = std::function<std::optional<std::string>(const char* name)>;
[[nodiscard]] Environment system_environment();

using Profile = std::map<std::string, std::string, std::less<>>;
using Profiles = std::map<std::string, Profile, std::less<>>;

// `is_config`: the sections of profiles other than the default have "profile " in front. Lines that
// are no settings are left out, as Amazon's tools do.
[[nodiscard]] Profiles parse_profiles(std::string_view text, bool is_config);

// The profile `name`, or the one that the environment names. Nothing: neither file has it.
// kInvalid: `name`, or AWS_PROFILE, is set and there is no such profile.
[[nodiscard]] Result<std::optional<Profile>> read_profile(const Environment& environment,
                                                          const std::optional<std::string>& name);

// From the environment, else the profile.
[[nodiscard]] Result<std::optional<std::string>> find_region(
    const Environment& environment, const std::optional<std::string>& profile);

// The text of a small file. kUnavailable: it cannot be read now.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path);

}  // namespace weir::storage::s3
