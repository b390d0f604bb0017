// Every form of a dim's sharding; what is printed is the normal form.
// RUN: shard-opt %s | shard-opt | FileCheck %s

dist.mesh @mesh <["dp"=2, "tp"=8]>

// CHECK-LABEL: @whole
// CHECK-SAME: sharding = [{}, {}]>
func.func private @whole(tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{}, {}]>>)

// CHECK-LABEL: @dim
// CHECK-SAME: sharding = [{"dp"=2}, {"tp"=8}]>
func.func private @dim(tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{"dp"=2}, {"tp"=8}]>>)

// CHECK-LABEL: @factors
// CHECK-SAME: sharding = [(b, 6:"dp"=2), (2, 8:"tp"=8)]>
func.func private @factors(tensor<?x16xf32, #dist.value<dims = [b * 6, 16], sharding = [(b, 6:"dp"=2), (2, 8:"tp"=8)]>>)

// CHECK-LABEL: @several_axes
// CHECK-SAME: sharding = [{"dp"=2 + "tp"=8}]>
func.func private @several_axes(tensor<64xf32, #dist.value<dims = [64], sharding = [{"dp"=2 + "tp"=8}]>>)

// CHECK-LABEL: @several_axes_of_a_factor
// CHECK-SAME: sharding = [(16:"dp"=2 + "tp"=8, 4)]>
func.func private @several_axes_of_a_factor(tensor<64xf32, #dist.value<dims = [64], sharding = [(16:"dp"=2 + "tp"=8, 4)]>>)

// The major part of an axis needs no ":(1)": it starts the axis.
// CHECK-LABEL: @sub_axes
// CHECK-SAME: sharding = [(4:"tp"=4, 2:"tp":(4)2, 16)]>
func.func private @sub_axes(tensor<128xf32, #dist.value<dims = [128], sharding = [(4:"tp":(1)4, 2:"tp":(4)2, 16)]>>)

// CHECK-LABEL: @segments
// CHECK-SAME: sharding = {{\[\[}}768: (2:"dp"=2, 384) | 128: (128) | 128: (2:"dp"=2, 64)]]>
func.func private @segments(tensor<1024xf32, #dist.value<dims = [1024], sharding = [[768: (2:"dp"=2, 384) | 128: (128) | 128: (2:"dp"=2, 64)]]>>)

// CHECK-LABEL: @partial
// CHECK-SAME: sharding = [{}], partial = {"dp"=2: max, "tp"=4: sum, "tp":(4)2: min}>
func.func private @partial(tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp":(4)2: min, "tp"=4: sum, "dp"=2: max}>>)

// Unsplit neighbours merge, factors of 1 go, adjacent sub-axes are one axis.
// CHECK-LABEL: @normalized
// CHECK-SAME: sharding = [(4, 8:"tp"=8, 6), {"tp"=8}, {}]>
func.func private @normalized(tensor<192x8x8xf32, #dist.value<dims = [192, 8, 8], sharding = [(1, 2, 2, 8:"tp"=8, 2, 3), (8:"tp":(1)4+"tp":(4)2), [4: (4) | 4: (2, 2)]]>>)

// CHECK-LABEL: @local
// CHECK-SAME: sharding = [(6:"tp"=8, 16)], local = [((@tp * 6) floordiv 8) * -16 + ((@tp * 6 + 6) floordiv 8) * 16]>
func.func private @local(tensor<?xf32, #dist.value<dims = [96], sharding = [(6:"tp"=8, 16)], local = [((@tp * 6) floordiv 8) * -16 + ((@tp * 6 + 6) floordiv 8) * 16]>>)

// Phase imported: sizes alone. A scalar has neither dims nor shardings of them.
// CHECK-LABEL: @imported
// CHECK-SAME: #dist.value<dims = [batch, 4]>
func.func private @imported(tensor<?x4xf32, #dist.value<dims = [batch, 4]>>)
// CHECK-LABEL: @scalar
// CHECK-SAME: tensor<f32, #dist.value<dims = [], sharding = []>>
func.func private @scalar(tensor<f32, #dist.value<dims = [], sharding = []>>)
