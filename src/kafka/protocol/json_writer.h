// Writes one JSON document into a string: what `weir` prints of messages and entries. Keys and
// values in the order of the calls; commas are placed by the writer. Text that is not UTF-8 gets
// U+FFFD for each wrong byte. One thread at a time.
#pragma once
#include "base/bytes.h"
#include "base/uuid.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::kafka {

class JsonWriter {
 public:
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);

  void null();
  void boolean(bool value);
  void number(std::int64_t value);
  void real(double value);
  void string(std::string_view value);
  void uuid(const Uuid& value);
  // Bytes as hexadecimal digits.
  void bytes(Bytes value);
  void bytes(const Slice& value) { bytes(value.bytes()); }
  // Records as {"size": ..., "crc32c": ...}: enough to tell two apart.
  void records(const Slice& value) { records(Chain(value)); }
  void records(const Chain& value);
  // The place of a secret.
  void secret() { string("****"); }

  [[nodiscard]] std::string release() { return std::move(out_); }

 private:
  void open(char bracket);
  void close(char bracket);
  void separate();

  std::string out_;
  bool comma_ = false;
};

}  // namespace weir::kafka
