module { func.func @main() -> tensor<2xf32> {
  %0 = "stablehlo.fft"() <{fft_length = array<i64: 2>}> : () -> tensor<2xf32>
  return %0 : tensor<2xf32> } }
