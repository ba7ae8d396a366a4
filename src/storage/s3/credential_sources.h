// The places that keys come from, and which of them is used.
//
// In this order: the profile that the URL names; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; a web
// identity (AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, as Kubernetes sets them); the profile
// that AWS_PROFILE names, or "default"; the container's metadata (ECS, EKS Pod Identity); the
// instance's metadata, version 2 only. The first that is there is used, alone.
//
// A source may be asked again and again; each time it looks anew, so that what is rotated on disk
// is found. Profiles that get their keys in other ways (SSO, a process, another profile) are
// refused.
#pragma once
#include "net/connector.h"
#include "storage/s3/credential_cache.h"
#include "storage/s3/environment.h"

#include <memory>
#include <optional>
#include <string>

namespace weir::storage::s3 {

struct CredentialSetting {
  Environment environment;
  std::optional<std::string> profile;  // of the URL
  std::string region;                  // whose token service is asked
};

// The connector and the clock outlive the source. kInvalid: what is set makes no sense.
[[nodiscard]] Result<std::unique_ptr<CredentialSource>> find_credentials(
    const CredentialSetting& setting, net::Connector& connector, Clock& clock);

}  // namespace weir::storage::s3
