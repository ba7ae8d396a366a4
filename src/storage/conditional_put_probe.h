// Finds out whether a store honours PutOptions::if_absent: not every store that is called
// compatible does, and some look first and write later.
#pragma once
#include "runtime/rng.h"
#include "storage/object_store.h"

#include <string>

namespace weir::storage {

// Puts, races for and removes a few small objects below probe/, about thirty requests. `store` is
// the one to ask (with its retries), `name` what people call it. kInvalid: the store cannot be used
// where this matters; the message names it and what it did. Other errors: it was not found out.
Task<Status> probe_conditional_put(ObjectStore& store, std::string name, Rng& rng);

}  // namespace weir::storage
