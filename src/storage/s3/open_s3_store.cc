#include "storage/s3/open_s3_store.h"

#include "storage/s3/credential_sources.h"
#include "storage/s3/location.h"

namespace weir::storage::s3 {

Result<std::unique_ptr<S3Store>> open_s3_store(const std::string& url,
                                               const Environment& environment, Clock& clock,
                                               Rng rng, S3StoreOptions options) {
  WEIR_TRY(Location location, parse_location(url));
  auto in_url = [](Error error) { return std::unexpected(error.in("object store")); };
  auto region = find_region(environment, location.profile);
  if (!region) return in_url(region.error());
  WEIR_TRY(Target target, resolve(location, *region));

  S3Parts parts;
  WEIR_TRY(parts.connector, net::make_system_connector(clock, location.ca_file));
  // The token service is Amazon's, whatever certificate the store has.
  WEIR_TRY(parts.key_connector,
           net::make_system_connector(clock, environment("AWS_CA_BUNDLE").value_or("")));
  auto source = find_credentials(
      {.environment = environment, .profile = location.profile, .region = target.region},
      *parts.key_connector, clock);
  if (!source) return in_url(source.error());
  parts.credentials = std::make_unique<CredentialCache>(std::move(*source), clock);
  options.http.connections_max = location.connections;
  return std::make_unique<S3Store>(target, std::move(parts), clock, rng, options);
}

}  // namespace weir::storage::s3
