module { func.func @main(%x: tensor<i64>) -> tensor<i32> {
  %0 = stablehlo.bitcast_convert %x : (tensor<i64>) -> tensor<i32>
  return %0 : tensor<i32> } }
