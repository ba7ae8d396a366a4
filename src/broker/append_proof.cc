#include "broker/append_proof.h"

#include "base/byte_writer.h"

namespace weir::broker {
namespace {

Sha256 code(const Uuid& incarnation, const ByteWriter& message) {
  ByteWriter key;
  key.uuid(incarnation);
  return hmac_sha256(key.view(), message.view());
}

}  // namespace

Sha256 proof_of(const Uuid& incarnation, const kafka::AppendEntryRequest& request) {
  ByteWriter message;
  message.text("weir append ");
  message.i32(request.broker_id);
  message.i64(request.receiver_epoch);
  message.i64(request.known);
  message.bytes(request.entry.bytes());
  return code(incarnation, message);
}

Sha256 proof_of(const Uuid& incarnation, Bytes request_proof,
                const kafka::AppendEntryResponse& response) {
  ByteWriter message;
  message.text("weir answer ");
  message.bytes(request_proof);
  message.i16(static_cast<std::int16_t>(response.error_code));
  message.i64(response.position);
  for (const auto& entry : response.entries) {
    message.u64(entry.entry.size());
    for (const Slice& piece : entry.entry.slices()) message.bytes(piece.bytes());
  }
  return code(incarnation, message);
}

bool is_proof(Bytes claimed, const Sha256& proof) {
  if (claimed.size() != proof.size()) return false;
  std::byte difference{};
  for (std::size_t i = 0; i < proof.size(); ++i) difference |= claimed[i] ^ proof[i];
  return difference == std::byte{};
}

}  // namespace weir::broker
