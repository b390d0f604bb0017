//===- TestKernels.h - What tiny kernels say of themselves ----------------===//
#ifndef SHARDC_TESTS_UNIT_RUNTIME_TESTKERNELS_H
#define SHARDC_TESTS_UNIT_RUNTIME_TESTKERNELS_H

#include <atomic>

namespace shardc::test {

/// How often TestSleep has slept, and copied what it was given.
extern std::atomic<int> timesSlept;

} // namespace shardc::test

#endif // SHARDC_TESTS_UNIT_RUNTIME_TESTKERNELS_H
