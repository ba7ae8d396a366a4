#include "storage/s3/credential_cache.h"

#include "runtime/log.h"

namespace weir::storage::s3 {
namespace {

class StaticSource final : public CredentialSource {
 public:
  explicit StaticSource(Credentials credentials) : credentials_(std::move(credentials)) {}
  Task<Result<Credentials>> fetch() override { co_return credentials_; }

 private:
  Credentials credentials_;
};

}  // namespace

std::unique_ptr<CredentialSource> make_static_source(Credentials credentials) {
  return std::make_unique<StaticSource>(std::move(credentials));
}

bool CredentialCache::valid_for(Duration ahead) const {
  if (!current_) return false;
  if (!current_->expires_ms) return true;
  auto ahead_ms = std::chrono::duration_cast<std::chrono::milliseconds>(ahead).count();
  return clock_.wall_ms() + ahead_ms < *current_->expires_ms;
}

Task<Result<CredentialCache::Handle>> CredentialCache::get() {
  OneShot<Result<Handle>> other;
  {
    std::unique_lock lock(mutex_);
    bool usable = valid_for(kSafety);
    bool may_fetch = !fetching_ && !(usable && clock_.now() < retry_at_);
    if (valid_for(kRefreshAhead) || (usable && !may_fetch)) co_return current_;
    if (fetching_) {
      waiting_.push_back(other);
      lock.unlock();
      co_return co_await other.wait();
    }
    fetching_ = true;
  }
  Result<Credentials> fetched = co_await source_->fetch();
  co_return adopt(std::move(fetched));
}

Result<CredentialCache::Handle> CredentialCache::adopt(Result<Credentials> fetched) {
  std::vector<OneShot<Result<Handle>>> waiting;
  Result<Handle> answer;
  {
    std::lock_guard lock(mutex_);
    fetching_ = false;
    waiting.swap(waiting_);
    if (fetched) {
      current_ = std::make_shared<const Credentials>(*std::move(fetched));
      answer = current_;
    } else {
      retry_at_ = clock_.now() + kRetry;
      log::warn("s3.credentials.failed", {{"error", fetched.error()}});
      if (valid_for(kSafety)) {
        answer = current_;
      } else {
        answer = std::unexpected(fetched.error().in("credentials of the object store"));
      }
    }
  }
  for (OneShot<Result<Handle>>& one : waiting) one.set(answer);
  return answer;
}

void CredentialCache::reject(const Handle& refused) {
  std::lock_guard lock(mutex_);
  if (current_ != refused) return;
  current_.reset();
  retry_at_ = {};
}

}  // namespace weir::storage::s3
