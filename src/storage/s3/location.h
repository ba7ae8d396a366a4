// Where an S3 store is: s3://BUCKET[/PREFIX][?NAME=VALUE&...], and how its requests are addressed.
//
//   region=eu-west-1          else AWS_REGION, AWS_DEFAULT_REGION or the profile's
//   endpoint=https://HOST     of a store that is not Amazon's, with http:// also without TLS
//   path-style=true|false     /BUCKET/KEY instead of BUCKET.HOST; default: true with an endpoint
//   ca=FILE                   PEM certificates to trust instead of the system's
//   profile=NAME              of the shared configuration files, else AWS_PROFILE or "default"
//   dialect=s3|gcs            else by the host, see dialect.h
//   connections=N             at most, for each core; 64
//
// Errors: kInvalid, naming the parameter and what would be right.
#pragma once
#include "base/error.h"
#include "net/connector.h"
#include "storage/s3/dialect.h"

#include <optional>
#include <string>
#include <string_view>

namespace weir::storage::s3 {

constexpr std::string_view kScheme = "s3://";
constexpr std::size_t kDefaultConnections = 64;

// What the URL says.
struct Location {
  std::string bucket;
  std::string prefix;  // "" or "a/b/"
  std::optional<std::string> region;
  std::optional<net::Origin> endpoint;
  std::optional<bool> path_style;
  std::string ca_file;
  std::optional<std::string> profile;
  const Dialect* dialect = nullptr;
  std::size_t connections = kDefaultConnections;
};

[[nodiscard]] Result<Location> parse_location(std::string_view url);

// Where requests go.
struct Target {
  const Dialect& dialect = kAmazon;
  std::string region;
  net::Origin origin;
  std::string bucket;
  std::string bucket_path;  // "/BUCKET" with path style, else ""
  std::string prefix;
  // "bucket B at https://HOST", for people.
  [[nodiscard]] std::string describe() const;
};

// `region`: of the surroundings, where the URL has none.
[[nodiscard]] Result<Target> resolve(const Location& location, std::optional<std::string> region);

}  // namespace weir::storage::s3
