class Program_weight_tensor_meta_conv:
    name = "L_self_modules_conv_parameters_weight_"
    shape = [4, 3, 3, 3]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.010
    std = 0.300
    data = None


class Program_weight_tensor_meta_s0:
    name = "s0"
    shape = []
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    data = [4]


class Program_weight_tensor_meta_x:
    name = "L_x_"
    shape = [2, 3, 8, 8]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.450
    std = 0.270
    data = None


class Program_weight_tensor_meta_running_mean:
    name = "L_self_modules_bn_buffers_running_mean_"
    shape = [4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.000
    std = 0.000
    data = None


class Program_weight_tensor_meta_running_var:
    name = "L_self_modules_bn_buffers_running_var_"
    shape = [4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 1.000
    std = 0.000
    data = None
    min_val = 0


class Program_weight_tensor_meta_bn_weight:
    name = "L_self_modules_bn_parameters_weight_"
    shape = [4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 1.000
    std = 0.000
    data = None


class Program_weight_tensor_meta_bn_bias:
    name = "L_self_modules_bn_parameters_bias_"
    shape = [4]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.000
    std = 0.000
    data = None


class Program_weight_tensor_meta_eps:
    name = "L_self_modules_bn_eps"
    shape = []
    dtype = "torch.float64"
    device = "cpu"
    mean = 0.001
    std = 0.000
    data = None


class Program_weight_tensor_meta_fc:
    name = "L_self_modules_fc_parameters_weight_"
    shape = [10, 32]
    dtype = "torch.float32"
    device = "cuda:0"
    mean = 0.000
    std = 0.100
    data = None
