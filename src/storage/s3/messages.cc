#include "storage/s3/messages.h"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <charconv>
#include <sstream>

namespace weir::storage::s3 {
namespace {

std::unexpected<Error> no_answer(std::string_view what) {
  return fail(ErrorCode::kUnavailable, fmt::format("the object store's answer {}", what));
}

// The root element of that name, or an error. Documents of ours have no document type, and entities
// other than XML's own are not resolved.
Result<pugi::xml_node> read_root(pugi::xml_document& document, Bytes xml, const char* name) {
  auto parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) {
    return no_answer(fmt::format("is no XML: {} at byte {}", parsed.description(), parsed.offset));
  }
  pugi::xml_node root = document.child(name);
  if (!root) {
    return no_answer(fmt::format("is <{}>, not <{}>", document.document_element().name(), name));
  }
  return root;
}

std::string text_of(const pugi::xml_node& node, const char* name) {
  return node.child(name).text().get();
}

ErrorBody error_of(const pugi::xml_node& node) {
  return {text_of(node, "Code"), text_of(node, "Message"), text_of(node, "RequestId")};
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "17" at `at` of `text`; -1 when it is no number of two digits.
int two_digits(std::string_view text, std::size_t at) {
  if (at + 2 > text.size()) return -1;
  auto value = number_in(text.substr(at, 2));
  return value ? static_cast<int>(*value) : -1;
}

std::optional<TimestampMs> time_of(int year, int month, int day, std::string_view clock) {
  using namespace std::chrono;
  int hour = two_digits(clock, 0);
  int minute = two_digits(clock, 3);
  int second = two_digits(clock, 6);
  year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                      std::chrono::day(static_cast<unsigned>(day))};
  bool good = date.ok() && hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 &&
              second <= 60 && clock.size() >= 8 && clock[2] == ':' && clock[5] == ':';
  if (!good) return std::nullopt;
  sys_days days(date);
  return duration_cast<milliseconds>(days.time_since_epoch() + hours(hour) + minutes(minute) +
                                     seconds(second))
      .count();
}

std::string to_text(const pugi::xml_document& document) {
  std::ostringstream out;
  document.save(out, "", pugi::format_raw | pugi::format_no_declaration, pugi::encoding_utf8);
  return out.str();
}

void add_text(pugi::xml_node& to, const char* name, const std::string& text) {
  to.append_child(name).text().set(text.c_str());
}

constexpr const char* kNamespace = "http://s3.amazonaws.com/doc/2006-03-01/";

}  // namespace

std::optional<ErrorBody> parse_error(Bytes xml) {
  pugi::xml_document document;
  auto root = read_root(document, xml, "Error");
  if (!root) return std::nullopt;
  return error_of(*root);
}

Result<Listing> parse_listing(Bytes xml) {
  pugi::xml_document document;
  WEIR_TRY(pugi::xml_node root, read_root(document, xml, "ListBucketResult"));
  Listing out;
  std::string truncated = text_of(root, "IsTruncated");
  if (truncated != "true" && truncated != "false") return no_answer("does not say IsTruncated");
  out.truncated = truncated == "true";
  out.token = text_of(root, "NextContinuationToken");
  if (out.truncated && out.token.empty()) return no_answer("lacks a NextContinuationToken");
  for (pugi::xml_node node : root.children("Contents")) {
    ListedObject object;
    object.key = text_of(node, "Key");
    auto size = number_in(text_of(node, "Size"));
    auto modified = parse_iso_time(text_of(node, "LastModified"));
    if (object.key.empty() || !size || !modified) {
      return no_answer(fmt::format("has no Size or LastModified for the key '{}'", object.key));
    }
    object.size = *size;
    object.modified_ms = *modified;
    out.objects.push_back(std::move(object));
  }
  return out;
}

Result<std::string> parse_upload_id(Bytes xml) {
  pugi::xml_document document;
  WEIR_TRY(pugi::xml_node root, read_root(document, xml, "InitiateMultipartUploadResult"));
  std::string id = text_of(root, "UploadId");
  if (id.empty()) return no_answer("lacks an UploadId");
  return id;
}

Status parse_completion(Bytes xml) {
  pugi::xml_document document;
  WEIR_CHECK(read_root(document, xml, "CompleteMultipartUploadResult"));
  return {};
}

Result<std::vector<DeleteFailure>> parse_delete_failures(Bytes xml) {
  pugi::xml_document document;
  WEIR_TRY(pugi::xml_node root, read_root(document, xml, "DeleteResult"));
  std::vector<DeleteFailure> out;
  for (pugi::xml_node node : root.children("Error")) {
    out.push_back({text_of(node, "Key"), error_of(node)});
  }
  return out;
}

std::string delete_body(const std::vector<std::string>& keys) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("Delete");
  root.append_attribute("xmlns").set_value(kNamespace);
  add_text(root, "Quiet", "true");
  for (const std::string& key : keys) {
    pugi::xml_node object = root.append_child("Object");
    add_text(object, "Key", key);
  }
  return to_text(document);
}

std::string completion_body(const std::vector<UploadedPart>& parts) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  root.append_attribute("xmlns").set_value(kNamespace);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    pugi::xml_node part = root.append_child("Part");
    if (!parts[i].checksum.empty()) add_text(part, "ChecksumCRC32C", parts[i].checksum);
    add_text(part, "ETag", parts[i].etag);
    add_text(part, "PartNumber", std::to_string(i + 1));
  }
  return to_text(document);
}

std::optional<TimestampMs> parse_iso_time(std::string_view text) {
  // 2009-10-12T17:50:30Z, with a fraction or without.
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T') return std::nullopt;
  if (!text.ends_with('Z')) return std::nullopt;
  auto year = number_in(text.substr(0, 4));
  if (!year) return std::nullopt;
  auto time = time_of(static_cast<int>(*year), two_digits(text, 5), two_digits(text, 8),
                      text.substr(11, 8));
  std::string_view fraction = text.substr(19, text.size() - 20);
  if (!time || fraction.empty()) return time;
  if (fraction[0] != '.' || fraction.size() < 4) return std::nullopt;
  auto ms = number_in(fraction.substr(1, 3));
  if (!ms) return std::nullopt;
  return *time + static_cast<TimestampMs>(*ms);
}

std::optional<TimestampMs> parse_http_time(std::string_view text) {
  // Mon, 12 Oct 2009 17:50:30 GMT
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != 29 || !text.ends_with(" GMT")) return std::nullopt;
  std::size_t month = kMonths.find(text.substr(8, 3));
  auto year = number_in(text.substr(12, 4));
  if (month == std::string_view::npos || month % 3 != 0 || !year) return std::nullopt;
  return time_of(static_cast<int>(*year), static_cast<int>(month / 3) + 1, two_digits(text, 5),
                 text.substr(17, 8));
}

}  // namespace weir::storage::s3
