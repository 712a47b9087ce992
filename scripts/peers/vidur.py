"""Vidur: its simulator on its own tables, on ours, and `dooly run` and `dooly predict` beside it.

Vidur 0.0.26 is installed from PyPI without what only its dashboards need (about 600 MB), and is run as it is: the tables
lie where its hub client keeps data sets, so that it finds them without a network. Two parts:

1. Its published tables (--profiles; the wheel has none) into a store, and out again with `dooly store export --format
   vidur`: cells that came back, and the simulation on both. Its regressions are random forests, drawn anew by each seed
   and each order of rows, so each is simulated with several seeds: their range says how much drawing alone makes. (Its
   polynomials, which draw nothing, cannot be made in this version: a method of theirs is missing.)
2. The store (--store) exported for a model: the simulation on it, step times of its execution time predictor, and what
   `dooly run` and `dooly predict` say of the same requests and steps on the same store. Vidur knows no H200; its device
   is named h100, which finds files and says how much memory there is: KV blocks are set, so that it decides nothing.

--dry-run does all of it but Vidur: nothing is installed and nothing fetched.
"""
import csv
import json
import math
import os
import pathlib

from peers import vidur_tables
from peers.common import ROOT, PeerError, installed, note, output_of

INSTALL = [["--no-deps", "vidur==0.0.26", "plotly_express==0.4.1"],
           ["numpy==2.4.6", "pandas==3.1.1", "scikit-learn==1.9.1", "fasteners==0.20", "huggingface_hub==2.4.0",
            "ddsketch==3.0.1", "plotly==7.1.0", "wandb==0.31.0"]]
INSIDE = pathlib.Path(__file__).with_name("vidur_inside.py")
MOST_TOKENS, BLOCKS, GRANULARITY = 8192, 20000, 64
CHUNK, SEQUENCES = 2048, 128
TREES, SEEDS = 250, (42, 43, 44)
# Contexts with which Vidur's lookup, which rounds up the tokens after the step, hits a multiple of its granularity.
STEPS = ["decode:1:1023", "decode:16:1023", "decode:64:1023", "decode:128:1023", "decode:64:4095", "prefill:512:0",
         "prefill:1024:0", "prefill:2048:0", "prefill:4096:0"]
DEVICE = ["token_ops_s", "attention_s", "collective_s", "other_s"]  # of iterations.csv
NOT_COUNTED = {"embedding", "kv_write", "final_norm", "lm_head", "sample"}  # by Vidur, of the entries of our plan
TERMS = """Not the same in both:
- Vidur counts norms, linears, rotary embedding, activation and attention of the layers; not the embedding, the writes of
  the KV cache, the last norm, the output matrix and sampling, nor anything of the host. `dooly predict` and `dooly run`
  are the whole step; "as Vidur counts" is `dooly predict` of Vidur's operators alone. Both are at the cool clock, without
  gaps between kernels, which a batch of `dooly run` has on the device.
- Vidur looks a prompt's chunk up with the tokens after it as its context, so a prompt of 1,024 costs what a chunk of
  1,024 on 1,024 does, and makes decodes of models with grouped heads 10 % longer. So does "as Vidur counts".
- Vidur fits a random forest to the table ({trees} trees; its search over 27 settings is cut to this one), and takes the
  mean of unequal contexts; Dooly interpolates along the roofline.
- Rows are padded to multiples of 8 there, to captured CUDA graphs here; its scheduler is Sarathi's, ours vLLM V1's, both
  with {chunk} tokens and {sequences} requests an iteration.""".format(trees=TREES, chunk=CHUNK, sequences=SEQUENCES)


def default_profiles():
    return pathlib.Path(os.environ.get("DOOLY_DATA") or ROOT.parent / "shared") / "data/profiles/vidur"


