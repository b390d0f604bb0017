//===- ReduceSum.cpp - Sums and products, their means and norms -----------===//

#include "runtime/kernels/host/reduce/Reduce.h"

namespace shardc::runtime::host {
namespace {

const HostKernelRegistration registrations[] = {
    {ReduceSum::kName, {runReduce<ReduceSum>, nullptr}},
    {ReduceMean::kName, {runReduce<ReduceMean>, nullptr}},
    {ReduceL1::kName, {runReduce<ReduceL1>, nullptr}},
    {ReduceL2::kName, {runReduce<ReduceL2>, nullptr}},
    {ReduceSumSquare::kName, {runReduce<ReduceSumSquare>, nullptr}},
    {ReduceProd::kName, {runReduce<ReduceProd>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
