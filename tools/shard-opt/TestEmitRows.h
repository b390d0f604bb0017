//===- TestEmitRows.h - A pass for tests of generated kernels -------------===//
//
//   --shardc-test-emit-rows   adds the function of each rt.kernel to the module
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARD_OPT_TESTEMITROWS_H
#define SHARDC_TOOLS_SHARD_OPT_TESTEMITROWS_H

namespace shardc {

void registerTestEmitRows();

} // namespace shardc

#endif // SHARDC_TOOLS_SHARD_OPT_TESTEMITROWS_H
