class Program_weight_tensor_meta_in_0:
    name = "in_0"
    shape = [2, 6]
    dtype = "torch.int64"
    device = "cuda:0"
    mean = None
    std = None
    data = [1, 4, 2, 7, 0, 3, 5, 6, 8, 9, 1, 2]


class Program_weight_tensor_meta_w_0:
    name = "w_0"
    shape = [10, 8]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.000
    std = 1.000
    data = None


class Program_weight_tensor_meta_w_1:
    name = "w_1"
    shape = [6, 8]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.000
    std = 1.000
    data = None


class Program_weight_tensor_meta_w_2:
    name = "w_2"
    shape = [8]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 1.000
    std = 0.000
    data = None


class Program_weight_tensor_meta_w_3:
    name = "w_3"
    shape = [24, 8]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.000
    std = 0.500
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    shape = [2, 6]
    dtype = "torch.int64"
    device = "cuda:0"
    mean = None
    std = None
    data = [1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1]
