// Fetches that wait for data (long polls). A waiting fetch enlists with the partitions it asked
// for; the coordinator's thread wakes it when an applied entry moves one of them, whichever broker
// wrote that entry.
//
// Each core has a list of its own, locked by that core and, for the time of a look-up, by the
// coordinator's thread.
#pragma once
#include "base/ids.h"
#include "metadata/coordinator.h"
#include "runtime/oneshot.h"

#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace weir::fetch {

class Waiters final : public metadata::CommitListener {
 public:
  explicit Waiters(std::size_t cores);

  // A place in the list, left when it dies. `woken` is set to true by the first change of any of
  // the partitions.
  class Enlisted {
   public:
    Enlisted(Waiters& owner, std::size_t core, std::vector<TopicPartition> partitions,
             OneShot<bool> woken);
    ~Enlisted();
    Enlisted(const Enlisted&) = delete;
    Enlisted& operator=(const Enlisted&) = delete;

   private:
    friend class Waiters;
    Waiters& owner_;
    std::size_t core_;
    std::vector<TopicPartition> partitions_;
    OneShot<bool> woken_;
  };

  void on_partitions_advanced(std::span<const TopicPartition> partitions) override;
  // Topics may have gone: all fetches look again.
  void on_image_changed() override { wake_all(); }
  void wake_all();
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Core {
    mutable std::mutex mutex;
    std::unordered_multimap<TopicPartition, Enlisted*> by_partition;
  };

  std::vector<std::unique_ptr<Core>> cores_;
};

}  // namespace weir::fetch
