"""Vidur's tables on disk: found in what was published, laid where Vidur 0.0.26 reads them, compared cell by cell."""
import csv
import gzip
import json
import lzma
import math
import shutil

from peers.common import PeerError

# Its regressions need a median of each in every row of mlp.csv; `emb` it does not read, a missing `add` it takes for 0.
NEEDED = ["input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj", "post_attention_layernorm", "mlp_up_proj",
          "mlp_act", "mlp_down_proj"]
KEYS = {"mlp": ["num_tensor_parallel_workers", "num_tokens"],
        "attention": ["num_tensor_parallel_workers", "is_prefill", "batch_size", "prefill_chunk_size", "kv_cache_size"]}
SHARED = {"input_layernorm", "post_attention_layernorm", "add"}  # one operator for several cells
REVISION = "0" * 40  # a data set of the hub is a folder by its commit


def open_table(path):
    return gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="")


def rows_of(path):
    with open_table(path) as file:
        return list(csv.DictReader(file))


def published(profiles, device, network, model):
    """Paths by table, below a copy of upstream's data/profiling: models are folders ORG/MODEL or ORG--MODEL, files may be
    packed. Of attention, the table of May 2024 stands in where the model's own is absent."""
    short = model.split("/")[-1].lower().removesuffix("-hf")
    candidates = {
        "mlp": [f"compute/{device}/{name}/mlp.csv" for name in (model, model.replace("/", "--"))],
        "attention": [f"compute/{device}/{name}/attention.csv" for name in (model, model.replace("/", "--"))] +
                     [f"legacy_2024-05/{device}_{short.replace('llama-2', 'llama2')}_tp2_attention.csv"],
        "all_reduce": [f"network/{network}/all_reduce.csv"], "send_recv": [f"network/{network}/send_recv.csv"]}
    found = {}
    for table, names in candidates.items():
        for path in (profiles / (name + ending) for name in names for ending in ("", ".gz")):
            if table not in found and path.is_file():
                found[table] = path
    return found


def copied(tables, folder, device, network, model):
    """As the folder that `dooly store import --format vidur` reads."""
    for table, path in tables.items():
        home = folder / ("network/" + network if table in ("all_reduce", "send_recv") else f"compute/{device}/{model}")
        home.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, home / (f"{table}.csv" + (".gz" if path.suffix == ".gz" else "")))
    return folder


def exported(folder, device, network, model):
    paths = {"mlp": folder / f"compute/{device}/{model}/mlp.csv",
             "attention": folder / f"compute/{device}/{model}/attention.csv",
             "all_reduce": folder / f"network/{network}/all_reduce.csv",
             "send_recv": folder / f"network/{network}/send_recv.csv"}
    return {table: path for table, path in paths.items() if path.is_file()}


def require_complete(tables, tensor_parallel, store):
    """Throws PeerError naming what Vidur would stumble over."""
    for table in ("mlp", "attention", *(["all_reduce"] if tensor_parallel > 1 else [])):
        if table not in tables:
            raise PeerError(f"{store}: holds nothing for {table}.csv of this model on {tensor_parallel} GPUs")
    rows = [row for row in rows_of(tables["mlp"]) if row["num_tensor_parallel_workers"] == str(tensor_parallel)]
    gaps = [name for name in NEEDED if any(row.get(f"time_stats.{name}.median", "") == "" for row in rows)]
    if gaps or not rows:
        raise PeerError(f"{store}: mlp.csv has no row of {tensor_parallel} GPUs" if not rows else
                        f"{store}: mlp.csv has rows without {', '.join(gaps)}, which Vidur needs in each")
    for kind, column in (("True", "attn_prefill"), ("False", "attn_decode")):
        if not any(row["is_prefill"] == kind and row["num_tensor_parallel_workers"] == str(tensor_parallel)
                   for row in rows_of(tables["attention"])):
            raise PeerError(f"{store}: attention.csv has no {column} on {tensor_parallel} GPUs")


def predicted_share(path):
    """Cells that Vidur reads of mlp.csv: how many, and how many of them are predictions."""
    cells = predictions = 0
    for row in rows_of(path):
        words = row.get("predicted_operators", "").split()
        cells += len(NEEDED)
        predictions += sum(word in NEEDED for word in words)
    return cells, predictions


def _by_key(table, path):
    """Medians by point and operator; several where the table has several rows of a point."""
    found = {}
    for row in rows_of(path):
        point = tuple(row[key] for key in KEYS[table])
        for column, text in row.items():
            if column.endswith(".median") and text != "" and "_reshape" not in column:
                found.setdefault((point, column.split(".")[1]), []).append(float(text))
    return found


def compared(table, original, again, tensor_parallel):
    """How the medians of a table came back: equal, but for the last digit that milliseconds lose as seconds; merged, where
    several stand for one operator (rows of one point, the two norms, what is the same on each number of GPUs); left out;
    and different. And by how much what merged is off what it stands for, on average."""
    before, after = _by_key(table, original), _by_key(table, again)
    counts, moved = {"equal": 0, "merged": 0, "left out": 0, "different": 0}, []
    for (point, name), values in before.items():
        if point[0] != str(tensor_parallel):
            continue
        if (point, name) not in after:
            counts["left out"] += 1
        elif len(values) == 1 and math.isclose(after[(point, name)][0], values[0], rel_tol=1e-14):
            counts["equal"] += 1
        else:
            counts["merged" if len(values) > 1 or name in SHARED else "different"] += 1
            moved += [abs(after[(point, name)][0] / value - 1) for value in values if value > 0]
    return counts, sum(moved) / max(1, len(moved))


def lay(cache, name, tables, model, device, network):
    """Where Vidur 0.0.26 looks for the data sets of that name, without a network: the folder that the hub's client keeps
    them in."""
    parts = {"compute": (("mlp", "attention"), {"model": model, "device_sku": device}),
             "network": (("all_reduce", "send_recv"), {"sku": network})}
    for part, (names, config) in parts.items():
        home = cache / "profiling_data" / part / f"datasets--dooly--{name}"
        snapshot = home / "snapshots" / REVISION
        snapshot.mkdir(parents=True)
        (home / "refs").mkdir()
        (home / "refs/main").write_text(REVISION)
        (snapshot / "config.json").write_text(json.dumps(config))
        for table in names:
            if table not in tables:
                continue
            path = tables[table]
            with (gzip.open(path) if path.suffix == ".gz" else path.open("rb")) as source:
                with lzma.open(snapshot / f"{table}.csv.xz", "wb", preset=0) as target:
                    shutil.copyfileobj(source, target)
