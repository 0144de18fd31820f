import torch


class GraphModule(torch.nn.Module):
    def forward(
        self,
        L_self_modules_conv_parameters_weight_: torch.nn.parameter.Parameter,
        s0: torch.SymInt,
        L_x_: torch.Tensor,
        L_self_modules_bn_buffers_running_mean_: torch.Tensor,
        L_self_modules_bn_buffers_running_var_: torch.Tensor,
        L_self_modules_bn_parameters_weight_: torch.nn.parameter.Parameter,
        L_self_modules_bn_parameters_bias_: torch.nn.parameter.Parameter,
        L_self_modules_bn_eps: torch.Tensor,
        L_self_modules_fc_parameters_weight_: torch.nn.parameter.Parameter,
    ):
        l_self_modules_conv_parameters_weight_ = (
            L_self_modules_conv_parameters_weight_
        )
        l_x_ = L_x_
        x = torch.conv2d(
            l_x_, l_self_modules_conv_parameters_weight_, None, (1, 1), (1, 1), (1, 1), 1
        )
        l_self_modules_conv_parameters_weight_ = None
        item = L_self_modules_bn_eps.item()
        x_1 = torch.nn.functional.batch_norm(
            x,
            L_self_modules_bn_buffers_running_mean_,
            L_self_modules_bn_buffers_running_var_,
            L_self_modules_bn_parameters_weight_,
            L_self_modules_bn_parameters_bias_,
            False,
            0.1,
            item,
        )
        x = item = None
        x_2 = torch.nn.functional.relu(x_1, inplace=True)
        x_3 = torch.nn.functional.hardtanh(x_2, 0.0, 0.5, True)
        x_1 += x_3
        out = x_1
        out_1 = torch.nn.functional.max_pool2d(
            out, 2, 2, 0, 1, ceil_mode=False, return_indices=False
        )
        floordiv = s0 // 2
        sym_sum = torch.sym_sum([1, floordiv])
        size = out_1.size()
        getitem = size[2]
        mul = getitem * 2
        up = torch.nn.functional.interpolate(out_1, (mul, 8), None, "nearest", None)
        pooled = torch.nn.functional.adaptive_avg_pool2d(up, (1, None))
        flat = torch.flatten(pooled, 1)
        drop = torch.nn.functional.dropout(flat, p=0.5, training=False)
        y = torch._C._nn.linear(drop, L_self_modules_fc_parameters_weight_, None)
        rows = y.view(-1, floordiv)
        return (y, rows, sym_sum)
