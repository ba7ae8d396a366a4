// The APIs that this broker serves; dispatcher.cc puts them into one table.
#pragma once
#include "broker/api.h"

namespace weir::broker {

extern const ApiHandler kProduceApi;
extern const ApiHandler kFetchApi;
extern const ApiHandler kListOffsetsApi;
extern const ApiHandler kMetadataApi;
extern const ApiHandler kApiVersionsApi;
extern const ApiHandler kCreateTopicsApi;
extern const ApiHandler kDeleteTopicsApi;
extern const ApiHandler kCreatePartitionsApi;
extern const ApiHandler kDeleteRecordsApi;
extern const ApiHandler kDescribeConfigsApi;
extern const ApiHandler kAlterConfigsApi;
extern const ApiHandler kIncrementalAlterConfigsApi;
extern const ApiHandler kDescribeClusterApi;
extern const ApiHandler kDescribeTopicPartitionsApi;
extern const ApiHandler kInitProducerIdApi;
extern const ApiHandler kFindCoordinatorApi;
extern const ApiHandler kJoinGroupApi;
extern const ApiHandler kSyncGroupApi;
extern const ApiHandler kHeartbeatApi;
extern const ApiHandler kLeaveGroupApi;
extern const ApiHandler kOffsetCommitApi;
extern const ApiHandler kOffsetFetchApi;
extern const ApiHandler kListGroupsApi;
extern const ApiHandler kDescribeGroupsApi;
extern const ApiHandler kDeleteGroupsApi;
extern const ApiHandler kOffsetDeleteApi;
extern const ApiHandler kOffsetForLeaderEpochApi;
extern const ApiHandler kAppendEntryApi;

}  // namespace weir::broker
