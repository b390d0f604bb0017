// A rank owns what the shares up to it and with it leave: 8 heads in shares of 3
// and 1 are 6 and 2. A part of an axis has the sums of its ways, or equal parts.
// RUN: shard-opt %s --split-input-file --shardc-partition | FileCheck %s

!even = tensor<8xf32, #dist.value<dims = [8], sharding = [{"tp"=2}]>>
!heads = tensor<96xf32, #dist.value<dims = [96], sharding = [(6:"tp"=2, 16)]>>
!packed = tensor<96xf32, #dist.value<dims = [96], sharding = [[64: (8:"tp"=2, 8) | 32: (4:"tp"=2, 8)]]>>
!zigzag = tensor<16xf32, #dist.value<dims = [16], sharding = [[8: (8:"tp"=2) | 8: (8:-"tp"=2)]]>>
!symbolic = tensor<?xf32, #dist.value<dims = [seq], sharding = [{"tp"=2}]>>

dist.mesh @mesh <["tp"=2:[3, 1]]>

func.func @stage0(%a: !even, %b: !heads, %c: !packed, %d: !zigzag, %e: !symbolic) {
  return
}

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: tensor<?xf32, #dist.value<dims = [8], sharding = [{"tp"=2}], local = [@tp * -4 + 6]>>
// CHECK-SAME: local = [((@tp * 18) floordiv 4) * -16 + ((@tp * 6 + 18) floordiv 4) * 16]>>
// CHECK-SAME: local = [@tp * -48 + 72]>>
// CHECK-SAME: local = [@tp * -8 + 12]>>
// CHECK-SAME: local = [((seq * @tp * 3) floordiv 4) * -1 + ((seq * @tp + seq * 3) floordiv 4)]>>

// -----

!three = tensor<16xf32, #dist.value<dims = [16], sharding = [{"tp"=4}]>>
!sub = tensor<32xf32, #dist.value<dims = [32], sharding = [(4:"tp":(1)2, 2:"tp":(2)2, 4)]>>

dist.mesh @mesh <["tp"=4:[5, 1, 1, 1]]>

func.func @stage0(%a: !three, %b: !sub) {
  return
}

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: local = [@tp * -8 + max(@tp - 1, 0) * 8 + 10]>>
// CHECK-SAME: local = [((@tp) floordiv 2) * -8 + 12]>>