def add_arguments(parser):
    parser.add_argument("--model", default="meta-llama/Llama-3.1-8B", help="of the store; default: %(default)s")
    parser.add_argument("--peer-model", default="meta-llama/Llama-3-8B",
                        help="Vidur's name of a model of these shapes; default: %(default)s")
    parser.add_argument("--gpu", default="H200-SXM", help="of the store; default: %(default)s")
    parser.add_argument("--profiles", type=pathlib.Path, default=default_profiles(), metavar="DIR",
                        help="Vidur's published tables, as its data/profiling; default: those of $DOOLY_DATA")
    parser.add_argument("--own-model", default="meta-llama/Llama-2-70b-hf", help="of those; default: %(default)s")
    parser.add_argument("--own-device", default="a100", help="default: %(default)s")
    parser.add_argument("--own-network", default="a100_dgx", help="default: %(default)s")
    parser.add_argument("--own-tp", type=int, default=2, metavar="N", help="default: %(default)s")
    parser.add_argument("--requests", type=int, default=128, metavar="N", help="Poisson; default: %(default)s")
    parser.add_argument("--prompt", type=int, default=512, metavar="TOKENS", help="default: %(default)s")
    parser.add_argument("--output", type=int, default=128, metavar="TOKENS", help="default: %(default)s")
    parser.add_argument("--rate", type=float, default=8, metavar="PER_S", help="of part 2; default: %(default)s")
    parser.add_argument("--own-rate", type=float, default=1, metavar="PER_S", help="of part 1; default: %(default)s")
    parser.add_argument("--dry-run", action="store_true", help="all but Vidur: tables made and checked, nothing installed")


def check(arguments):
    for name in ("requests", "prompt", "output", "rate", "own_rate", "own_tp"):
        if not getattr(arguments, name) > 0:
            raise PeerError(f"--{name.replace('_', '-')}: has to be more than 0")
        if not math.isfinite(getattr(arguments, name)):
            raise PeerError(f"--{name.replace('_', '-')}: has to be finite")
    if arguments.output < 2:
        raise PeerError("--output: has to be at least 2, for a time between tokens")
    if arguments.prompt + arguments.output > MOST_TOKENS:
        raise PeerError(f"--prompt and --output: together at most {MOST_TOKENS} tokens")


class Setting:
    """One simulation of Vidur."""

    def __init__(self, name, model, device, network, tensor_parallel, rate, seed=SEEDS[0]):
        self.name, self.model, self.device, self.network = name, model, device, network
        self.tensor_parallel, self.rate, self.seed = tensor_parallel, rate, seed

    def options(self, arguments, cache, out):
        fit, sarathi = "random_forrest_execution_time_predictor_config", "sarathi_scheduler_config"
        values = {
            "seed": self.seed, "log_level": "warning", "cluster_config_num_replicas": 1,
            "replica_config_model_name": self.model, "replica_config_device": self.device,
            "replica_config_network_device": self.network, "replica_config_num_pipeline_stages": 1,
            "replica_config_tensor_parallel_size": self.tensor_parallel, "cache_config_num_blocks": BLOCKS,
            "replica_scheduler_config_type": "sarathi", f"{sarathi}_chunk_size": CHUNK,
            f"{sarathi}_batch_size_cap": SEQUENCES,
            "execution_time_predictor_config_type": "random_forrest",
            f"{fit}_model_profiling_dataset": f"dooly/{self.name}",
            f"{fit}_network_profiling_dataset": f"dooly/{self.name}",
            f"{fit}_cache_dir": cache, f"{fit}_num_estimators": TREES, f"{fit}_max_depth": 32,
            f"{fit}_min_samples_split": 2, f"{fit}_k_fold_cv_splits": 2, f"{fit}_num_training_job_threads": 1,
            f"{fit}_prediction_max_tokens_per_request": MOST_TOKENS,
            f"{fit}_prediction_max_batch_size": SEQUENCES, f"{fit}_kv_cache_prediction_granularity": GRANULARITY,
            "request_generator_config_type": "synthetic", "length_generator_config_type": "fixed",
            "fixed_request_length_generator_config_max_tokens": MOST_TOKENS,
            "fixed_request_length_generator_config_prefill_tokens": arguments.prompt,
            "fixed_request_length_generator_config_decode_tokens": arguments.output,
            "interval_generator_config_type": "poisson", "poisson_request_interval_generator_config_qps": self.rate,
            "synthetic_request_generator_config_num_requests": arguments.requests, "metrics_config_output_dir": out}
        flags = [f"--{fit}_no_cache", "--no-metrics_config_write_metrics", "--no-metrics_config_store_plots",
                 "--no-metrics_config_enable_chrome_trace"]
        return flags + [str(part) for name, value in values.items() for part in (f"--{name}", value)]


