//===- HostDevice.h - Functions for the host and for GPUs -----------------===//
//
//   SHARDC_HOST_DEVICE inline float half(float x) { return x / 2; }
//
// is a function that a kernel may call, too, where nvcc compiles it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_HOSTDEVICE_H
#define SHARDC_RUNTIME_BASE_HOSTDEVICE_H

#ifdef __CUDACC__
#define SHARDC_HOST_DEVICE __host__ __device__
#else
#define SHARDC_HOST_DEVICE
#endif

#endif // SHARDC_RUNTIME_BASE_HOSTDEVICE_H
