//===- OwnProcess.h - Whether this is a fork ------------------------------===//
//
// A child that was forked has the memory of its parent, but none of its
// threads: whoever waits for one of them there waits for ever.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_OWNPROCESS_H
#define SHARDC_RUNTIME_BASE_OWNPROCESS_H

#include <sys/types.h>
#include <unistd.h>

namespace shardc::runtime {

/// Remembers the process that has made it.
class OwnProcess {
public:
  bool isForked() const { return getpid() != maker; }

private:
  pid_t maker = getpid();
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_OWNPROCESS_H
