#include "sim/checkers.h"

#include <fmt/format.h>

namespace weir::sim {
namespace {

// Who asks for a group's offset is told of what had been committed before, or of something later.
class CommittedOffsetsStay final : public Checker {
 public:
  const char* name() const override { return "committed offsets neither vanish nor go back"; }
  void on_committed(const Commit& commit) override {
    auto& known = known_[{commit.group, commit.where}];
    const Offset last = known.empty() ? 0 : known.rbegin()->second;
    known[commit.at] = std::max(last, commit.offset);
  }
  void on_committed_read(const std::string& group, const Where& where, Moment asked,
                         Offset offset) override {
    const auto& known = known_[{group, where}];
    auto after = known.lower_bound(asked);
    if (after == known.begin() || offset >= std::prev(after)->second) return;
    violate(group, fmt::format("{}: {} has {} and was told that {} stands", group, to_string(where),
                               offset, std::prev(after)->second));
  }

 private:
  std::map<std::pair<std::string, Where>, std::map<Moment, Offset>> known_;
};

// In one generation, a partition belongs to one member.
class OneOwner final : public Checker {
 public:
  const char* name() const override { return "one owner of a partition in a generation"; }
  void on_assigned(const Assignment& assignment) override {
    for (PartitionIndex partition : assignment.partitions) {
      auto [found, is_new] = owners_.try_emplace(
          {assignment.group, assignment.generation, partition}, assignment.member);
      if (is_new || found->second == assignment.member) continue;
      violate(
          assignment.group,
          fmt::format("{}, generation {}: partition {} belongs to {} and to {}", assignment.group,
                      assignment.generation, partition, found->second, assignment.member));
    }
  }

 private:
  std::map<std::tuple<std::string, std::int32_t, PartitionIndex>, std::string> owners_;
};

// Once a member was given its part of a generation, no commit of an older one is taken.
class OldGenerationsAreRefused final : public Checker {
 public:
  const char* name() const override { return "commits of old generations are refused"; }
  void on_assigned(const Assignment& assignment) override {
    generations_[assignment.group].try_emplace(assignment.generation, assignment.at);
  }
  void on_committed(const Commit& commit) override {
    if (commit.generation < 0) return;
    const auto& generations = generations_[commit.group];
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
  std::map<std::string, std::map<std::int32_t, Moment>> generations_;
};

}  // namespace

void add_group_checkers(Checkers& all) {
  all.push_back(std::make_unique<CommittedOffsetsStay>());
  all.push_back(std::make_unique<OneOwner>());
  all.push_back(std::make_unique<OldGenerationsAreRefused>());
}

}  // namespace weir::sim
