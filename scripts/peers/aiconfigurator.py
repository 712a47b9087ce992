"""NVIDIA's AIConfigurator: step times from its tables and from ours, beside `dooly predict`.

Its tables of linears, attention and experts are replaced by the samples of the store, in the layout that it reads; norms,
rotary embedding and activations it computes from bandwidth. Printed per step: what it says on its own tables, what it
says on ours, what `dooly predict` says on ours. Its install takes about 900 MB.
"""
import json
import pathlib
import shutil

from peers.common import PeerError, installed, output_of

PACKAGE = "aiconfigurator==0.12.0"
SYSTEM, BACKEND, VERSION, GPU = "h200_sxm", "vllm", "0.24.0", "H200"
HEAD = {"framework": "VLLM", "version": VERSION, "device": "NVIDIA H200"}
STEPS = [("decode", 1, 1024), ("decode", 16, 1024), ("decode", 64, 1024), ("decode", 256, 1024), ("decode", 64, 4096),
         ("prefill", 1, 1024), ("prefill", 1, 4096), ("prefill", 1, 8192)]
WEIGHTS = {"bfloat16": "bfloat16", "fp8": "fp8", "fp8_block": "fp8_block"}


def records(store):
    keys = {}
    for line in output_of(["zstdcat", store], f"reading {store}").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict) or "record" not in record:
            raise PeerError(f"{store}: is no portable store")
        if record["record"] == "operator":
            keys[record["signature"]] = record["key"]
        elif record["record"] == "sample" and record.get("status", "ok") == "ok" and record["regime"] != "sustained":
            yield keys[record["signature"]], (record["point"] + [0] * 7)[:7], record["median_s"] * 1e3


def linear_row(key, point, latency):
    k, n = key["dims"]
    if key.get("attributes", {}).get("bias") or key["dtypes"][1] not in WEIGHTS:
        return None
    return {**HEAD, "op_name": "gemm", "kernel_source": key["family"], "gemm_dtype": WEIGHTS[key["dtypes"][1]],
            "m": point[0], "n": n, "k": k, "latency": latency}


def attention_row(key, point, latency):
    chunks, query, context, decodes, cached, uneven = point[:6]
    heads, kv_heads, width = key["dims"]
    mixed = chunks and decodes
    if mixed or uneven or key.get("attributes", {}).get("chunk") or (chunks and query < 2):
        return None
    batch, length, step = (chunks, query, context) if chunks else (decodes, 1, cached)
    return {**HEAD, "op_name": "context_attention" if chunks else "generation_attention", "kernel_source": "vllm_flash_attn_fa3",
            "batch_size": batch, "isl": length, "num_heads": heads, "num_key_value_heads": kv_heads, "head_dim": width,
            "beam_width": 1, "attn_dtype": key["dtypes"][0], "kv_cache_dtype": key["dtypes"][1], "step": step,
            "window_size": key.get("attributes", {}).get("window", 0), "latency": latency}


def tables(store):
    """Rows by table of the peer."""
    out = {"gemm_perf": [], "context_attention_perf": [], "generation_attention_perf": []}
    for key, point, latency in records(store):
        if key["kind"] == "linear":
            name, row = "gemm_perf", linear_row(key, point, latency)
        elif key["kind"] == "attention":
            name = "context_attention_perf" if point[0] else "generation_attention_perf"
            row = attention_row(key, point, latency)
        else:
            continue
        if row is not None:
            out[name].append(row)
    return out


RUN = r"""
import json, pathlib, sys
import pyarrow as pa, pyarrow.parquet as pq
job = json.loads(sys.argv[1])
for name, path in job["tables"].items():
    rows = json.loads(pathlib.Path(path).read_text())
    for target in pathlib.Path(job["systems"]).glob("data/%s/*/%s/%s/%s.parquet" % (job["system"], job["backend"], job["version"], name)):
        kept = pq.read_schema(target)
        target.unlink()
        columns = {c: [row[c] for row in rows] for c in kept.names}
        pq.write_table(pa.table({c: pa.array(v, type=kept.field(c).type) for c, v in columns.items()}), target)
from aiconfigurator.cli.api import cli_estimate
for kind, batch, length in job["steps"]:
    mode = "static_gen" if kind == "decode" else "static_ctx"
    try:
        found = cli_estimate(job["model"], job["system"], mode=mode, backend_name=job["backend"], isl=length,
                             osl=2 if kind == "decode" else 1, batch_size=batch, systems_paths=job["systems"])
        value = found.tpot if kind == "decode" else found.ttft
        print(json.dumps({"ms": value}))
    except Exception as error:
        print(json.dumps({"error": str(error)[:300]}))
"""


