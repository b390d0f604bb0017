//===- RowPrograms.h - Small programs of a step of rows -------------------===//
#ifndef SHARDC_TESTS_UNIT_RUNTIME_ROWPROGRAMS_H
#define SHARDC_TESTS_UNIT_RUNTIME_ROWPROGRAMS_H

#include "runtime/serve/Sequences.h"
#include "tests/unit/runtime/ProgramBuilder.h"

namespace shardc::test {

inline constexpr int64_t kPage = 4, kHeads = 2, kWords = 1000;

/// y = attention of queries that are 0 to all values so far: their mean. One
/// value for each head, heads split over tp; `m` is a mask of keys, which sets
/// out what it hides.
ProgramBuilder meanOfAll(int64_t ways);

/// The only logit of a position is the mean of all tokens so far, of which there
/// are kWords. With 2 `ways` both ranks do the same; the second one, in what it does
/// last, fails of the token kFailing, and of kSlow sleeps some time, for which the
/// first one waits.
inline constexpr int64_t kFailing = kWords - 1, kSlow = kWords - 2;
ProgramBuilder meanOfTokens(int64_t ways = 1, int64_t sleepMs = 0);

/// The same by two stages: the first one looks up what tokens are, and fails of
/// kFailing, the second one keeps them.
std::unique_ptr<TestArtifact> meanOfTokensInStages(int64_t replicas = 1);

/// What a row gives: `values`, the same for each head but for the sign.
struct RowInput {
  std::vector<float> x;
  std::vector<uint8_t> m;
  std::vector<int64_t> dimsOfX, dimsOfM;
  std::vector<runtime::InputTensor> tensors;

  RowInput(const runtime::Sequence &sequence, std::vector<float> values)
      : m(static_cast<size_t>(sequence.length()) + values.size(), 1),
        dimsOfX{1, kHeads, int64_t(values.size()), 1},
        dimsOfM{1, int64_t(m.size())} {
    for (float sign : {1.f, -1.f})
      for (float value : values)
        x.push_back(sign * value);
    tensors = {{"x", artifact::ElementType_Float32, dimsOfX, x.data()},
               {"m", artifact::ElementType_Bool, dimsOfM, m.data()}};
  }
};

} // namespace shardc::test

#endif // SHARDC_TESTS_UNIT_RUNTIME_ROWPROGRAMS_H
