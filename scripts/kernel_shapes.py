"""What has to be compiled ahead to measure the operators of step plans: `kernel_shapes.py PLAN.json…`, files of `dooly plan
--out`, prints a line for each kernel and shape, as scripts/triton-* and scripts/flashinfer-kernels take them:

    attention H,K,D,W[,cap]   experts E,W,H,K   norms H,K,D   flashinfer D[+cap]
"""

import json
import sys


def shape_of(key):
    """(kernel, shape) of an operator; None: nothing of it is compiled ahead."""
    kind, family, dims, attributes = key["kind"], key["family"], key["dims"], key["attributes"]
    cap = attributes.get("soft_cap", 0) > 0
    if kind == "attention" and family == "triton":
        return "attention", ",".join(str(part) for part in (*dims, attributes.get("window", 0))) + ",cap" * cap
    if kind == "attention" and family == "flashinfer":
        return "flashinfer", f"{dims[2]}" + "+cap" * cap
    if kind == "moe_experts" and family == "triton-fused-moe":
        hidden, width, experts, top_k = dims
        return "experts", f"{experts},{width},{hidden},{top_k}"
    if kind == "qk_norm" and family == "inductor" and not attributes:
        return "norms", ",".join(str(part) for part in dims)
    return None


def shapes_of(paths):
    found = set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            found |= {shape_of(entry["key"]) for entry in json.load(file)["entries"]}
    return sorted(found - {None})


if __name__ == "__main__":
    for kernel, shape in shapes_of(sys.argv[1:]):
        print(kernel, shape)
