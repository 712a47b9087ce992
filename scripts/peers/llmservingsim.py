"""LLMServingSim's lookups, repeated here, on an export of ours, beside `dooly predict`.

LLMServingSim is not on PyPI and computes on a build of ASTRA-Sim from its source, so it is not run: what it makes of a
profile is written again from its documentation and source (version 1.x). A step is the sum of its layers' times: dense ones
linear between their sizes, attention linear on each of its four axes with the nearest pair of chunk and decodes where one
is missing, decodes of one length, experts by tokens and by how many its default gate has in use. One GPU, no collectives,
no host. Nothing is installed.
"""
import bisect
import csv
import json
import re

from peers.common import PeerError, output_of

STEPS = [("decodes", 1, 1024), ("decodes", 16, 1024), ("decodes", 64, 1024), ("decodes", 100, 1500), ("decodes", 64, 4096),
         ("prompt", 512, 0), ("prompt", 1024, 0), ("prompt", 3000, 1000), ("prompt", 4096, 0), ("mixed", 1000, 500)]
MIXED_DECODES, MIXED_CONTEXT = 20, 2000  # beside the chunk of a mixed step
PER_SEQUENCE = ("lm_head", "sampler")
# Entries of a plan -> the layers of an export that hold their times; all other dense matrices have to be there by their own names.
LAYERS = {"qkv_proj": "qkv_proj", "qk_norm": "qk_norm", "rope": "rotary_emb", "o_proj": "o_proj", "gate_up_proj": "gate_up_proj",
          "act_and_mul": "act_fn", "act": "act_fn", "down_proj": "down_proj"}
OF_EXPERTS = {"router": "gate", "topk_softmax": "topk_softmax"}  # part of the experts' times
ONCE, TWICE = ("embedding", "final_layernorm"), ("layernorm",)


def bracket(values, wanted):
    """The two values around `wanted`, or the last two below it, and how far it is from one to the other."""
    if len(values) == 1 or wanted <= values[0]:
        return values[0], values[0], 0.0
    above = min(bisect.bisect_right(values, wanted), len(values) - 1)
    low, high = values[above - 1], values[above]
    return low, high, (wanted - low) / (high - low)


def between(table, wanted, value=lambda cell: cell):
    low, high, part = bracket(sorted(table), wanted)
    first = value(table[low])
    return first if low == high else first + part * (value(table[high]) - first)


class Attention:
    def __init__(self, rows):
        self.slices = {}
        for row in rows:
            pair = int(row["prefill_chunk"]), int(row["n_decode"])
            prefixes = self.slices.setdefault(pair, {}).setdefault(int(row["kv_prefill"]), {})
            prefixes[int(row["kv_decode"])] = float(row["time_us"])
        self.chunks = sorted({chunk for chunk, _ in self.slices})
        self.decodes = sorted({decodes for _, decodes in self.slices})

    def in_slice(self, chunk, decodes, prefix, context):
        pair = chunk, decodes
        if pair not in self.slices:
            pair = min(sorted(self.slices), key=lambda known: (known[0] - chunk) ** 2 + (known[1] - decodes) ** 2)
        return between(self.slices[pair], prefix, lambda contexts: between(contexts, context))

    def time(self, chunk, prefix, decodes, context):
        low, high, part = bracket(self.decodes, decodes)

        def beside(one_chunk):
            first = self.in_slice(one_chunk, low, prefix, context)
            return first if low == high else first + part * (self.in_slice(one_chunk, high, prefix, context) - first)

        first_chunk, last_chunk, share = bracket(self.chunks, chunk)
        first = beside(first_chunk)
        return first if first_chunk == last_chunk else first + share * (beside(last_chunk) - first)


def needed(entries):
    names = {}
    for entry in entries:
        name = entry["name"]
        if name in LAYERS or (entry["key"]["kind"] == "linear" and name not in OF_EXPERTS):
            names[LAYERS.get(name, name)] = True
    return [name for name in names if name not in PER_SEQUENCE]


