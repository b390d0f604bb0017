//===- ReduceSum.cu - Sums and products, their means and norms ------------===//
#include "runtime/device/cuda/kernels/reduce/ReduceKernels.h"

namespace shardc::runtime::cuda {
namespace {

const CudaKernelRegistration registrations[] = {
    {"ReduceSum", {runReduce<host::ReduceSum>, nullptr}},
    {"ReduceMean", {runReduce<host::ReduceMean>, nullptr}},
    {"ReduceL1", {runReduce<host::ReduceL1>, nullptr}},
    {"ReduceL2", {runReduce<host::ReduceL2>, nullptr}},
    {"ReduceSumSquare", {runReduce<host::ReduceSumSquare>, nullptr}},
    {"ReduceProd", {runReduce<host::ReduceProd>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::cuda
