// Keys to sign with: where they come from, and a cache that fetches new ones before the old ones
// expire.
//
// Thread-safe. However many calls find the keys missing or old, one fetches; the others go on with
// what is still valid, or wait for it.
#pragma once
#include "base/error.h"
#include "runtime/clock.h"
#include "runtime/oneshot.h"
#include "storage/s3/sigv4.h"

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace weir::storage::s3 {

class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // Errors name the source and what it lacks; kUnavailable and kTimeout: it may answer later.
  virtual Task<Result<Credentials>> fetch() = 0;
};

class CredentialCache {
 public:
  using Handle = std::shared_ptr<const Credentials>;

  // Keys are fetched anew when they are valid for no longer than kRefreshAhead, and used no longer
  // when it is kSafety.
  static constexpr Duration kRefreshAhead = std::chrono::minutes(5);
  static constexpr Duration kSafety = std::chrono::seconds(15);
  // After a failed attempt, while the old keys are valid.
  static constexpr Duration kRetry = std::chrono::seconds(30);

  CredentialCache(std::unique_ptr<CredentialSource> source, Clock& clock)
      : source_(std::move(source)), clock_(clock) {}

  Task<Result<Handle>> get();
  // The store refused these: they are not given out again.
  void reject(const Handle& refused);

 private:
  [[nodiscard]] bool valid_for(Duration ahead) const;
  Result<Handle> adopt(Result<Credentials> fetched);

  std::unique_ptr<CredentialSource> source_;
  Clock& clock_;
  std::mutex mutex_;
  Handle current_;
  bool fetching_ = false;
  MonoTime retry_at_{};
  std::vector<OneShot<Result<Handle>>> waiting_;
};

// Keys that never change.
[[nodiscard]] std::unique_ptr<CredentialSource> make_static_source(Credentials credentials);

}  // namespace weir::storage::s3
