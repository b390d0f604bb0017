// Headers that nearly every kernel needs; parsed once in quick builds.
#include "runtime/kernels/Check.h"
#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/layout/StridedCopy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>
