// What shows that the two ends of an AppendEntry request can both read the metadata log: a code
// over the message whose key is the incarnation in the receiver's registration. A broker draws it
// for each registration, from a source of its own (LogCoordinatorOptions), and shows it to no
// client. Whoever can read the log could append to it by itself, so this lets nobody do more.
//
// Pure functions. RFC 2104 with SHA-256.
#pragma once
#include "base/sha256.h"
#include "kafka/protocol/messages/append_entry.h"
#include "metadata/state/image.h"

namespace weir::broker {

[[nodiscard]] Sha256 proof_of(const Uuid& incarnation, const kafka::AppendEntryRequest& request);
// Covers the request that it answers, too.
[[nodiscard]] Sha256 proof_of(const Uuid& incarnation, Bytes request_proof,
                              const kafka::AppendEntryResponse& response);
// In a time that does not depend on how much of it is right.
[[nodiscard]] bool is_proof(Bytes claimed, const Sha256& proof);

}  // namespace weir::broker
