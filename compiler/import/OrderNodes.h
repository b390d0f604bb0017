//===- OrderNodes.h - Nodes behind what they read -------------------------===//
//
// ONNX wants nodes in topological order. Tools that insert nodes append them at
// times, and ONNX Runtime, which orders nodes itself, loads what they write:
//
//   y = Relu(h)   h = MatMul(x, w)   ->   h = MatMul(x, w)   y = Relu(h)
//
// Those that are in order stay where they are. What a branch or a loop's body
// reads of the graph around it is read by the node that has it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_ORDERNODES_H
#define SHARDC_COMPILER_IMPORT_ORDERNODES_H

#include "onnx/onnx_pb.h"

namespace shardc::importer {

/// Of the graph, and of those in it. One with a cycle stays as it is, for ONNX's
/// checker to tell.
void orderNodes(::onnx::GraphProto &graph);

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_ORDERNODES_H