def simulated(python, setting, arguments, scratch, steps):
    note(f"Vidur on {setting.name}, seed {setting.seed} …")
    home = scratch / "home"
    home.mkdir(exist_ok=True)
    environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home), "HF_HOME": str(home / "hub"),
                   "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "WANDB_MODE": "disabled",
                   "PYTHONDONTWRITEBYTECODE": "1"}
    options = setting.options(arguments, scratch / "cache", scratch / "out")
    said = output_of([python, "-I", INSIDE, " ".join(steps), *options],  # -I: this folder's names hide no package
                     f"Vidur on {setting.name}", cwd=scratch, env=environment)
    return json.loads(said.splitlines()[-1])


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def figures(found):
    """Milliseconds."""
    requests, batches = found["requests"], found["batches"]
    return {"TTFT": 1e3 * mean(r["ttft_s"] for r in requests),
            "TPOT": 1e3 * mean((r["e2e_s"] - r["ttft_s"]) / (r["output"] - 1) for r in requests),
            "E2E": 1e3 * mean(r["e2e_s"] for r in requests), "batch": 1e3 * mean(b[2] for b in batches),
            "batches": len(batches)}


def figure_row(name, found):
    return (f"| {name} | {found['TTFT']:.3f} | {found['TPOT']:.4f} | {found['E2E']:.2f} | {found['batch']:.4f} | "
            f"{found['batches']} |")


FIGURE_HEAD = "| mean of all requests, ms | TTFT | TPOT | E2E | batch | batches |\n|---|--:|--:|--:|--:|--:|"


def round_trip(arguments, scratch):
    """Tables by data set; empty if the published ones are not there."""
    device, network, model, gpus = (arguments.own_device, arguments.own_network, arguments.own_model, arguments.own_tp)
    found = vidur_tables.published(arguments.profiles, device, network, model)
    if not {"mlp", "attention"} <= found.keys():
        print(f"Part 1 is skipped: no mlp.csv and attention.csv of {model} on {device} below {arguments.profiles}.")
        return {}
    source = vidur_tables.copied(found, scratch / "published", device, network, model)
    store = scratch / "published.jsonl.zst"
    output_of([arguments.dooly, "store", "import", store, source, "--format", "vidur"], "dooly store import")
    report = output_of([arguments.dooly, "store", "export", store, scratch / "again", "--format", "vidur", "--model", model,
                        "--gpu", device, "--tp", gpus], "dooly store export")
    again = vidur_tables.exported(scratch / "again", device, network, model)
    vidur_tables.require_complete(again, gpus, "the store of the published tables")
    print(f"Part 1: {model} on {gpus} {device}: published tables → dooly store import → dooly store export\n{report}")
    print("| table | medians equal | merged | left out | different | merged off by |\n|---|--:|--:|--:|--:|--:|")
    for table in vidur_tables.KEYS:
        counts, moved = vidur_tables.compared(table, found[table], again[table], gpus)
        print(f"| {table}.csv | " + " | ".join(f"{count:,}" for count in counts.values()) + f" | {moved:.3%} |")
    print()
    return {"published": found, "exported": again}


