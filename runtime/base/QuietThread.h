//===- QuietThread.h - A thread that gets no signals ----------------------===//
//
// Signals are the program's that uses the library: a handler of its own is not
// to run on a thread that it does not know, nor to interrupt it. Those that say
// what the thread itself has done wrong stay.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_QUIETTHREAD_H
#define SHARDC_RUNTIME_BASE_QUIETTHREAD_H

#include <csignal>
#include <thread>
#include <utility>

namespace shardc::runtime {

/// Blocks signals of the calling thread, and what it starts inherits that.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    // SIGPROF: who measures wants to measure these threads, too.
    for (int own :
         {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF})
      sigdelset(&all, own);
    pthread_sigmask(SIG_BLOCK, &all, &before);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  SignalsBlocked(const SignalsBlocked &) = delete;

private:
  sigset_t before;
};

/// Throws as std::thread does.
template <typename Body> std::thread quietThread(Body body) {
  const SignalsBlocked blocked;
  return std::thread(std::move(body));
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_QUIETTHREAD_H
