#include "sim/checkers.h"

#include <fmt/format.h>

#include <unordered_map>

namespace weir::sim {
namespace {

class OneState final : public Checker {
 public:
  const char* name() const override { return "one state at one position"; }
  void on_state(std::int64_t position, std::uint64_t hash) override {
    auto [found, is_new] = hashes_.try_emplace(position, hash);
    if (!is_new && found->second != hash) {
      violate("states",
              fmt::format("position {}: {:016x} and {:016x}", position, found->second, hash));
    }
  }

 private:
  std::unordered_map<std::int64_t, std::uint64_t> hashes_;
};

class FencedStayOut final : public Checker {
 public:
  const char* name() const override { return "entries of fenced brokers have no effect"; }
  void on_fenced_entry(BrokerId broker, BrokerEpoch epoch, std::int64_t position) override {
    violate("", fmt::format("entry {} of broker {} took effect, and its epoch {} was over",
                            position, broker, epoch));
  }
};

class SnapshotsStay final : public Checker {
 public:
  const char* name() const override { return "there is always a snapshot to start from"; }
  void on_snapshot_lost(const std::string& why) override { violate("snapshots", why); }
};

class StoredBeforeCommitted final : public Checker {
 public:
  const char* name() const override { return "an object is stored before it is committed"; }
  void on_object_committed(const std::string& key, bool is_stored) override {
    if (!is_stored) violate(key, fmt::format("{} is committed, and not in the store", key));
  }
};

class ReferencedObjectsStay final : public Checker {
 public:
  const char* name() const override { return "no object is deleted while referenced"; }
  void on_object_removed(const Removal& removal) override {
    if (removal.is_referenced) violate(removal.key, fmt::format("{} is deleted", removal.key));
  }
};

class OrphansKeepTheirGrace final : public Checker {
 public:
  const char* name() const override { return "orphans are deleted after their grace period"; }
  void on_object_removed(const Removal& removal) override {
    if (!removal.is_foreign || removal.age >= removal.grace) return;
    violate(
        removal.key,
        fmt::format("{} is deleted after {} ms", removal.key,
                    std::chrono::duration_cast<std::chrono::milliseconds>(removal.age).count()));
  }
};

class UnneededObjectsKeepTheirGrace final : public Checker {
 public:
  const char* name() const override {
    return "unneeded objects are deleted after their grace period";
  }
  void on_object_removed(const Removal& removal) override {
    if (!removal.unneeded_for || *removal.unneeded_for >= removal.delete_grace) return;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(*removal.unneeded_for);
    violate(removal.key, fmt::format("{} is deleted {} ms after it lost its last extent",
                                     removal.key, ms.count()));
  }
};

class NothingIsLeft final : public Checker {
 public:
  const char* name() const override { return "no object is left that nobody needs"; }
  void on_left_object(const std::string& key, const std::string& why) override {
    violate(key, fmt::format("{} is there: {}", key, why));
  }
};

class ReferencesAreCounted final : public Checker {
 public:
  const char* name() const override { return "references of objects are counted"; }
  void on_references(const std::string& key, std::uint64_t counted, std::uint64_t real) override {
    if (counted == real) return;
    violate(key, fmt::format("{} has {} extents, and {} are counted", key, real, counted));
  }
};

class ExtentsAreReadable final : public Checker {
 public:
  const char* name() const override { return "every extent is readable"; }
  void on_extent(const std::string& what, const std::string& error) override {
    if (!error.empty()) violate(what, fmt::format("{}: {}", what, error));
  }
};

class MemoryIsBounded final : public Checker {
 public:
  const char* name() const override { return "memory stays within limits and is given back"; }
  void on_memory(const MemoryUse& use) override {
    if (use.used <= (use.is_idle ? 0 : use.limit)) return;
    violate(fmt::format("broker {}", use.broker),
            fmt::format("broker {} uses {} bytes of {}{}", use.broker, use.used, use.limit,
                        use.is_idle ? ", and nothing is asked of it" : ""));
  }
};

class FetchesWake final : public Checker {
 public:
  const char* name() const override { return "a commit wakes the fetches that wait for it"; }
  void on_wake_up(BrokerId broker, Duration delay) override {
    constexpr Duration kMost = std::chrono::seconds(3);
    if (delay <= kMost) return;
    violate(
        fmt::format("broker {}", broker),
        fmt::format("a fetch at broker {} was answered {} ms after its record was acknowledged",
                    broker, std::chrono::duration_cast<std::chrono::milliseconds>(delay).count()));
  }
};

class Liveness final : public Checker {
 public:
  const char* name() const override { return "liveness"; }
  void on_stuck(const std::string& subject, const std::string& what) override {
    violate(subject, what);
  }
};

class RestoresAreNoticed final : public Checker {
 public:
  const char* name() const override { return "a log that went back is noticed"; }
  void on_restore_unnoticed(BrokerId broker) override {
    violate(
        fmt::format("broker {}", broker),
        fmt::format("broker {} goes on with a log that was restored to an older state", broker));
  }
  void on_divergence(BrokerId broker, const std::string& why, bool was_restored) override {
    if (was_restored) return;
    violate(fmt::format("broker {}", broker),
            fmt::format("broker {} fails, and nobody put the log back: {}", broker, why));
  }
  void on_answer_of_lost_history(BrokerId broker) override {
    violate(fmt::format("broker {}", broker),
            fmt::format("broker {} answers from a history that it knows is lost", broker));
  }
};

}  // namespace

void add_broker_checkers(Checkers& all) {
  all.push_back(std::make_unique<OneState>());
  all.push_back(std::make_unique<FencedStayOut>());
  all.push_back(std::make_unique<SnapshotsStay>());
  all.push_back(std::make_unique<StoredBeforeCommitted>());
  all.push_back(std::make_unique<ReferencedObjectsStay>());
  all.push_back(std::make_unique<OrphansKeepTheirGrace>());
  all.push_back(std::make_unique<UnneededObjectsKeepTheirGrace>());
  all.push_back(std::make_unique<NothingIsLeft>());
  all.push_back(std::make_unique<ReferencesAreCounted>());
  all.push_back(std::make_unique<ExtentsAreReadable>());
  all.push_back(std::make_unique<MemoryIsBounded>());
  all.push_back(std::make_unique<FetchesWake>());
  all.push_back(std::make_unique<Liveness>());
  all.push_back(std::make_unique<RestoresAreNoticed>());
}

}  // namespace weir::sim
