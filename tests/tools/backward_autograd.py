#!/usr/bin/env python3
"""backward_autograd.py PROGRAM: holds the backward reference against torch's autograd in double
precision. PROGRAM is tools_reference_bwd_test, which prints its cases. Exit code 77: no torch."""
import json
import secrets
import subprocess
import sys

try:
    import torch
except ImportError as error:
    print(f"skipped: {error}; python3-torch would do")
    sys.exit(77)


def tensor(values, *shape):
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def visible(case):
    """Which keys a query sees, [seqlen_q, seqlen_k]."""
    rows, columns = case["seqlen_q"], case["seqlen_k"]
    shift = 0 if case["top_left"] else columns - rows
    distance = torch.arange(columns)[None, :] - torch.arange(rows)[:, None] - shift
    left, right = case["window"] if case["mask"] == "window" else (-1, -1)
    right = 0 if case["mask"] == "causal" else right
    seen = torch.ones(rows, columns, dtype=torch.bool)
    if right >= 0:
        seen &= distance <= right
    if left >= 0:
        seen &= distance >= -left
    return seen


def check(case):
    b, hq, hk = case["batch"], case["heads_q"], case["heads_k"]
    rows, columns = case["seqlen_q"], case["seqlen_k"]
    dim, dim_v = case["head_dim_qk"], case["head_dim_v"]
    q = tensor(case["q"], b, hq, rows, dim).requires_grad_()
    k = tensor(case["k"], b, hk, columns, dim).requires_grad_()
    v = tensor(case["v"], b, hk, columns, dim_v).requires_grad_()
    dout = tensor(case["dout"], b, hq, rows, dim_v)
    sink = tensor(case["sink"], hq).requires_grad_()
    leaves = {"dq": q, "dk": k, "dv": v}
    s = case["scale"] * q @ k.repeat_interleave(hq // hk, 1).transpose(2, 3)
    if case["softcap"]:
        s = case["softcap"] * torch.tanh(s / case["softcap"])
    if case["bias"]:
        bias = tensor(case["bias"], b, hq, rows, columns).requires_grad_()
        leaves["dbias"] = bias
        s = s + bias
    if case["has_alibi"]:
        off = torch.arange(rows)[:, None] + columns - rows - torch.arange(columns)[None, :]
        s = s - tensor(case["slopes"], hq)[None, :, None, None] * off.abs()
    seen = visible(case)[None, None] & torch.isfinite(s)
    low = -1e300  # finite, so that hidden scores have no NaN for a gradient
    s = torch.where(seen, s, torch.full_like(s, low))
    if case["has_sink"]:
        leaves["dsink"] = sink
        s = torch.cat([s, sink[None, :, None, None].expand(b, hq, rows, 1)], 3)
    alive = seen.any(3, keepdim=True)
    p = torch.softmax(s, 3)[..., :columns] * alive
    o = p @ v.repeat_interleave(hq // hk, 1)
    (o * dout).sum().backward()
    results = {"o": o.detach(), "delta": (o * dout).sum(3).detach()}
    results.update({name: leaf.grad for name, leaf in leaves.items()})
    for name, value in results.items():
        reference = tensor(case["ref_" + name], *value.shape)
        error = (value - reference).abs().max().item()
        scale = max(1.0, reference.abs().max().item())
        if not error <= 1e-10 * scale:
            sys.exit(f"{name} differs by {error:g}: {case['mask']}, {b}x{hq}x{rows}x{columns}")
    return len(results)


seed = secrets.randbits(32)
print(f"seed {seed}")
lines = subprocess.run([sys.argv[1], str(seed)], check=True, capture_output=True, text=True)
compared = [check(json.loads(line)) for line in lines.stdout.splitlines()]
if not compared:
    sys.exit("there was no case")
print(f"{len(compared)} cases, {sum(compared)} tensors as autograd has them")
