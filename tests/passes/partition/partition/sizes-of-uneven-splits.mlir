// A rank owns [floor(i n / k), floor((i + 1) n / k)): 6 heads over 4 ranks are
// 1, 2, 1 and 2. Global sizes stay beside the local ones.
// RUN: shard-opt %s --shardc-partition | FileCheck %s

!even = tensor<8xf32, #dist.value<dims = [8], sharding = [{"tp"=4}]>>
!heads = tensor<96xf32, #dist.value<dims = [96], sharding = [(6:"tp"=4, 16)]>>
!sub = tensor<32xf32, #dist.value<dims = [32], sharding = [(4:"tp":(1)2, 2:"tp":(2)2, 4)]>>
!packed = tensor<48xf32, #dist.value<dims = [48], sharding = [[32: (4:"tp"=4, 8) | 16: (2:"tp"=4, 8)]]>>
!symbolic = tensor<?xf32, #dist.value<dims = [seq], sharding = [{"tp"=4}]>>

dist.mesh @mesh <["tp"=4]>

func.func @stage0(%a: !even, %b: !heads, %c: !sub, %d: !packed, %e: !symbolic) {
  return
}

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: tensor<2xf32, #dist.value<dims = [8], sharding = [{"tp"=4}], local = [2]>>
// CHECK-SAME: tensor<?xf32, #dist.value<dims = [96], sharding = [(6:"tp"=4, 16)], local = [((@tp * 6) floordiv 4) * -16 + ((@tp * 6 + 6) floordiv 4) * 16]>>
// CHECK-SAME: tensor<8xf32, #dist.value<dims = [32], {{.*}}, local = [8]>>
// CHECK-SAME: local = [((@tp * 2) floordiv 4) * -8 + ((@tp * 2 + 2) floordiv 4) * 8 + 8]>>
// CHECK-SAME: local = [((seq * @tp) floordiv 4) * -1 + ((seq * @tp + seq) floordiv 4)]>>