class Profile:
    """One tpN of an export."""

    def __init__(self, folder, entries, unmeasured):
        """`entries`: of the plan whose times are looked up. `unmeasured`: layers that the export said it has not."""
        def rows(name):
            path = folder / name
            if not path.exists():
                return []
            with open(path, newline="") as file:
                return list(csv.DictReader(file))

        self.layers, self.experts = {}, {}
        for name, size in (("dense.csv", "tokens"), ("per_sequence.csv", "sequences")):
            for row in rows(name):
                self.layers.setdefault(row["layer"], {})[int(row[size])] = float(row["time_us"])
        for row in rows("moe.csv"):
            self.experts.setdefault(int(row["activated_experts"]), {})[int(row["tokens"])] = float(row["time_us"])
        self.attention = Attention(rows("attention.csv"))
        missing = [name for name in (*ONCE, *TWICE, *needed(entries), *PER_SEQUENCE) if name not in self.layers]
        if not self.attention.slices:
            missing.append("attention")
        if any(entry["key"]["kind"] == "moe_experts" for entry in entries):
            missing += [layer for layer in OF_EXPERTS.values() if layer in unmeasured]
            if not self.experts:
                missing.append("moe")
        if missing:
            raise PeerError(f"the export has no {', '.join(missing)}")

    def milliseconds(self, layers, choice, chunk, prefix, decodes, context):
        tokens, sequences = chunk + decodes, decodes + (1 if chunk else 0)
        block = self.attention.time(chunk, prefix, decodes, context)
        once = 0.0
        for name, times in self.layers.items():
            time = between(times, sequences if name in PER_SEQUENCE else tokens)
            if name in PER_SEQUENCE or name in ONCE:
                once += time
            else:
                block += time * (2 if name in TWICE else 1)
        if choice is not None:
            in_use = min(tokens * choice["top_k"], choice["experts"])
            block += between(self.experts, in_use, lambda by_tokens: between(by_tokens, tokens))
        return (layers * block + once) / 1e3


def batch_of(step):
    """Chunk, its context, decodes, their context; and the same as `dooly predict` writes it."""
    kind, first, second = step
    if kind == "decodes":
        return (0, 0, first, second), f"{first}x1@{second}"
    if kind == "prompt":
        return (first, second, 0, 0), f"1x{first}@{second}"
    return (first, second, MIXED_DECODES, MIXED_CONTEXT), f"1x{first}@{second} + {MIXED_DECODES}x1@{MIXED_CONTEXT}"


def of_gpu(arguments):
    return ["--gpu", arguments.gpu] if arguments.gpu else []


def own(arguments, plan, text):
    found = output_of([arguments.dooly, "predict", "--plan", plan, "--store", arguments.store, *of_gpu(arguments), "--batch", text,
                       "--format", "json"], "dooly predict")
    device = json.loads(found)["device_s"]
    return 1e3 * sum(value for name, value in device.items() if name != "other")  # of gaps and of the clock


def add_arguments(parser):
    parser.add_argument("--model", default="meta-llama/Llama-3.1-8B", help="default: %(default)s")
    parser.add_argument("--gpu", help="of the store; default: its only one")


def run(arguments, folders):
    plan, out = folders.scratch / "plan.json", folders.scratch / "profile"
    output_of([arguments.dooly, "plan", arguments.model, "--out", plan], "dooly plan")
    entries = json.loads(plan.read_text())["entries"]
    layers = sum(entry["count"] for entry in entries if entry["binding"] == "attention")
    experts = [entry["key"]["dims"] for entry in entries if entry["key"]["kind"] == "moe_experts"]
    choice = {"experts": experts[0][2], "top_k": experts[0][3]} if experts else None
    only = ["--environment", arguments.gpu] if arguments.gpu else []
    report = output_of([arguments.dooly, "store", "export", arguments.store, out, "--format", "llmservingsim", "--model",
                        arguments.model, *of_gpu(arguments), *only], "dooly store export")
    profile = Profile(next(out.rglob("tp1")), entries, re.findall(r"(\w+) \(tp1\)", report))
    print("| step | LLMServingSim's lookups, our store, ms | dooly predict, our store, ms | lookups ÷ dooly |\n|---|--:|--:|--:|")
    for step in STEPS:
        batch, text = batch_of(step)
        theirs = profile.milliseconds(layers, choice, *batch)
        ours = own(arguments, plan, text)
        print(f"| {text} | {theirs:.3f} | {ours:.3f} | {theirs / ours:.3f} |")
