#include "broker/api.h"

#include "broker/broker.h"

namespace weir::broker {
namespace {

// No more than what a connection takes otherwise.
constexpr ByteCount kFreeAnswer = 16_KiB;

}  // namespace

PendingAnswer answered(Answer answer) {
  PendingAnswer pending;
  pending.set(std::move(answer));
  return pending;
}

void let_go_of_request(RequestContext& context, Slice& body) {
  context.header.client_id = std::nullopt;  // it lies in the body's memory
  context.header.kept_texts = {};
  body = Slice();
  context.reservation.reset();
  context.work = {};
}

bool hold(Broker& broker, RequestContext& context, Answer& answer, ByteCount records) {
  if (!answer || !*answer || (*answer)->size() <= records + kFreeAnswer) return true;
  const ByteCount size = (*answer)->size() - records;
  WorkMemory::Place place = size <= context.work.bytes
                                ? broker.work.exchange(std::move(context.work), size)
                                : broker.work.try_reserve(size);
  if (!place.reservation) return false;
  *answer = holding(**answer, std::move(place.reservation));
  return true;
}

Task<Answer> hold_later(Broker& broker, RequestContext& context, Answer answer, ByteCount records) {
  auto place = co_await broker.work.extend((*answer)->size() - records, context.closed);
  if (!place) co_return std::unexpected(place.error());
  *answer = holding(**answer, std::move(place->reservation));
  co_return answer;
}

Task<bool> wait_to_hold(Broker& broker, RequestContext& context, ByteCount size) {
  context.work = {};
  auto place = co_await broker.work.reserve(size, context.closed);
  if (!place) co_return false;
  context.work = *std::move(place);
  co_return true;
}

}  // namespace weir::broker