def on_both(python, tables, arguments, scratch):
    print(f"{arguments.requests} requests of {arguments.prompt} + {arguments.output} tokens, {arguments.own_rate:g}/s\n\n"
          + FIGURE_HEAD)
    ends = {}
    for name, paths in tables.items():
        vidur_tables.lay(scratch / "cache", name, paths, arguments.own_model, arguments.own_device, arguments.own_network)
        for seed in SEEDS:
            setting = Setting(name, arguments.own_model, arguments.own_device, arguments.own_network, arguments.own_tp,
                              arguments.own_rate, seed)
            found = figures(simulated(python, setting, arguments, scratch, []))
            print(figure_row(f"Vidur, {name} tables, seed {seed}", found))
            ends.setdefault(name, []).append(found["E2E"])
    first, again = ends.values()
    print(f"\nMean E2E on the exported tables: {mean(again) / mean(first) - 1:+.2%}; seeds alone range over "
          f"{(max(first) - min(first)) / mean(first):.2%} on the published ones and {(max(again) - min(again)) / mean(again):.2%} "
          "on the exported.\n")


def of_store(arguments, scratch):
    """Tables of the store in Vidur's layout, and what is to be said of them."""
    report = output_of([arguments.dooly, "store", "export", arguments.store, scratch / "ours", "--format", "vidur",
                        "--model", arguments.model, "--gpu", arguments.gpu, "--environment", arguments.gpu],
                       f"dooly store export of {arguments.store} ({arguments.gpu})")
    tables = vidur_tables.exported(scratch / "ours", arguments.gpu, "", arguments.model)
    vidur_tables.require_complete(tables, 1, arguments.store)
    cells, predictions = vidur_tables.predicted_share(tables["mlp"])
    said = (f"Part 2: {arguments.model} of {arguments.store.name}, for Vidur {arguments.peer_model} on one h100 (the nearest "
            f"device it knows to {arguments.gpu})\n{report}mlp.csv, of what Vidur reads: {predictions:,} of {cells:,} cells "
            "predicted\n")
    return tables, said


def scenario(arguments, trace, host, asynchronous):
    return json.dumps({
        "dooly": 1, "model": arguments.model, "gpu": arguments.gpu, "tp": 1, "replicas": 1,
        "engine": {"max_num_batched_tokens": CHUNK, "max_num_seqs": SEQUENCES, "num_gpu_blocks_override": BLOCKS,
                   "enable_prefix_caching": False, "max_model_len": MOST_TOKENS, "async_scheduling": asynchronous},
        "platform": {"host": host}, "output": {"iterations": "csv"},
        "oracle": [{"kind": "profiled", "store": str(arguments.store)}, "roofline"],
        "workload": {"trace": {"format": "vidur", "path": str(trace)}}})


def run_here(arguments, scratch, requests, host, asynchronous):
    """Figures of `dooly run` on the same requests."""
    trace, file, out = scratch / "trace.csv", scratch / f"{host}.yaml", scratch / f"run-{host}"
    with trace.open("w") as target:
        rows = csv.writer(target)
        rows.writerow(["arrived_at", "num_prefill_tokens", "num_decode_tokens"])
        rows.writerows([r["arrived_s"], r["prompt"], r["output"]] for r in requests)
    file.write_text(scenario(arguments, trace, host, asynchronous))
    output_of([arguments.dooly, "run", file, "--out", out, "--quiet"], "dooly run")
    done = vidur_tables.rows_of(out / "requests.csv")
    batches = vidur_tables.rows_of(out / "iterations.csv")
    return {"TTFT": 1e3 * mean(float(r["ttft_s"]) for r in done), "TPOT": 1e3 * mean(float(r["tpot_s"]) for r in done),
            "E2E": 1e3 * mean(float(r["e2e_s"]) for r in done), "batches": len(batches),
            "batch": 1e3 * mean(sum(float(b[part]) for part in DEVICE) for b in batches)}


