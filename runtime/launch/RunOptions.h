//===- RunOptions.h - How one request runs --------------------------------===//
//
//   auto cancellation = std::make_shared<Cancellation>();
//   RunOptions options{.deadline = 200ms, .cancellation = cancellation};
//   session->run(inputs, outputs, options);      // on one thread
//   cancellation->cancel();                      // on any other
//
// Either ends the request, not the session: run() returns once no rank touches
// the caller's memory any more. A kernel is not interrupted: it is waited for,
// as long as SessionOptions::timeout says.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_LAUNCH_RUNOPTIONS_H
#define SHARDC_RUNTIME_LAUNCH_RUNOPTIONS_H

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace shardc::runtime {

class RunEnd;

/// Ends requests from any thread. One may be given to several of them. Must not
/// be called by a handler of signals.
class Cancellation {
public:
  /// Those that run with it end soon, those that come with it later at once.
  void cancel();
  bool isCancelled() const;

private:
  friend class RunEnd;
  mutable std::mutex mutex; ///< held while those that run are told
  bool cancelled = false;
  std::vector<RunEnd *> running;
};

struct RunOptions {
  /// From when run() is called, the time included that it waits for its turn; 0:
  /// as long as it takes.
  std::chrono::milliseconds deadline{0};
  std::shared_ptr<Cancellation> cancellation = nullptr; ///< null: nobody's

  bool canEnd() const { return deadline.count() > 0 || cancellation; }
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_LAUNCH_RUNOPTIONS_H
