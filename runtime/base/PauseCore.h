//===- PauseCore.h - For loops that wait awake ----------------------------===//
#ifndef SHARDC_RUNTIME_BASE_PAUSECORE_H
#define SHARDC_RUNTIME_BASE_PAUSECORE_H

namespace shardc::runtime {

/// Tells the core that its loop waits for memory.
inline void pauseCore() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_PAUSECORE_H
