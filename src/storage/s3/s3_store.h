// The object store on S3 and what is compatible with it (storage/s3/dialect.h names the
// differences). One request for a call, but for large objects, which go up in parts.
//
// As every ObjectStore, but: that a key is the folder of another is not noticed, S3 knows no
// folders. Callers' executors must be serial and outlive the store. A put with if_absent whose
// answer was lost answers an error; storage/retrying_store.h finds out whether it took effect.
#pragma once
#include "runtime/backoff.h"
#include "runtime/rng.h"
#include "storage/object_store.h"
#include "storage/s3/s3_client.h"

#include <memory>
#include <mutex>

namespace weir::storage::s3 {

struct S3StoreOptions {
  // Larger objects are uploaded in parts, a few at a time. A put with if_absent never is: not every
  // store that honours the condition does so when an upload is completed.
  ByteCount multipart_above = 64_MiB;
  ByteCount part_size = 16_MiB;
  std::size_t parts_at_once = 4;
  net::HttpClientLimits http;
};

// What a store is made of; the connectors outlive what uses them.
struct S3Parts {
  std::unique_ptr<net::Connector> connector;
  std::unique_ptr<net::Connector> key_connector;  // of the credentials; may be null
  std::unique_ptr<CredentialCache> credentials;
};

class S3Store final : public ObjectStore {
 public:
  S3Store(const Target& target, S3Parts parts, Clock& clock, Rng rng,
          const S3StoreOptions& options = {});

  Task<Status> put(ObjectKey key, Chain body, PutOptions options) override;
  Task<Result<Slice>> get(ObjectKey key) override;
  Task<Result<Slice>> get_range(ObjectKey key, ByteRange range) override;
  Task<Result<ObjectInfo>> head(ObjectKey key) override;
  Task<Status> remove(std::vector<ObjectKey> keys) override;
  Task<Result<ListPage>> list(std::string prefix, std::string after, std::size_t limit) override;

  S3Client& client() { return client_; }

 private:
  [[nodiscard]] std::string full(const ObjectKey& key) const { return target_.prefix + key; }
  [[nodiscard]] bool has_checksum_of_parts(const net::HttpAnswer& answer) const;
  void add_checksum(net::HttpHeaders& headers, const Chain& body) const;
  Task<Status> remove_one(ObjectKey key);
  Task<Status> remove_batch(std::vector<ObjectKey> keys);
  Task<Result<Listing>> list_page(std::string prefix, std::string after, std::string token,
                                  std::size_t limit);

  // Uploads in parts: s3_multipart.cc.
  Task<Status> put_in_parts(ObjectKey key, Chain body);
  Task<Result<UploadedPart>> put_part(ObjectKey key, std::string upload, std::size_t number,
                                      Chain body);
  Task<Result<UploadedPart>> put_part_once(const ObjectKey& key, const std::string& upload,
                                           std::size_t number, const Chain& body);
  Task<Status> complete(const ObjectKey& key, const std::string& upload,
                        const std::vector<UploadedPart>& parts);
  Duration next_delay(Backoff& backoff);

  const Target target_;
  const S3StoreOptions options_;
  S3Parts parts_;
  Clock& clock_;
  net::HttpClient http_;
  S3Client client_;
  std::mutex mutex_;
  Rng rng_;  // under mutex_
};

}  // namespace weir::storage::s3
