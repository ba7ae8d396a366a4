#include "sim/checkers.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

// Who asks for a group's offset is told of what had been committed before, or of something later.
// What was committed long ago may have expired.
class CommittedOffsetsStay final : public Checker {
 public:
  const char* name() const override { return "committed offsets neither vanish nor go back"; }
  void on_committed(const Commit& commit) override {
    Series& series = series_[{commit.group, commit.where}];
    auto& known = series.known;
    const Offset last = known.empty() ? kNoOffset : known.rbegin()->second.highest;
    known[commit.at] = {.offset = commit.offset,
                        .highest = std::max(last, commit.offset),
                        .lasts_until = commit.lasts_until};
    while (known.begin()->second.lasts_until < latest_) {
      known.erase(known.begin());
      series.has_expired = true;
      if (known.empty()) return;
    }
  }
  void on_committed_read(const std::string& group, const Where& where, Moment asked,
                         MonoTime answered, Offset offset) override {
    latest_ = std::max(latest_, answered);
    const Offset least = series_[{group, where}].least(asked, answered);
    if (offset >= least) return;
    violate(group, fmt::format("{}: {} has {} and was told that {} stands", group, to_string(where),
                               offset, least));
  }

 private:
  struct Known {
    Offset offset = 0;
    Offset highest = 0;  // of all until then
    MonoTime lasts_until;
  };
  struct Series {
    std::map<Moment, Known> known;
    bool has_expired = false;  // the first ones

    [[nodiscard]] Offset least(Moment asked, MonoTime answered) const {
      const auto end = known.lower_bound(asked);
      if (end == known.begin()) return kNoOffset;
      if (!has_expired && known.begin()->second.lasts_until > answered)
        return std::prev(end)->second.highest;
      Offset least = kNoOffset;
      for (auto at = known.begin(); at != end; ++at) {
        if (at->second.lasts_until > answered) least = std::max(least, at->second.offset);
      }
      return least;
    }
  };
  std::map<std::pair<std::string, Where>, Series> series_;
  MonoTime latest_{};
};

class OffsetsLast final : public Checker {
 public:
  const char* name() const override { return "no offset expires before its time"; }
  void on_expired(const Expiry& expiry) override {
    if (!expiry.has_members && expiry.early_ms <= 0) return;
    violate(expiry.group,
            fmt::format("an offset of {} was removed as expired, {} ms before its time, {}",
                        expiry.group, expiry.early_ms,
                        expiry.has_members ? "while it has members" : "without members"));
  }
};

class GroupsGo final : public Checker {
 public:
  const char* name() const override { return "no group is left that nobody needs"; }
  void on_left_group(const std::string& group, const std::string& why) override {
    violate(group, fmt::format("{} is left: {}", group, why));
  }
};

// A group that was deleted begins with the first generation again.
class OfGenerations : public Checker {
 public:
  void on_member(const std::string& member, std::uint64_t life) override { lives_[member] = life; }

 protected:
  [[nodiscard]] std::uint64_t life_of(const std::string& member) const {
    auto at = lives_.find(member);
    return at == lives_.end() ? 0 : at->second;
  }

 private:
  std::map<std::string, std::uint64_t> lives_;
};

// In one generation, a partition belongs to one member; a static one may have come back under
// another id.
class OneOwner final : public OfGenerations {
 public:
  const char* name() const override { return "one owner of a partition in a generation"; }
  void on_assigned(const Assignment& assignment) override {
    const std::string& owner =
        assignment.instance.empty() ? assignment.member : assignment.instance;
    for (PartitionIndex partition : assignment.partitions) {
      auto [found, is_new] = owners_.try_emplace(
          {assignment.group, life_of(assignment.member), assignment.generation, partition}, owner);
      if (is_new || found->second == owner) continue;
      violate(
          assignment.group,
          fmt::format("{}, generation {}: partition {} belongs to {} and to {}", assignment.group,
                      assignment.generation, partition, found->second, owner));
    }
  }

 private:
  std::map<std::tuple<std::string, std::uint64_t, std::int32_t, PartitionIndex>, std::string>
      owners_;
};

// Once a member was given its part of a generation, no commit of an older one is taken.
class OldGenerationsAreRefused final : public OfGenerations {
 public:
  const char* name() const override { return "commits of old generations are refused"; }
  void on_assigned(const Assignment& assignment) override {
    generations_[{assignment.group, life_of(assignment.member)}].try_emplace(assignment.generation,
                                                                             assignment.at);
  }
  void on_committed(const Commit& commit) override {
    if (commit.generation < 0) return;
    const auto& generations = generations_[{commit.group, life_of(commit.member)}];
    for (auto later = generations.upper_bound(commit.generation); later != generations.end();
         ++later) {
      if (later->second > commit.sent) continue;
      violate(commit.group,
              fmt::format("{}: a commit of generation {} was taken after generation {} had begun",
                          commit.group, commit.generation, later->first));
      return;
    }
  }

 private:
  std::map<std::pair<std::string, std::uint64_t>, std::map<std::int32_t, Moment>> generations_;
};

// Who comes back with the instance of a static member has its place, and the one before has none
// (KIP-345).
class ReplacedMembersAreRefused final : public Checker {
 public:
  const char* name() const override { return "commits of replaced static members are refused"; }
  void on_joined(const Joined& joined) override {
    latest_[{joined.group, joined.instance}] = joined;
  }
  void on_committed(const Commit& commit) override {
    const auto joined = latest_.find({commit.group, commit.instance});
    if (joined == latest_.end() || commit.sent <= joined->second.at) return;
    if (joined->second.member == commit.member) return;
    violate(commit.group, fmt::format("{}: a commit of {} was taken after {} had its place",
                                      commit.instance, commit.member, joined->second.member));
  }

 private:
  std::map<std::pair<std::string, std::string>, Joined> latest_;
};

}  // namespace

void add_group_checkers(Checkers& all) {
  all.push_back(std::make_unique<CommittedOffsetsStay>());
  all.push_back(std::make_unique<OffsetsLast>());
  all.push_back(std::make_unique<GroupsGo>());
  all.push_back(std::make_unique<OneOwner>());
  all.push_back(std::make_unique<OldGenerationsAreRefused>());
  all.push_back(std::make_unique<ReplacedMembersAreRefused>());
}

}  // namespace weir::sim
