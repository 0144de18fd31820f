import torch
from torch import device, inf


class GraphModule(torch.nn.Module):
    def forward(self, in_0: torch.Tensor, in_1: torch.Tensor):
        batch = torch.arange(2)
        lazy_load_decompositions = torch._functorch.vmap.lazy_load_decompositions()
        lazy_load_decompositions = None
        _vmap_increment_nesting = torch._C._functorch._vmap_increment_nesting(2, "error")
        _vmap_increment_nesting = None
        row = torch._C._functorch._add_batch_dim(batch, 0, 1)
        steps = torch.arange(5)
        _vmap_increment_nesting_1 = torch._C._functorch._vmap_increment_nesting(5, "error")
        _vmap_increment_nesting_1 = None
        query = torch._C._functorch._add_batch_dim(steps, 0, 2)
        _vmap_increment_nesting_2 = torch._C._functorch._vmap_increment_nesting(5, "error")
        _vmap_increment_nesting_2 = None
        key = torch._C._functorch._add_batch_dim(steps, 0, 3)
        result = query.new_ones((), dtype=torch.bool)
        le = key.le(query)
        result_1 = result.__and__(le)
        index = torch.ops.aten.index(in_1, [row, key])
        result_2 = result_1.__and__(index)
        out = torch._C._functorch._remove_batch_dim(result_2, 3, 5, 0)
        _vmap_decrement_nesting = torch._C._functorch._vmap_decrement_nesting()
        _vmap_decrement_nesting = None
        out_1 = torch._C._functorch._remove_batch_dim(out, 2, 5, 0)
        mask = torch._C._functorch._remove_batch_dim(out_1, 1, 2, 0)
        _enter_autocast = torch.amp.autocast_mode._enter_autocast("cpu", None, False, None)
        scores = in_0.expand(2, 5, 5)
        filled = scores.masked_fill(~mask, -inf)
        _exit_autocast = torch.amp.autocast_mode._exit_autocast(_enter_autocast)
        _enter_autocast = _exit_autocast = None
        weights = torch.nn.functional.softmax(filled, dim=-1, dtype=torch.float32)
        chunk = torch.chunk(weights, 2, dim=-1)
        first = chunk[0]
        second = chunk[1]
        split = weights.split((2, 3), dim=1)
        upper = split[0]
        copied = weights.clone()
        copied[(slice(None, None, None), slice(0, -2, None), slice(-1, None, None))] = 7
        copied[(slice(None, None, None), 0)] = copied[(slice(None, None, None), 1)]
        picked = copied[(slice(None, None, None), torch.tensor([0, 2]))]
        places = weights.argmax(dim=-1)
        gathered = torch.gather(weights, dim=-1, index=places.unsqueeze(-1))
        shape = weights.shape
        zeros = torch.zeros((shape[0], 1, shape[2]), device=device(type="cuda", index=0))
        cat = torch.cat([zeros, weights], dim=1)
        dtype = cat.dtype
        total = cat.sum((1, 2)).to(dtype)
        flat = cat.T.reshape(-1)
        stacked = torch.stack((first[(Ellipsis, 0)], second[(Ellipsis, -1)]), -1)
        last = weights[(0, -1)]
        grid = torch.functional.meshgrid(last, last, indexing="ij")
        outer = grid[0] * grid[1]
        return (upper, copied, picked, gathered, total, flat, stacked, outer, places)
