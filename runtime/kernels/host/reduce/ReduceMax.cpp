//===- ReduceMax.cpp - ReduceMax, ReduceMin and ReduceLogSumExp -----------===//

#include "runtime/kernels/host/reduce/Reduce.h"

namespace shardc::runtime::host {
namespace {

const HostKernelRegistration registrations[] = {
    {ReduceMax::kName, {runReduce<ReduceMax>, nullptr}},
    {ReduceMin::kName, {runReduce<ReduceMin>, nullptr}},
    {ReduceLogSumExp::kName, {runReduce<ReduceLogSumExp>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
