import torch
from torch import device


class GraphModule(torch.nn.Module):
    def forward(self, in_0, w_0, w_1, w_2, w_3, in_1):
        position = torch.arange(0, 6, dtype=torch.int64, device=device(type="cuda", index=0))
        where = position[(None, slice(None, None, None))]
        words = torch.nn.functional.embedding(in_0, w_0, 0, None, 2.0, False, False)
        places = torch.nn.functional.embedding(where, w_1, None, None, 2.0, False, False)
        x = words + places
        x_1 = torch.nn.functional.layer_norm(x, (8,), w_2, None, 1e-05)
        qkv = torch._C._nn.linear(x_1, w_3, None)
        qkv_1 = qkv.view(2, 6, 3, 2, 4)
        qkv_2 = qkv_1.permute(2, 0, 3, 1, 4)
        unbind = qkv_2.unbind(0)
        q = unbind[0]
        k = unbind[1]
        v = unbind[2]
        unbind = None
        bool_1 = in_1.to(device=device(type="cuda", index=0), dtype=torch.bool)
        mask = bool_1[(slice(None, None, None), None, None, slice(None, None, None))]
        full = torch.full((6, 6), fill_value=-3.0, device=device(type="cpu"))
        arange_1 = torch.arange(6)
        add_1 = arange_1 + 1
        view_1 = add_1.view(6, 1)
        lt = arange_1 < view_1
        masked = full.masked_fill_(lt, 0)
        expanded = masked[(None, None, slice(None, None, None), slice(None, None, None))].expand(2, 1, -1, -1)
        bias = expanded.clone()
        inverted = ~mask
        picked = bias.masked_fill(inverted, torch.tensor(-2.0))
        y = torch._C._nn.scaled_dot_product_attention(
            q, k, v, attn_mask=picked, dropout_p=0.0, scale=0.5, is_causal=False
        )
        transpose = y.transpose(1, 2)
        y_1 = transpose.contiguous()
        y_1 += 1
        y_2 = y_1
        scores = q @ k.transpose(-2, -1)
        weights = scores.softmax(dim=-1)
        weights_1 = torch.nn.functional.softmax(weights, -1, _stacklevel=5)
        z = torch.functional.einsum("bhij,bhjd->bihd", weights_1, v)
        top = torch.max(z, -1)
        best = top[0]
        both = torch.max(best, y_2[(Ellipsis, 0)])
        return (y_2, z, both, transpose)
