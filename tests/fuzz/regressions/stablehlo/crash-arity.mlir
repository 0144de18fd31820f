module { func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %cst = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.select %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.divide %x, %0 : tensor<4xf32>
  return %1 : tensor<4xf32> } }
