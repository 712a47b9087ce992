"""usage: vidur_inside.py STEPS [OPTION OF VIDUR…], by the interpreter that has Vidur: one of its simulations.

Does what `python -m vidur.main` does, and prints what that keeps to itself, as one line of JSON: moments of each request,
the batches with their times, and what the execution time predictor says of STEPS ("decode:64:1023 prefill:1024:0").
Vidur's log goes to stderr.
"""
import contextlib
import json
import sys

PARTS = {"attn_norm": "attn_norm_time", "attn_pre_proj": "attention_layer_pre_proj_execution_time",
         "attn_rope": "attention_rope_execution_time", "attn_decode": "attention_decode_execution_time",
         "attn_prefill": "attention_prefill_execution_time", "attn_post_proj": "attention_layer_post_proj_execution_time",
         "mlp_norm": "mlp_norm_time", "mlp_up_proj": "mlp_layer_up_proj_execution_time",
         "mlp_act": "mlp_layer_act_execution_time", "mlp_down_proj": "mlp_layer_down_proj_execution_time",
         "add": "add_time"}


def batch_of(step):
    from vidur.entities import Batch, Request
    from vidur.types import ReplicaId

    kind, size, context = step.split(":")
    size, context = int(size), int(context)
    count, query = (size, 1) if kind == "decode" else (1, size)
    requests = [Request(0, context + query, 2) for _ in range(count)]
    return Batch(ReplicaId(0), requests, [query] * count, [context + query] * count)


def step_time(predictor, step):
    found = predictor.get_execution_time(batch_of(step), 0)
    return {"ms": found.total_time * 1e3, "parts_ms": {name: getattr(found, part) * found.num_layers
                                                        for name, part in PARTS.items()}}


def simulate(steps):
    from vidur.config import SimulationConfig
    from vidur.simulator import Simulator
    from vidur.utils.random import set_seeds

    config = SimulationConfig.create_from_cli_args()
    set_seeds(config.seed)
    simulator = Simulator(config)
    requests = [event._request for _, event in simulator._event_queue]
    (scheduler,) = simulator.scheduler._replica_schedulers.values()
    predictor, batches = scheduler._execution_time_predictor, []
    of_batch = predictor.get_execution_time

    def recorded(batch, stage):
        found = of_batch(batch, stage)
        batches.append([batch.num_prefill_tokens, batch.num_decode_tokens, found.total_time])
        return found

    predictor.get_execution_time = recorded
    simulator.run()
    predictor.get_execution_time = of_batch
    requests.sort(key=lambda request: request.id)
    return {"requests": [{"arrived_s": r.arrived_at, "ttft_s": r.prefill_completed_at - r.arrived_at, "e2e_s": r.e2e_time,
                          "prompt": r.num_prefill_tokens, "output": r.num_decode_tokens, "restarts": r.num_restarts}
                         for r in requests],
            "batches": batches, "steps": {step: step_time(predictor, step) for step in steps}}


def main():
    steps = sys.argv.pop(1).split()
    with contextlib.redirect_stdout(sys.stderr):
        try:
            found = simulate(steps)
        except Exception as error:
            sys.exit(f"{type(error).__name__}: {error}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
