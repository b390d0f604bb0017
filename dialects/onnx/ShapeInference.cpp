#include "dialects/onnx/Onnx.h"
