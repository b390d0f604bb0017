//===- shard-opt.cpp - Runs passes on MLIR text ---------------------------===//

#include "compiler/Pipeline.h"
#include "tools/shard-opt/TestEmitRows.h"
#include "tools/shard-opt/TestRecoveries.h"
#include "tools/shard-opt/TestSplitFactors.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  shardc::registerShardcDialects(registry);
  shardc::registerShardcPasses();
  shardc::registerTestEmitRows();
  shardc::registerTestRecoveries();
  shardc::registerTestSplitFactors();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "shardc's passes on MLIR text\n", registry));
}
