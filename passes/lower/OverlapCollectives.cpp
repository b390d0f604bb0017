//===- OverlapCollectives.cpp - Collectives beside products ---------------===//

#include "passes/lower/Passes.h"

#include "passes/lower/overlap/Flights.h"
#include "passes/lower/overlap/SplitCollectives.h"
#include "passes/plan/cost/Sizes.h"
#include "passes/plan/machine/ReadMachine.h"

using namespace mlir;

namespace shardc::lower {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVES
#include "passes/lower/Passes.h.inc"

namespace {

struct OverlapCollectivesPass
    : impl::OverlapCollectivesBase<OverlapCollectivesPass> {
  using OverlapCollectivesBase::OverlapCollectivesBase;

  void runOnOperation() override {
    dist::MeshOp mesh = dist::getMesh(getOperation());
    OverlapOptions options;
    if (parts == "off" || !mesh)
      return;
    if (!readOptions(options))
      return signalPassFailure();
    if (target != "cuda" && options.parts == 0)
      return; // a rank's own cores do its collectives
    if (!readMachine(mesh.getMesh().getMesh()->numRanks(), options))
      return signalPassFailure();
    for (auto program : getOperation().getOps<rt::ProgramOp>()) {
      note(program,
           splitCollectives(program, *mesh.getMesh().getMesh(), options));
      numStarted += startCollectives(program);
    }
  }

private:
  bool readOptions(OverlapOptions &options) {
    if (parts != "auto" && (StringRef(parts).getAsInteger(10, options.parts) ||
                            options.parts < 1)) {
      getOperation().emitError("parts is \"")
          << parts << "\", expected auto, off or a number of parts";
      return false;
    }
    const std::string problem = plan::parseSizes(planSizes, options.sizes);
    if (!problem.empty())
      getOperation().emitError("plan-sizes ") << problem;
    return problem.empty();
  }

  bool readMachine(int64_t numRanks, OverlapOptions &options) {
    if (std::string problem =
            plan::parseMachineOrTypical(machine, numRanks, options.machine);
        !problem.empty()) {
      getOperation().emitError("machine ") << problem;
      return false;
    }
    options.device = options.machine.devices.front();
    return true;
  }

  /// For --explain.
  void note(rt::ProgramOp program, ArrayRef<OverlapDecision> decisions) {
    Builder b(program.getContext());
    SmallVector<Attribute> entries;
    for (const OverlapDecision &decision : decisions) {
      numSplit += decision.parts > 1;
      entries.push_back(
          b.getDictionaryAttr({{"node", b.getStringAttr(decision.node)},
                               {"kind", b.getStringAttr(decision.kind)},
                               {"rows", b.getI64IntegerAttr(decision.rows)},
                               {"parts", b.getI64IntegerAttr(decision.parts)},
                               {"before", b.getF64FloatAttr(decision.before)},
                               {"after", b.getF64FloatAttr(decision.after)}}));
    }
    if (!entries.empty())
      program->setAttr(rt::kOverlapAttr, b.getArrayAttr(entries));
  }
};

} // namespace
} // namespace shardc::lower
