// The history of one client: what it did and what it was told, one JSON object a line on standard
// output. tests/real/history.py reads and judges it; it tells what the fields mean.
//
// Belongs to one thread, the one that polls the client. Holds at most one line of polled records.
#pragma once
#include "client.h"

namespace weir::clients {

// The part of a record's value that identifies it: what stands before the padding.
std::string name_of(const rd_kafka_message_t& message);

// Microseconds of the machine's monotonic time, which Python's time.monotonic() also shows.
std::int64_t now_us();

class History {
 public:
  // `kind`: idempotent, plain, reader, final, or group:NAME.
  History(std::string process, const std::string& kind);
  ~History() { flush(); }
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // A delivery report: a record is acknowledged, certainly not stored, or of unknown fate.
  void sent(const rd_kafka_message_t& message);
  // A record, or the error of a partition, as a consumer got it.
  void polled(const rd_kafka_message_t& message);
  // From here on the partitions are read from these offsets, which were asked for at `since`.
  // RD_KAFKA_OFFSET_INVALID: the group has committed none; RD_KAFKA_OFFSET_STORED: nobody told.
  void assigned(const rd_kafka_topic_partition_list_t& partitions, std::int64_t since);
  void revoked(const rd_kafka_topic_partition_list_t& partitions);
  // The outcome of a commit that was asked for at `since`.
  void committed(const rd_kafka_topic_partition_list_t& partitions, rd_kafka_resp_err_t error,
                 std::int64_t since);
  // Hands all lines to the file.
  void flush();

 private:
  void begin(const char* op) const;
  void end_polls();

  const std::string process_;
  // The line of polled records that grows: records that follow each other.
  std::int32_t partition_ = -1;
  std::int64_t first_ = 0;
  std::int64_t next_ = 0;
  std::string values_;
};

}  // namespace weir::clients