def peer(python, systems, model, files):
    job = {"tables": files, "systems": str(systems), "system": SYSTEM, "backend": BACKEND, "version": VERSION,
           "model": model, "steps": STEPS}
    found = output_of([python, "-c", RUN, json.dumps(job)], "AIConfigurator")
    lines = [json.loads(line) for line in found.splitlines() if line.startswith("{")]
    if len(lines) != len(STEPS):
        raise PeerError(f"AIConfigurator answered {len(lines)} of {len(STEPS)} steps:\n{found[-2000:]}")
    return lines


def own(dooly, store, model, scratch):
    """Milliseconds of the device at the cool clock, without gaps, by `dooly predict`."""
    plan = scratch / "plan.json"
    output_of([dooly, "plan", model, "--out", plan, "--force"], "dooly plan")
    times = []
    for kind, batch, length in STEPS:
        text = f"{batch}x1@{length}" if kind == "decode" else f"{batch}x{length}@0"
        found = output_of([dooly, "predict", "--plan", plan, "--store", store, "--gpu", GPU, "--batch", text,
                           "--format", "json"], "dooly predict")
        device = json.loads(found)["device_s"]
        times.append(1e3 * sum(value for name, value in device.items() if name != "other"))  # of gaps and of the clock
    return times


def systems_of(python, work, name):
    """A copy of the peer's folder of systems that may be changed."""
    home = output_of([python, "-c", "import aiconfigurator_core as a; print(a.__path__[0])"], "AIConfigurator").strip()
    target = work / name
    try:
        shutil.copytree(pathlib.Path(home) / "systems", target, ignore=lambda folder, names: [
            n for n in names if pathlib.Path(folder).name == "data" and n != SYSTEM])
    except shutil.Error as error:  # a list of what failed
        _, copy, why = error.args[0][0]
        raise PeerError(f"{copy}: {why}") from error
    return target


def cell(result):
    return f"{result['ms']:.3f}" if "ms" in result else "-"


def add_arguments(parser):
    parser.add_argument("--model", default="meta-llama/Llama-3.1-8B", help="default: %(default)s")
    parser.add_argument("--peer-model", default="meta-llama/Meta-Llama-3.1-8B", help="as the peer calls it")


def run(arguments, folders):
    scratch = folders.scratch
    ours = tables(arguments.store)  # and what dooly says of the store and the model, before anything is fetched
    mine = own(arguments.dooly, arguments.store, arguments.model, scratch)
    python = installed(folders, "aiconfigurator", [[PACKAGE]], "about 900 MB")
    files = {}
    for name, rows in ours.items():
        files[name] = str(scratch / f"{name}.json")
        pathlib.Path(files[name]).write_text(json.dumps(rows))
        print(f"{name}: {len(rows)} rows")
    theirs = peer(python, systems_of(python, scratch, "systems"), arguments.peer_model, {})
    on_ours = peer(python, systems_of(python, scratch, "systems-ours"), arguments.peer_model, files)
    print("| step | peer, own tables, ms | peer, our store, ms | dooly predict, our store, ms | peer ÷ dooly |\n|---|--:|--:|--:|--:|")
    for (kind, batch, length), first, second, third in zip(STEPS, theirs, on_ours, mine):
        ratio = f"{second['ms'] / third:.3f}" if "ms" in second else second["error"][:60]
        print(f"| {kind} of {batch} × {length} | {cell(first)} | {cell(second)} | {third:.3f} | {ratio} |")
