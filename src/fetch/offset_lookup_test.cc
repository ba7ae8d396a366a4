#include "fetch/offset_lookup.h"

#include "fetch/fetcher_fixture.h"

namespace weir::fetch {
namespace {

class OffsetLookupTest : public FetcherTest {
 protected:
  metadata::PartitionView view() { return coordinator_.image()->topic("t")->partition(0)->view(); }
  std::optional<FoundOffset> at_or_after(TimestampMs target) {
    return *run_task(context_, lookup_.at_or_after(view(), target));
  }
  std::optional<FoundOffset> greatest() { return *run_task(context_, lookup_.greatest(view())); }

  OffsetLookup lookup_{reader_};
};

TEST_F(OffsetLookupTest, FindsTheRecordNotTheBatch) {
  commit(0, {batch_of({10, 20, 30})});
  commit(0, {batch_of({40, 50})});
  EXPECT_EQ(at_or_after(20)->offset, 1);
  EXPECT_EQ(at_or_after(21)->offset, 2);
  EXPECT_EQ(at_or_after(21)->timestamp, 30);
  EXPECT_EQ(at_or_after(31)->offset, 3);
  EXPECT_EQ(at_or_after(0)->offset, 0);
  EXPECT_FALSE(at_or_after(51));
}

TEST_F(OffsetLookupTest, CreateTimesNeedNotBeSorted) {
  commit(0, {batch_of({10, 90, 20})});
  commit(0, {batch_of({30, 40})});
  EXPECT_EQ(at_or_after(35)->offset, 1);
  EXPECT_EQ(greatest()->offset, 1);
}

TEST_F(OffsetLookupTest, RecordsBeforeTheLogStartDoNotCount) {
  commit(0, {batch_of({90, 20, 30})});
  coordinator_.apply(
      metadata::TrimLogs{.trims = {{.topic = kTopic, .partition = 0, .log_start = 1}}});
  EXPECT_EQ(at_or_after(10)->offset, 1);
  EXPECT_FALSE(at_or_after(31));
  commit(0, {batch_of({30, 95})});
  EXPECT_EQ(at_or_after(31)->offset, 4);
}

TEST_F(OffsetLookupTest, DamageIsForgotten) {
  reader_.damaged.insert(commit(0, {batch_of({10})}));
  EXPECT_EQ(run_task(context_, lookup_.at_or_after(view(), 1)).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(reader_.forgotten, reader_.damaged);
  reader_.forgotten.clear();
  EXPECT_EQ(run_task(context_, lookup_.greatest(view())).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(reader_.forgotten, reader_.damaged);
}

TEST_F(OffsetLookupTest, TheGreatestIsTheFirstOfEqualOnes) {
  EXPECT_FALSE(greatest());
  commit(0, {batch_of({10, 50, 50})});
  commit(0, {batch_of({50})});
  EXPECT_EQ(greatest()->offset, 1);
  EXPECT_EQ(greatest()->timestamp, 50);
}

TEST_F(OffsetLookupTest, WithLogAppendTimeTheFirstRecordOfTheBatchIsFound) {
  log_append_time_ = true;
  commit(0, {batch_of({10, 20, 30})});
  EXPECT_EQ(at_or_after(clock_.wall_ms())->offset, 0);
  EXPECT_EQ(at_or_after(1)->timestamp, clock_.wall_ms());
  EXPECT_FALSE(at_or_after(clock_.wall_ms() + 1));
}

}  // namespace
}  // namespace weir::fetch
