module @m { func.func public @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %b : tensor<2xf32>
  %c = stablehlo.constant dense<[1.0, -0x1]> : tensor<2xf32>
  return %0 : tensor<2xf32> } }
