#include "metadata/log/postgres_batch.h"

#include "base/big_endian.h"
#include "base/byte_writer.h"

#include <fmt/format.h>

namespace weir::metadata {
namespace {

constexpr std::uint32_t kBytea = 17;  // the number of the type in every PostgreSQL

Result<Bytes> value(const PgRows& rows, std::size_t row, int column, std::size_t size) {
  const int at = static_cast<int>(row);
  if (pg_is_null(rows, row, column)) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("postgres: no value in row {}, column {}", row, column));
  }
  const auto length = static_cast<std::size_t>(PQgetlength(rows.get(), at, column));
  if (size != 0 && length != size) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("postgres: a value of {} bytes, not {}", length, size));
  }
  return std::as_bytes(std::span(PQgetvalue(rows.get(), at, column), length));
}

ErrorCode code_of(std::string_view state) {
  if (state == "53100") return ErrorCode::kExhausted;  // disk full
  if (state == "57014") return ErrorCode::kTimeout;    // statement_timeout, or cancelled
  if (state == "XX001" || state == "XX002") return ErrorCode::kCorrupt;
  if (state.starts_with("22")) return ErrorCode::kInvalid;
  return ErrorCode::kUnavailable;
}

std::string_view field(const PGresult* result, int name) {
  const char* text = PQresultErrorField(result, name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

PgParams& PgParams::integer(std::int64_t value) {
  store_big_endian(values_.emplace_back(sizeof value).data(), value);
  return *this;
}

PgParams& PgParams::text(std::string_view value) {
  const Bytes bytes = as_bytes(value);
  values_.emplace_back(bytes.begin(), bytes.end());
  return *this;
}

PgParams& PgParams::byte_strings(std::span<const Slice> values) {
  constexpr std::size_t kHeader = 20;
  constexpr std::size_t kLength = 4;
  ByteWriter out;
  std::size_t size = kHeader;
  for (const Slice& one : values) size += kLength + one.size();
  out.reserve(size);
  out.i32(1);  // dimensions
  out.i32(0);  // no NULL among them
  out.u32(kBytea);
  out.i32(static_cast<std::int32_t>(values.size()));
  out.i32(1);  // the first index
  for (const Slice& one : values) {
    out.i32(static_cast<std::int32_t>(one.size()));
    out.bytes(one.bytes());
  }
  values_.push_back(out.release());
  return *this;
}

std::size_t pg_row_count(const PgRows& rows) {
  return static_cast<std::size_t>(PQntuples(rows.get()));
}

bool pg_is_null(const PgRows& rows, std::size_t row, int column) {
  return PQgetisnull(rows.get(), static_cast<int>(row), column) != 0;
}

Result<std::int64_t> pg_integer(const PgRows& rows, std::size_t row, int column) {
  WEIR_TRY(const Bytes bytes, value(rows, row, column, sizeof(std::int64_t)));
  return load_big_endian<std::int64_t>(bytes.data());
}

Result<bool> pg_flag(const PgRows& rows, std::size_t row, int column) {
  WEIR_TRY(const Bytes bytes, value(rows, row, column, 1));
  return bytes.front() != std::byte{0};
}

Result<Bytes> pg_bytes(const PgRows& rows, std::size_t row, int column) {
  return value(rows, row, column, 0);
}

Error pg_error(const PGresult* result) {
  const std::string_view state = field(result, PG_DIAG_SQLSTATE);
  const std::string_view message = field(result, PG_DIAG_MESSAGE_PRIMARY);
  return {code_of(state), fmt::format("postgres: {} (SQLSTATE {})",
                                      message.empty() ? "the connection broke" : message,
                                      state.empty() ? "none" : state)};
}

bool pg_is_fatal(const PGresult* result) {
  const std::string_view severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  return severity == "FATAL" || severity == "PANIC" || severity.empty();
}

}  // namespace weir::metadata
