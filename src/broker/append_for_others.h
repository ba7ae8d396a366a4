// The receiving end of AppendEntry: appends an entry that another broker of the cluster hands over
// (metadata/sequenced_log.h).
#pragma once
#include "kafka/protocol/messages/append_entry.h"
#include "metadata/log/metadata_log.h"
#include "metadata/state/image.h"

#include <memory>

namespace weir::broker {

// `cluster` as broker `self` sees it now. `log`: where to append; null: this broker appends for
// nobody. What the request refers to lives until the answer.
Task<kafka::AppendEntryResponse> append_for_others(
    std::shared_ptr<const metadata::ClusterImage> cluster, BrokerId self,
    metadata::MetadataLog* log, const kafka::AppendEntryRequest& request);

}  // namespace weir::broker
