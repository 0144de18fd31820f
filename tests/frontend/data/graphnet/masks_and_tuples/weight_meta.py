class Program_weight_tensor_meta_in_0:
    name = "in_0"
    shape = [1, 5, 5]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.100
    std = 3.000
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    shape = [2, 5]
    dtype = "torch.bool"
    device = "cuda:0"
    mean = None
    std = None
    data = [True, True, True, True, True, True, True, False, True, True]
