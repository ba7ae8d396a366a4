#include "storage/s3/s3_store.h"

#include "base/base64.h"
#include "base/crc32c.h"
#include "runtime/parallel.h"
#include "storage/object_key.h"
#include "storage/s3/checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weir::storage::s3 {
namespace {

constexpr ByteCount kMaxSinglePut = 5_GiB;  // S3's limit
constexpr ByteCount kMaxGet = 2_GiB;
constexpr ByteCount kMaxObject = 50'000_GiB;  // beyond any store's; keeps sums from overflowing
constexpr ByteCount kErrorAnswer = 64_KiB;    // there is always room for an error
constexpr std::size_t kBatch = 1000;
constexpr std::size_t kRemovesAtOnce = 16;
constexpr int kMaxPages = 1000;

std::unexpected<Error> no_answer(const ObjectKey& key, std::string_view what) {
  return fail(ErrorCode::kUnavailable, fmt::format("the store's answer for {} {}", key, what));
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t size = 0;
};

// "bytes 0-9/100"
std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!skip(text, "bytes ")) return std::nullopt;
  auto first = take_number(text);
  if (!first || !skip(text, "-")) return std::nullopt;
  auto last = take_number(text);
  if (!last || !skip(text, "/")) return std::nullopt;
  auto size = take_number(text);
  if (!size || !text.empty() || *first > *last || *last >= *size) return std::nullopt;
  return ContentRange{*first, *last, *size};
}

// The exact bytes, whatever part of the object the store gave.
Result<Slice> cut_range(const ObjectKey& key, ByteRange range, const net::HttpAnswer& answer) {
  const Slice& body = answer.body;
  if (answer.status != 206) {
    // A store may ignore the range.
    WEIR_CHECK(check_range(key, range, body.size()));
    return body.sub(range.from, range.count);
  }
  auto given = parse_content_range(answer.header("content-range"));
  if (!given) return no_answer(key, "has no Content-Range that makes sense");
  WEIR_CHECK(check_range(key, range, given->size));
  if (given->first != range.from || given->last - given->first + 1 != range.count ||
      body.size() != range.count) {
    return no_answer(key, fmt::format("is bytes {} to {}, not the {} from {} that were asked for",
                                      given->first, given->last, range.count, range.from));
  }
  return body;
}

}  // namespace

S3Store::S3Store(const Target& target, S3Parts parts, Clock& clock, Rng rng,
                 const S3StoreOptions& options)
    : target_(target),
      options_(options),
      parts_(std::move(parts)),
      clock_(clock),
      http_(*parts_.connector, clock, target_.origin, options_.http),
      client_(target_, http_, *parts_.credentials, clock),
      rng_(rng) {}

void S3Store::add_checksum(net::HttpHeaders& headers, const Chain& body) const {
  headers.emplace_back(target_.dialect.checksum_header,
                       std::string(target_.dialect.checksum_prefix) + checksum_text(body));
}

Task<Status> S3Store::put(ObjectKey key, Chain body, PutOptions options) {
  WEIR_CO_CHECK(check_key(key));
  if (body.size() > options_.multipart_above && !options.if_absent) {
    co_return co_await put_in_parts(std::move(key), std::move(body));
  }
  if (body.size() > kMaxSinglePut) {
    co_return fail(ErrorCode::kInvalid, fmt::format("object {} has {} bytes, at most {}", key,
                                                    body.size(), kMaxSinglePut));
  }
  S3Request request{.method = "PUT", .key = full(key), .repeatable = !options.if_absent};
  add_checksum(request.headers, body);
  if (options.if_absent) {
    request.headers.emplace_back(target_.dialect.absent_header, target_.dialect.absent_value);
  }
  request.body = std::move(body);
  WEIR_CO_TRY(const net::HttpAnswer answer, co_await client_.send(std::move(request)));
  // A proxy or a web server in the store's place may say 200 to everything.
  if (answer.header("etag").empty()) co_return no_answer(key, "has no ETag: is it a store's?");
  co_return Status();
}

// Whether the checksum is one of the checksums of the object's parts: its ETag ends in their
// number. Some stores (moto) do not mark the checksum itself.
bool S3Store::has_checksum_of_parts(const net::HttpAnswer& answer) const {
  const std::string type = std::string(target_.dialect.header_prefix) + "checksum-type";
  return answer.header("etag").contains('-') && answer.header(type) != "FULL_OBJECT";
}

Task<Result<Slice>> S3Store::get(ObjectKey key) {
  WEIR_CO_CHECK(check_key(key));
  S3Request request{.method = "GET", .key = full(key), .answer_max = kMaxGet};
  if (!target_.dialect.checksum_mode_header.empty()) {
    request.headers.emplace_back(target_.dialect.checksum_mode_header, "ENABLED");
  }
  WEIR_CO_TRY(net::HttpAnswer answer, co_await client_.send(std::move(request)));
  std::string_view told = answer.header(target_.dialect.checksum_header);
  if (!has_checksum_of_parts(answer) &&
      !checksum_fits(told, target_.dialect.checksum_prefix, answer.body.bytes())) {
    co_return no_answer(key, "does not have the checksum that it says");
  }
  co_return answer.body;
}

