#include "base/crc32c.h"
#include "runtime/backoff.h"
#include "runtime/log.h"
#include "runtime/parallel.h"
#include "storage/s3/checksum.h"
#include "storage/s3/s3_store.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::storage::s3 {
namespace {

constexpr std::size_t kMaxParts = 10'000;  // S3's limit
constexpr int kPartAttempts = 3;

// The slices of [from, from + count).
Chain part_of(const Chain& body, std::size_t from, std::size_t count) {
  Chain out;
  for (const Slice& slice : body.slices()) {
    if (count == 0) break;
    if (from >= slice.size()) {
      from -= slice.size();
      continue;
    }
    std::size_t length = std::min(count, slice.size() - from);
    out.append(slice.sub(from, length));
    count -= length;
    from = 0;
  }
  return out;
}

}  // namespace

Duration S3Store::next_delay(Backoff& backoff) {
  std::lock_guard lock(mutex_);
  return backoff.next(rng_);
}

Task<Result<UploadedPart>> S3Store::put_part_once(const ObjectKey& key, const std::string& upload,
                                                  std::size_t number, const Chain& body) {
  S3Request request{
      .method = "PUT",
      .key = full(key),
      .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}},
      .body = body,
  };
  add_checksum(request.headers, body);
  WEIR_CO_TRY(net::HttpAnswer answer, co_await client_.send(std::move(request)));
  UploadedPart part{.etag = std::string(answer.header("etag"))};
  if (part.etag.empty()) {
    co_return fail(ErrorCode::kUnavailable,
                   fmt::format("the store's answer for part {} of {} has no ETag", number, key));
  }
  // Where the upload was begun with a checksum, its completion names that of each part.
  if (!target_.dialect.checksum_mode_header.empty()) part.checksum = checksum_text(body);
  co_return part;
}

// A part is tried again by itself: otherwise one lost answer would cost the whole object.
Task<Result<UploadedPart>> S3Store::put_part(ObjectKey key, std::string upload, std::size_t number,
                                             Chain body) {
  Backoff backoff(std::chrono::milliseconds(200), std::chrono::seconds(2));
  for (int attempt = 1;; ++attempt) {
    auto part = co_await put_part_once(key, upload, number, body);
    if (part || !is_retriable(part.error().code) || attempt == kPartAttempts) co_return part;
    co_await clock_.sleep(next_delay(backoff));
  }
}

Task<Status> S3Store::complete(const ObjectKey& key, const std::string& upload,
                               const std::vector<UploadedPart>& parts) {
  S3Request request{.method = "POST",
                    .key = full(key),
                    .query = {{"uploadId", upload}},
                    .headers = {{"content-type", "application/xml"}},
                    .body = Chain(Slice::copy_of(completion_body(parts))),
                    .repeatable = false};
  WEIR_CO_TRY(net::HttpAnswer answer, co_await client_.send(std::move(request)));
  // The store begins to answer before it knows the outcome.
  if (auto body = parse_error(answer.body.bytes())) {
    constexpr int kInternal = 500;
    co_return std::unexpected(client_.error_of("completing " + key, kInternal, *body));
  }
  co_return parse_completion(answer.body.bytes());
}

Task<Status> S3Store::put_in_parts(ObjectKey key, Chain body) {
  const ByteCount part_size =
      std::max<ByteCount>(options_.part_size, (body.size() + kMaxParts - 1) / kMaxParts);
  S3Request begin{.method = "POST", .key = full(key), .query = {{"uploads", ""}}};
  if (!target_.dialect.checksum_mode_header.empty()) {
    begin.headers.emplace_back(std::string(target_.dialect.header_prefix) + "checksum-algorithm",
                               "CRC32C");
  }
  WEIR_CO_TRY(net::HttpAnswer answer, co_await client_.send(std::move(begin)));
  WEIR_CO_TRY(const std::string upload, parse_upload_id(answer.body.bytes()));

  std::vector<UploadedPart> parts((body.size() + part_size - 1) / part_size);
  auto put_one = [&](std::size_t i) -> Task<Status> {
    Chain part = part_of(body, i * part_size, part_size);
    WEIR_CO_TRY(parts[i], co_await put_part(key, upload, i + 1, std::move(part)));
    co_return Status();
  };
  Status done = co_await for_each_parallel(parts.size(), options_.parts_at_once, put_one);
  if (done) done = co_await complete(key, upload, parts);
  if (done) co_return done;
  // Parts cost money until their upload is given up. Where this fails too, the bucket's rule for
  // incomplete uploads has to do it.
  auto aborted = co_await client_.send(
      {.method = "DELETE", .key = full(key), .query = {{"uploadId", upload}}});
  if (!aborted) {
    log::warn("s3.upload.left", {{"key", key}, {"upload", upload}, {"error", aborted.error()}});
  }
  co_return done;
}

}  // namespace weir::storage::s3
