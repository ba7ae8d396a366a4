// What goes to PostgreSQL and what comes back: steps (statements with parameters), the batch that
// is sent in one go, its rows. All values are in PostgreSQL's binary format. Internal to the
// postgres backend. Values.
#pragma once
#include "base/bytes.h"
#include "base/error.h"

#include <libpq-fe.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::metadata {

struct PgClear {
  void operator()(PGresult* result) const { PQclear(result); }
};
// The rows of one step, which may be none.
using PgRows = std::unique_ptr<PGresult, PgClear>;

class PgParams {
 public:
  PgParams& integer(std::int64_t value);
  PgParams& text(std::string_view value);
  // One bytea[].
  PgParams& byte_strings(std::span<const Slice> values);
  [[nodiscard]] const std::vector<std::vector<std::byte>>& values() const { return values_; }

 private:
  std::vector<std::vector<std::byte>> values_;
};

struct PgStep {
  enum class Kind : std::uint8_t {
    kStatement,  // `what` is SQL
    kPrepare,    // `what` is SQL, kept under `name`
    kPrepared,   // runs the one kept under `name`
  };
  // One transaction reaches from the start, or from the end of the one before, to here.
  enum class Commit : std::uint8_t { kNotYet, kHere };

  Kind kind = Kind::kPrepared;
  std::string name;
  std::string what;
  PgParams params;
  Commit commit = Commit::kHere;

  [[nodiscard]] static PgStep sql(std::string text) {
    return {.kind = Kind::kStatement, .name = {}, .what = std::move(text), .params = {}};
  }
  [[nodiscard]] static PgStep prepare(std::string name, std::string text) {
    return {.kind = Kind::kPrepare,
            .name = std::move(name),
            .what = std::move(text),
            .params = {},
            .commit = Commit::kNotYet};
  }
  [[nodiscard]] static PgStep run(std::string name, PgParams params = {}) {
    return {.name = std::move(name), .what = {}, .params = std::move(params)};
  }
  [[nodiscard]] PgStep then_more() && {
    commit = Commit::kNotYet;
    return std::move(*this);
  }
};

// One for each step, in their order.
using PgAnswer = std::vector<PgRows>;

struct PgBatch {
  std::vector<PgStep> steps;  // the last one commits
  std::move_only_function<void(Result<PgAnswer>)> done;
};

[[nodiscard]] std::size_t pg_row_count(const PgRows& rows);
// Of a column that is not NULL and has the type (kCorrupt otherwise).
[[nodiscard]] Result<std::int64_t> pg_integer(const PgRows& rows, std::size_t row, int column);
[[nodiscard]] Result<bool> pg_flag(const PgRows& rows, std::size_t row, int column);
// Text or bytea. The bytes live as long as the rows.
[[nodiscard]] Result<Bytes> pg_bytes(const PgRows& rows, std::size_t row, int column);
[[nodiscard]] bool pg_is_null(const PgRows& rows, std::size_t row, int column);

// What an error result of the server means to a caller, with the server's text and SQLSTATE.
[[nodiscard]] Error pg_error(const PGresult* result);
// True: the server ends the connection with it, and did nothing of what follows.
[[nodiscard]] bool pg_is_fatal(const PGresult* result);

}  // namespace weir::metadata
