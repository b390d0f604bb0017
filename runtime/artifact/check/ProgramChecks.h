//===- ProgramChecks.h - Nothing in a program is believed -----------------===//
//
// A FlatBuffer that verifies is only safe to read. These checks make it safe to
// run: every index is in range, scalars refer to earlier ones, no buffer is
// read before it is written or touched outside its lifetime, memory that
// belongs to others (weights, inputs) is never written, collectives have
// groups.
//
// The parts share one ProgramChecker per program, which remembers what each
// scalar depends on. What only numbers can tell (that a view fits its buffer)
// is checked when sizes are bound.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_CHECK_PROGRAMCHECKS_H
#define SHARDC_RUNTIME_ARTIFACT_CHECK_PROGRAMCHECKS_H

#include "runtime/artifact/Instructions.h"
#include "runtime/artifact/ScalarDependence.h"
#include "runtime/base/Message.h"
#include "runtime/base/Status.h"

#include <string_view>
#include <vector>

namespace shardc::runtime {

/// Whether the 8-byte elements of a vector can be read in place. FlatBuffers'
/// verifier checks the alignment of its length only.
template <typename Vector> bool isAligned(const Vector *vector) {
  return !vector || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % 8 == 0;
}

using KnowsKernel = bool (*)(std::string_view name);

class ProgramChecker {
public:
  ProgramChecker(const artifact::Program &program, KnowsKernel knowsKernel)
      : program(program), knowsKernel(knowsKernel) {}

  Status checkAll();

private:
  // WeightChecks.cpp
  Status checkWeights();
  Status checkJoins();

  // ProgramChecks.cpp: mesh, scalars, layouts, inputs, outputs.
  Status checkAxes();
  Status checkScalars();
  Status checkGuards();
  Status checkGroups();
  Status checkLayout(const artifact::DimLayout *layout, const char *where);
  Status checkLayouts(
      const flatbuffers::Vector<flatbuffers::Offset<artifact::DimLayout>> *list,
      size_t rank, const char *where);
  Status checkScalarIndex(uint64_t index, uint8_t allowed, const char *where);
  Status checkInputs();
  Status checkCache(const artifact::CachePair &pair);
  Status checkCaches();
  Status checkConditions();
  Status checkOutputs();

  // InstructionChecks.cpp: buffers, views, instructions.
  Status checkBuffers();
  Status checkViews();
  Status checkKernelNames();
  Status checkOperands(const artifact::Instruction &instruction, bool load);
  Status checkView(uint32_t view, bool load, const char *where);
  Status checkAttributes(const artifact::Instruction &instruction, bool load);
  Status checkRouting(const artifact::Instruction &instruction,
                      const artifact::View &tokens);
  Status checkCollective(const artifact::Instruction &instruction);
  Status checkSplitDims(const artifact::Instruction &instruction, size_t count,
                        size_t rank);
  Status checkTransfer(const artifact::Instruction &instruction, bool load);
  Status checkInstructions(bool load);

  // HostInstructionChecks.cpp: what the host does itself.
  Status checkHost(uint32_t index, bool load);
  Status checkSizes(uint32_t index, bool binds);
  Status checkCondition(const artifact::Instruction &instruction);
  Status checkSymbols();

  // FlowChecks.cpp: buffers and sizes along every path.
  Status checkFlow(bool load);

  // FlightChecks.cpp: collectives that run beside other instructions.
  Status checkFlights(bool load);

  const artifact::Program &program;
  KnowsKernel knowsKernel;
  std::vector<uint8_t> dependence;
  std::vector<uint8_t> writtenIn; ///< per buffer: 0 never, 1 load, 2 run
};

/// Verifies the bytes of a program file and everything in it. `name` is the
/// file's name for messages; the bytes must be aligned to 8.
Status verifyProgram(std::string_view name, const void *data, size_t bytes,
                     KnowsKernel knowsKernel);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_ARTIFACT_CHECK_PROGRAMCHECKS_H
