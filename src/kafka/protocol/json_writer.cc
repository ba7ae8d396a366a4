#include "kafka/protocol/json_writer.h"

#include "base/crc32c.h"
#include "base/utf8.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace weir::kafka {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    char c = text.front();
    std::size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kDigits[c >> 4];
      out += kDigits[c & 15];
    } else if (length == 0) {
      out += "\\ufffd";
      length = 1;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
}

}  // namespace

void JsonWriter::separate() {
  if (comma_) out_ += ',';
  comma_ = true;
}

void JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  comma_ = false;
}

void JsonWriter::close(char bracket) {
  out_ += bracket;
  comma_ = true;
}

void JsonWriter::key(std::string_view name) {
  separate();
  out_ += '"';
  append_escaped(out_, name);
  out_ += "\":";
  comma_ = false;
}

void JsonWriter::null() {
  separate();
  out_ += "null";
}

void JsonWriter::boolean(bool value) {
  separate();
  out_ += value ? "true" : "false";
}

void JsonWriter::number(std::int64_t value) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonWriter::real(double value) {
  if (!std::isfinite(value)) return null();
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonWriter::string(std::string_view value) {
  separate();
  out_ += '"';
  append_escaped(out_, value);
  out_ += '"';
}

void JsonWriter::uuid(const Uuid& value) { string(value.to_string()); }

void JsonWriter::bytes(Bytes value) {
  separate();
  out_ += '"';
  for (std::byte b : value) {
    out_ += kDigits[std::to_integer<unsigned>(b) >> 4];
    out_ += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  out_ += '"';
}

void JsonWriter::records(const Chain& value) {
  std::uint32_t crc = 0;
  for (const Slice& slice : value.slices()) crc = crc32c(slice.bytes(), crc);
  begin_object();
  key("size");
  number(static_cast<std::int64_t>(value.size()));
  key("crc32c");
  string(fmt::format("{:08x}", crc));
  end_object();
}

}  // namespace weir::kafka
