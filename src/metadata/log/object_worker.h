// What an ObjectLog does on its executor: writing groups, looking for the end. Internal to
// ObjectLog.
#pragma once
#include "metadata/log/append_queue.h"
#include "metadata/log/object_chain.h"
#include "metadata/log/object_log.h"
#include "metadata/log/tail_watch.h"
#include "runtime/clock.h"
#include "runtime/notifier.h"
#include "runtime/oneshot.h"
#include "runtime/rng.h"
#include "runtime/task_group.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace weir::metadata {

class ObjectLog::Worker {
 public:
  Worker(storage::ObjectStore& store, std::string where, Clock& clock, Executor executor,
         ObjectLogOptions options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // These block until the executor's thread has done it.
  [[nodiscard]] Status probe() { return run_blocking(try_out()); }
  // kInvalid: there is none.
  [[nodiscard]] Status find_log() { return run_blocking(find_any()); }
  // Runs a call on the executor.
  template <typename T>
  Task<T> perform(std::function<Task<T>()> call) {
    OneShot<T> done;
    group_.spawn(executor_, answer(std::move(call), done));
    co_return co_await done.wait();
  }

  // There:
  enum class Whose { kOwn, kAnothers };
  Task<Result<Appended>> append(Slice entry, Position known, Whose whose);
  Task<Result<std::vector<LogEntry>>> read(Position after, ByteCount limit);
  Task<Result<Position>> tail();
  Task<Result<SnapshotRef>> latest_snapshot();
  Task<Status> record_snapshot(SnapshotRef ref);
  Task<Status> trim(Position upto);
  Task<Result<Uuid>> cluster_id(Uuid proposal);
  // On any:
  Task<void> wait_past(Position position, MonoTime deadline);
  void heard_of(Position position, MonoTime began) {
    group_.spawn(executor_, expect(position, began));
  }
  Task<void> stop();

 private:
  using Pending = std::vector<PendingAppend>;

  Status run_blocking(Task<Status> task);
  // Whether the store can be used; asked until it is known.
  Task<Status> try_out();
  Task<Status> find_any();

  template <typename T>
  static Task<void> answer(std::function<Task<T>()> call, OneShot<T> done) {
    done.set(co_await call());
  }
  Task<void> write_groups();
  Task<Result<std::optional<object_log::Group>>> put_group(Position first,
                                                           std::vector<Slice> entries);
  // Writes a beginning of `group`, which is taken off it.
  Task<Status> write_some(Pending& group);
  // How long to wait after a group that took so long.
  [[nodiscard]] Duration rest_after(Duration group) const;
  Task<void> answer_appends(Pending& group, std::size_t count, Position first);
  // All numbers under a prefix, in order.
  Task<Result<std::vector<Position>>> numbers(std::string_view prefix);
  Task<Status> remove_all_but_last(std::string_view prefix);
  Task<Status> delete_trimmed();
  Task<void> expect(Position position, MonoTime began);
  // Whether all that append seem to do it through this broker.
  [[nodiscard]] bool writes_for_all() const;
  Task<Status> look(ObjectChain::Upto upto);
  Task<void> poll();

  Clock& clock_;
  const std::string where_;  // for messages
  Rng rng_;                  // as what follows "of the executor"
  storage::RetryingStore store_;
  const Executor executor_;
  TaskGroup group_;
  TailWatch watch_;
  std::atomic<int> waiting_ = 0;  // tasks in wait_past
  std::atomic<bool> polls_ = false;
  Notifier somebody_waits_;

  // Of the executor.
  std::optional<Status> fit_;  // the store, once it is known
  ObjectChain chain_;
  AppendQueue queue_;
  bool writing_ = false;
  Uuid writer_;                               // of the group that was written last
  MonoTime looked_;                           // when this end was the end
  MonoTime met_{-std::chrono::hours(1)};      // when another's group was met
  MonoTime carried_{-std::chrono::hours(1)};  // when another's entry was handed over
  MonoTime heard_;                            // to when what was heard of tells the end
  MonoTime rest_until_;
};

}  // namespace weir::metadata
