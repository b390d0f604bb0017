//===- ReduceMax.cu - ReduceMax, ReduceMin and ReduceLogSumExp ------------===//
#include "runtime/device/cuda/kernels/reduce/ReduceKernels.h"

namespace shardc::runtime::cuda {
namespace {

const CudaKernelRegistration registrations[] = {
    {"ReduceMax", {runReduce<host::ReduceMax>, nullptr}},
    {"ReduceMin", {runReduce<host::ReduceMin>, nullptr}},
    {"ReduceLogSumExp", {runReduce<host::ReduceLogSumExp>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