Task<Result<Slice>> S3Store::get_range(ObjectKey key, ByteRange range) {
  WEIR_CO_CHECK(check_key(key));
  if (range.count == 0 || range.from >= kMaxObject || range.count > kMaxObject) {
    // No bytes cannot be asked for; what lies beyond any object is told from its size.
    WEIR_CO_TRY(ObjectInfo info, co_await head(key));
    WEIR_CO_CHECK(check_range(key, range, info.size));
    co_return Slice();
  }
  S3Request request{.method = "GET",
                    .key = full(key),
                    .answer_max = std::max<ByteCount>(range.count, kErrorAnswer)};
  request.headers.emplace_back(
      "range", fmt::format("bytes={}-{}", range.from, range.from + range.count - 1));
  WEIR_CO_TRY(net::HttpAnswer answer, co_await client_.send(std::move(request)));
  co_return cut_range(key, range, answer);
}

Task<Result<ObjectInfo>> S3Store::head(ObjectKey key) {
  WEIR_CO_CHECK(check_key(key));
  constexpr int kNotThere = 404;
  WEIR_CO_TRY(net::HttpAnswer answer,
              co_await client_.send({.method = "HEAD", .key = full(key)}, kNotThere));
  if (answer.status == kNotThere) {
    // The answer to a HEAD has no body, so it does not say what is missing: the object or the
    // bucket. That to a GET does.
    auto body = co_await get_range(key, {0, 1});
    if (!body) co_return std::unexpected(std::move(body).error());
    co_return fail(ErrorCode::kUnavailable, fmt::format("object {} has just been put", key));
  }
  std::string_view length = answer.header("content-length");
  auto size = take_number(length);
  auto modified = parse_http_time(answer.header("last-modified"));
  if (!size || !length.empty() || !modified) {
    co_return no_answer(key, "lacks Content-Length or Last-Modified");
  }
  co_return ObjectInfo{std::move(key), *size, *modified};
}

Task<Status> S3Store::remove_one(ObjectKey key) {
  auto answer = co_await client_.send({.method = "DELETE", .key = full(key)});
  if (answer || answer.error().code == ErrorCode::kNotFound) co_return Status();
  co_return std::unexpected(std::move(answer).error());
}

Task<Status> S3Store::remove_batch(std::vector<ObjectKey> keys) {
  for (ObjectKey& key : keys) key = full(key);
  S3Request request{.method = "POST", .query = {{"delete", ""}}};
  request.body.append(Slice::copy_of(delete_body(keys)));
  request.headers.emplace_back("content-md5", md5_text(request.body));
  request.headers.emplace_back("content-type", "application/xml");
  WEIR_CO_TRY(net::HttpAnswer answer, co_await client_.send(std::move(request)));
  WEIR_CO_TRY(auto failures, parse_delete_failures(answer.body.bytes()));
  for (const DeleteFailure& one : failures) {
    constexpr int kForbidden = 403;  // what the codes that are not known by name mostly mean
    Error error = client_.error_of("DELETE " + one.key, kForbidden, one.error);
    if (error.code != ErrorCode::kNotFound) co_return std::unexpected(std::move(error));
  }
  co_return Status();
}

Task<Status> S3Store::remove(std::vector<ObjectKey> keys) {
  for (const ObjectKey& key : keys) WEIR_CO_CHECK(check_key(key));
  if (keys.empty()) co_return Status();
  if (keys.size() == 1 || !target_.dialect.batch_delete) {
    co_return co_await for_each_parallel(keys.size(), kRemovesAtOnce,
                                         [&](std::size_t i) { return remove_one(keys[i]); });
  }
  for (std::size_t at = 0; at < keys.size(); at += kBatch) {
    auto begin = keys.begin() + static_cast<std::ptrdiff_t>(at);
    auto end = keys.begin() + static_cast<std::ptrdiff_t>(std::min(at + kBatch, keys.size()));
    WEIR_CO_CHECK(co_await remove_batch({begin, end}));
  }
  co_return Status();
}

Task<Result<Listing>> S3Store::list_page(std::string prefix, std::string after, std::string token,
                                         std::size_t limit) {
  S3Request request{.method = "GET",
                    .query = {{"list-type", "2"}, {"max-keys", std::to_string(limit)}}};
  std::string whole = full(prefix);
  if (!whole.empty()) request.query.emplace_back("prefix", std::move(whole));
  if (!after.empty()) request.query.emplace_back("start-after", full(after));
  if (!token.empty()) request.query.emplace_back("continuation-token", std::move(token));
  WEIR_CO_TRY(net::HttpAnswer answer, co_await client_.send(std::move(request)));
  co_return parse_listing(answer.body.bytes());
}

Task<Result<ListPage>> S3Store::list(std::string prefix, std::string after, std::size_t limit) {
  WEIR_CO_CHECK(check_list(prefix, after, limit));
  ListPage page;
  std::string token;
  // One more than is asked for tells whether there is more: not every store tells it rightly. A
  // page of the store may have fewer objects than it was asked for, and objects of others.
  for (int pages = 0; pages < kMaxPages; ++pages) {
    const std::size_t wanted = std::min(limit - page.objects.size() + 1, kMaxListLimit);
    WEIR_CO_TRY(Listing listing, co_await list_page(prefix, after, token, wanted));
    for (ListedObject& object : listing.objects) {
      if (!object.key.starts_with(target_.prefix)) continue;
      object.key.erase(0, target_.prefix.size());
      if (!check_key(object.key) || object.key <= after) continue;
      page.objects.push_back({std::move(object.key), object.size, object.modified_ms});
    }
    page.more = listing.truncated || page.objects.size() > limit;
    if (page.objects.size() > limit) page.objects.resize(limit);
    if (!page.more || page.objects.size() == limit) co_return page;
    token = std::move(listing.token);
  }
  co_return fail(ErrorCode::kUnavailable,
                 fmt::format("listing '{}' in {} does not end", prefix, target_.describe()));
}

}  // namespace weir::storage::s3
