//===- TrainingStep.h - Seconds and bytes of a training step --------------===//
//
// Arithmetic: shardc compiles inference. Of what each op takes (TrainingCost.h)
// follows a step of a global batch, in micro-batches that each replica does one
// after the other.
//
//   stages      have equally many layers, as frameworks cut them; the first has
//               the embedding as well, the last one the head
//   1F1B        seconds = m of the slowest stage + (all others once) / v, where m
//               are micro-batches of a replica and v chunks of a stage; of equal
//               stages the bubble is (p - 1) / (v m) of the rest
//   transfers   each micro-batch crosses each border of chunks there and back
//   gradients   are summed over replicas: 2 P elements, with ZeRO 1 and 2 as
//               reduce_scatter and all_gather; with ZeRO 3 weights are gathered
//               for each pass and gradients scattered behind it, 3 P
//   optimizer   mixed precision holds 16 bytes a parameter: weight and gradient (2
//               each), and in f32 the weight and Adam's two moments (12). It reads
//               the gradient, writes it in f32, reads that for its norm and for the
//               update, reads and writes the 12, and writes the weight: 40 bytes
//
//   memory of P parameters, N replicas, ZeRO   0  2P + 2P + 12P
//                                              1  2P + 2P + 12P/N
//                                              2  2P + 2P/N + 12P/N
//                                              3  (2P + 2P + 12P)/N
//
// Activations: stage i of p keeps those of p - i micro-batches; in v chunks the
// first one keeps those of p + (p - 1) / v. Full recomputation keeps the inputs of
// layers, and one layer's values at a time.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_DEGREES_TRAININGSTEP_H
#define SHARDC_PASSES_PLAN_DEGREES_TRAININGSTEP_H

#include "passes/plan/degrees/Predictor.h"

namespace shardc::plan {

/// Micro-batches that a stage keeps values of: one of `stages`, each with so many
/// chunks, of so many micro-batches in all.
double microBatchesKept(int64_t stage, int64_t stages, int64_t chunks,
                        int64_t microBatches);

/// Of a model that is to be trained: why it cannot be like this, or "".
std::string whyNotTrained(const Workload &workload, const Degrees &degrees);

/// Its prompt is the step.
Prediction trainingStep(const Workload &workload, const Machine &machine,
                        const Degrees &degrees);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_DEGREES_TRAININGSTEP_H
