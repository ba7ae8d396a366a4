// For tests: the contract that every kind of object store keeps, written once in
// object_store_contract_test.cc. A kind joins with INSTANTIATE_TEST_SUITE_P(Name,
// ObjectStoreContract, testing::Values(StoreKind{...})) in its own test file.
#pragma once
#include "runtime/temporary_folder.h"
#include "runtime/test_loop.h"
#include "storage/object_store.h"

#include <boost/asio/thread_pool.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

namespace weir::storage {

// An empty store and what it needs to live.
class StoreFixture {
 public:
  virtual ~StoreFixture() = default;
  virtual ObjectStore& store() = 0;
};

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreFixture>()> make;
  bool knows_folders = true;  // see ObjectKey
};

inline std::ostream& operator<<(std::ostream& out, const StoreKind& kind) {
  return out << kind.name;
}

class ObjectStoreContract : public testing::TestWithParam<StoreKind> {
 protected:
  ObjectStoreContract() : fixture_(GetParam().make()) {}

  ObjectStore& store() { return fixture_->store(); }
  template <typename T>
  T run(Task<T> task) {
    return run_task(context_, std::move(task));
  }
  Status put(const std::string& key, std::string_view body, PutOptions options = {}) {
    return run(store().put(key, Chain(Slice::copy_of(body)), options));
  }
  // The object's bytes, or the error as text.
  std::string get(const std::string& key) {
    auto body = run(store().get(key));
    return body ? std::string(as_text(body->bytes())) : body.error().to_string();
  }

  boost::asio::io_context context_;
  std::unique_ptr<StoreFixture> fixture_;
};

}  // namespace weir::storage