class Predictions:
    """`dooly predict` of steps: whole, and as Vidur counts."""

    def __init__(self, arguments, scratch):
        self.arguments, self.whole, self.part = arguments, scratch / "plan.json", scratch / "plan-vidur.json"
        output_of([arguments.dooly, "plan", arguments.model, "--out", self.whole, "--force"], "dooly plan")
        plan = json.loads(self.whole.read_text())
        plan["entries"] = [entry for entry in plan["entries"] if entry["name"] not in NOT_COUNTED]
        self.part.write_text(json.dumps(plan))

    def _device(self, plan, batch):
        found = output_of([self.arguments.dooly, "predict", "--plan", plan, "--store", self.arguments.store, "--gpu",
                           self.arguments.gpu, "--batch", batch, "--format", "json"], "dooly predict")
        return json.loads(found)["device_s"]

    def whole_ms(self, kind, size, context):
        batch = f"{size}x1@{context}" if kind == "decode" else f"1x{size}@{context}"
        device = self._device(self.whole, batch)
        return 1e3 * sum(value for name, value in device.items() if name != "other")

    def as_vidur_ms(self, kind, size, context):
        after = context + (1 if kind == "decode" else size)
        batch = f"{size}x1@{after}" if kind == "decode" else f"1x{size}@{after}"
        device = self._device(self.part, batch)
        longer = 1.1 if kind == "decode" and size > 1 else 1
        return 1e3 * (device["token_ops"] + longer * device["attention"])


def step_table(found, predictions):
    print("| step, ms of the device | Vidur, our tables | dooly predict, as Vidur counts | Vidur ÷ that | dooly predict |\n"
          "|---|--:|--:|--:|--:|")
    for step in STEPS:
        kind, size, context = step.split(":")
        size, context = int(size), int(context)
        name = f"{size} decodes at {context:,}" if kind == "decode" else f"prompt of {size:,}"
        vidur, same = found["steps"][step]["ms"], predictions.as_vidur_ms(kind, size, context)
        print(f"| {name} | {vidur:.3f} | {same:.3f} | {vidur / same:.3f} | {predictions.whole_ms(kind, size, context):.3f} |")
    print()


def on_ours(python, tables, arguments, scratch):
    setting = Setting("ours", arguments.peer_model, "h100", "h100_dgx", 1, arguments.rate)
    vidur_tables.lay(scratch / "cache", "ours", tables, setting.model, setting.device, setting.network)
    try:
        found = simulated(python, setting, arguments, scratch, STEPS)
    except PeerError as error:
        if "is empty" not in str(error):
            raise
        raise PeerError(f"Vidur's {arguments.peer_model} has not the shapes of {arguments.model}: of the tables no row "
                        "is of its heads, widths and vocabulary") from error
    print(f"{arguments.requests} requests of {arguments.prompt} + {arguments.output} tokens, {arguments.rate:g}/s\n\n"
          + FIGURE_HEAD)
    print(figure_row("Vidur, our tables", figures(found)))
    for host, asynchronous, name in (("none", False, "dooly run, our store, host: none, async_scheduling: false"),
                                     ("default", True, "dooly run, our store, as served")):
        print(figure_row(name, run_here(arguments, scratch, found["requests"], host, asynchronous)))
    print()
    step_table(found, Predictions(arguments, scratch))
    print(TERMS)


def run(arguments, folders):
    check(arguments)
    scratch = folders.scratch
    ours, said = of_store(arguments, scratch)  # first, for what is wrong with the options
    published = round_trip(arguments, scratch)
    print(said)
    if arguments.dry_run:
        print("Dry run: Vidur is not asked.")
        return
    python = installed(folders, "vidur", INSTALL, "about 600 MB")
    if published:
        print("Part 1, simulated")
        on_both(python, published, arguments, scratch)
    print("Part 2, simulated")
    on_ours(python, ours, arguments, scratch)
