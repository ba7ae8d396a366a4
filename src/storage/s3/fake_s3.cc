#include "storage/s3/fake_s3.h"

#include "storage/s3/checksum.h"
#include "storage/s3/sigv4.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pugixml.hpp>

#include <charconv>

namespace weir::storage::s3 {
namespace {

std::string decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::map<std::string, std::string> parse_query(std::string_view query) {
  std::map<std::string, std::string> out;
  while (!query.empty()) {
    std::size_t end = std::min(query.find('&'), query.size());
    std::string_view one = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    std::size_t equals = one.find('=');
    out[decode(one.substr(0, equals))] = decode(one.substr(equals + 1));
  }
  return out;
}

std::string utc(TimestampMs ms, const char* format) {
  return fmt::format(fmt::runtime(format), fmt::gmtime(static_cast<std::time_t>(ms / 1000)));
}

net::FakeReply xml(std::string body) {
  return {.headers = {{"Content-Type", "application/xml"}},
          .body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + std::move(body),
          .chunked = true};
}

net::FakeReply no_such_key() { return s3_error(404, "NoSuchKey"); }

}  // namespace

net::FakeReply s3_error(int status, const std::string& code, const std::string& message) {
  net::FakeReply reply = xml(
      fmt::format("<Error><Code>{}</Code><Message>{}</Message><RequestId>R-1</RequestId></Error>",
                  code, message));
  reply.status = status;
  return reply;
}

net::FakeReply FakeS3::answer(const net::FakeRequest& request) {
  std::string_view target = request.target;
  std::size_t mark = std::min(target.find('?'), target.size());
  Params params = parse_query(target.substr(std::min(mark + 1, target.size())));
  std::string path = decode(target.substr(0, mark));
  const std::string root = "/" + bucket_;
  if (path != root && !path.starts_with(root + "/")) return s3_error(404, "NoSuchBucket");
  std::string key = path.substr(std::min(root.size() + 1, path.size()));
  if (key.empty() && params.contains("delete")) return remove_many(request);
  if (key.empty() && params.contains("list-type")) return list(params);
  if (params.contains("uploads") || params.contains("uploadId")) {
    return multipart(request, key, params);
  }
  if (request.method == "PUT") return put(request, key);
  if (request.method == "DELETE") {
    objects.erase(key);
    return {.status = 204};
  }
  return get(request, key);
}

net::FakeReply FakeS3::put(const net::FakeRequest& request, const std::string& key) {
  std::string_view told = request.header("x-amz-checksum-crc32c");
  if (told != checksum_text(Chain(Slice::copy_of(request.body)))) return s3_error(400, "BadDigest");
  if (request.header("if-none-match") == "*" && objects.contains(key)) {
    return s3_error(412, "PreconditionFailed");
  }
  objects[key] = {request.body, clock_.wall_ms()};
  return {.headers = {{"ETag", "\"e\""}}};
}

net::FakeReply FakeS3::get(const net::FakeRequest& request, const std::string& key) {
  auto at = objects.find(key);
  if (at == objects.end()) return no_such_key();
  const std::string& body = at->second.body;
  net::FakeReply reply{
      .headers = {{"Last-Modified", utc(at->second.modified_ms, "{:%a, %d %b %Y %H:%M:%S GMT}")}}};
  std::string_view range = request.header("range");
  if (request.method == "HEAD") {
    reply.headers.emplace_back("Content-Length", std::to_string(body.size()));
  } else if (range.empty()) {
    reply.body = body;
    reply.headers.emplace_back("x-amz-checksum-crc32c", checksum_text(Chain(Slice::copy_of(body))));
  } else {
    range.remove_prefix(std::string_view("bytes=").size());
    std::size_t dash = range.find('-');
    std::size_t first = std::stoull(std::string(range.substr(0, dash)));
    std::size_t last = std::stoull(std::string(range.substr(dash + 1)));
    if (first >= body.size()) return s3_error(416, "InvalidRange");
    last = std::min(last, body.size() - 1);
    reply.status = 206;
    reply.body = body.substr(first, last - first + 1);
    reply.headers.emplace_back("Content-Range",
                               fmt::format("bytes {}-{}/{}", first, last, body.size()));
  }
  return reply;
}

net::FakeReply FakeS3::list(const Params& params) {
  auto value = [&](const char* name) {
    auto at = params.find(name);
    return at == params.end() ? std::string() : at->second;
  };
  const std::string prefix = value("prefix");
  const std::string after = std::max(value("start-after"), value("continuation-token"));
  std::size_t left = std::min(page_max, static_cast<std::size_t>(std::stoull(value("max-keys"))));
  std::string body;
  std::string last;
  bool truncated = false;
  for (const auto& [key, object] : objects) {
    if (!key.starts_with(prefix) || key <= after) continue;
    if (left-- == 0) {
      truncated = true;
      break;
    }
    last = key;
    body += fmt::format(
        "<Contents><Key>{}</Key><LastModified>{}</LastModified><Size>{}</Size></Contents>", key,
        utc(object.modified_ms, "{:%Y-%m-%dT%H:%M:%S}.000Z"), object.body.size());
  }
  if (truncated) body += "<NextContinuationToken>" + last + "</NextContinuationToken>";
  return xml(fmt::format("<ListBucketResult><IsTruncated>{}</IsTruncated>{}</ListBucketResult>",
                         truncated, body));
}

net::FakeReply FakeS3::remove_many(const net::FakeRequest& request) {
  if (request.header("content-md5") != md5_text(Chain(Slice::copy_of(request.body)))) {
    return s3_error(400, "InvalidDigest");
  }
  pugi::xml_document document;
  document.load_string(request.body.c_str());
  for (pugi::xml_node node : document.child("Delete").children("Object")) {
    objects.erase(node.child("Key").text().get());
  }
  return xml("<DeleteResult></DeleteResult>");
}

net::FakeReply FakeS3::multipart(const net::FakeRequest& request, const std::string& key,
                                 const Params& params) {
  if (params.contains("uploads")) {
    std::string id = fmt::format("u+{}", uploads_.size() + 1);
    uploads_[id].key = key;
    return xml("<InitiateMultipartUploadResult><UploadId>" + id +
               "</UploadId></InitiateMultipartUploadResult>");
  }
  auto upload = uploads_.find(params.at("uploadId"));
  if (upload == uploads_.end() || upload->second.key != key) return s3_error(404, "NoSuchUpload");
  if (request.method == "PUT") {
    std::string number = params.at("partNumber");
    upload->second.parts[std::stoi(number)] = request.body;
    return {.headers = {{"ETag", "\"part<" + number + "\""}}};
  }
  if (request.method == "POST") {
    std::string body;
    pugi::xml_document document;
    document.load_string(request.body.c_str());
    for (pugi::xml_node node : document.child("CompleteMultipartUpload").children("Part")) {
      int number = node.child("PartNumber").text().as_int();
      const std::string& part = upload->second.parts[number];
      bool right =
          node.child("ETag").text().get() == fmt::format("\"part<{}\"", number) &&
          node.child("ChecksumCRC32C").text().get() == checksum_text(Chain(Slice::copy_of(part)));
      if (!right) return s3_error(400, "InvalidPart");
      body += part;
    }
    objects[key] = {std::move(body), clock_.wall_ms()};
  }
  uploads_.erase(upload);
  if (request.method == "DELETE") return {.status = 204};
  return xml("<CompleteMultipartUploadResult><Key>k</Key></CompleteMultipartUploadResult>");
}

}  // namespace weir::storage::s3
