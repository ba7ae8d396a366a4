// Keys from services over HTTP. For credential_sources.cc.
#pragma once
#include "net/http_client.h"
#include "storage/s3/credential_cache.h"

#include <memory>
#include <string>

namespace weir::storage::s3 {

// AssumeRoleWithWebIdentity of the security token service: a token that the platform keeps fresh in
// a file, for the keys of a role.
struct WebIdentity {
  std::string token_file;
  std::string role;
  std::string session = "weir";
  net::HttpUrl service;
};
[[nodiscard]] std::unique_ptr<CredentialSource> make_web_identity_source(WebIdentity identity,
                                                                         net::Connector& connector,
                                                                         Clock& clock);

// The endpoint that a container is told in its environment.
struct ContainerEndpoint {
  net::HttpUrl url;
  Secret token;            // of the Authorization header; may be empty
  std::string token_file;  // read each time, instead of `token`
};
[[nodiscard]] std::unique_ptr<CredentialSource> make_container_source(ContainerEndpoint endpoint,
                                                                      net::Connector& connector,
                                                                      Clock& clock);

// The metadata service of an EC2 instance, version 2.
[[nodiscard]] std::unique_ptr<CredentialSource> make_instance_source(const net::Origin& service,
                                                                     net::Connector& connector,
                                                                     Clock& clock);

}  // namespace weir::storage::s3
