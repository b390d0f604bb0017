//===- ControlExchange.h - What processes tell each other between runs ----===//
//
// All ranks tell rank 0 something, and it answers each:
//
//   if (control.transport.rank() > 0) {
//     SHARDC_RETURN_IF_ERROR(control.ask(bytes));
//     ... control.answer() ...
//     control.release();
//   } else {
//     SHARDC_RETURN_IF_ERROR(control.receiveAll());
//     for (Stream *other : control.others()) ... other->front().bytes ...
//     SHARDC_RETURN_IF_ERROR(control.answer(*other, bytes));   // each of them
//   }
//
// Whoever comes late is waited for as long as some process gets on. Nothing is
// allocated once messages have been as long before.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_NET_CONTROLEXCHANGE_H
#define SHARDC_RUNTIME_COLLECTIVES_NET_CONTROLEXCHANGE_H

#include "runtime/transport/Transport.h"

#include <span>
#include <vector>

namespace shardc::runtime {

class ControlExchange {
public:
  ControlExchange(Transport &transport, std::chrono::milliseconds timeout)
      : transport(transport), timeout(timeout) {}

  /// Not of rank 0: says so and waits for the answer, which stays until
  /// release(). An answer is of records of that size, any number of them.
  Status ask(std::span<const std::byte> said, size_t recordBytes);
  std::span<const std::byte> found() const { return all[0]->front().bytes; }
  void release() { all[0]->release(); }

  /// Of rank 0: waits until all others have asked.
  Status receiveAll();
  std::span<Stream *const> others() const { return all; }
  /// To one of them, whose message goes with that.
  Status answer(Stream &other, std::span<const std::byte> said);

  Transport &transport;

private:
  Status receive();

  const std::chrono::milliseconds timeout;
  std::vector<Stream *> all; ///< those that are heard
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_NET_CONTROLEXCHANGE_H
