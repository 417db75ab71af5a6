"""Prueba de la receta: python go.py pasos lote opciones..."""
import sys, time, json
import torch
from functools import partial
torch.set_num_threads(1)
from atento import rng
from atento.models.detr import Detr, DetrConfig, set_loss
from atento.tasks import scenes
from atento.tasks.seeing import average_precision
a = {"steps": 300, "size": 16, "lr": 1e-3, "clip": 0.5, "seed": 0, "overfit": 0, "warm": 50, "n": 8000, "aux": 1, "every": 100, "decay":1, "gain":1.0}
c = {"reference_points": True, "refine": True, "norm": "pre", "position_scale": 20.0, "temperature": 20.0, "no_object_weight": 0.2}
for x in sys.argv[1:]:
    k, v = x.split("=", 1)
    v = json.loads(v) if k != "norm" else v
    if k == "widths": v = tuple(v)
    (a if k in a else c)[k] = v
cfg = DetrConfig(40, **c)
rng.seed_all(a["seed"])
net = Detr(cfg)
print("parámetros", sum(p.numel() for p in net.parameters()), c, a, flush=True)
t0 = time.process_time()
data = scenes.generate(a["overfit"] or a["n"], 100 + a["seed"])
test = data if a["overfit"] else scenes.generate(300, 7, split="validation")
print("datos", round(time.process_time() - t0, 1), flush=True)
opt = torch.optim.AdamW(net.parameters(), lr=a["lr"], weight_decay=1e-4, fused=True)
g = torch.Generator().manual_seed(a["seed"])
import math
def rate(s):
    w = min(1, (s + 1) / a["warm"])
    return w * (0.5 * (1 + math.cos(math.pi * s / a["steps"])) if a["decay"] else 1)
whole = scenes.batch(data)
tb = scenes.batch(test)
def score():
    net.eval()
    with torch.no_grad():
        f = [y for x in tb.images.split(100) for y in net.find(x)]
    m = average_precision(f, tb.targets)
    z = average_precision([y._replace(labels=y.labels*0) for y in f], [t._replace(labels=t.labels*0) for t in tb.targets])
    m["sin clase"] = z["ap"]; m["rec0"] = z["recall"]
    net.train()
    return {k: round(m[k], 3) for k in ("ap", "iou", "recall", "sin clase", "rec0")}
spent, run = 0.0, 0.0
for s in range(a["steps"]):
    t = time.process_time()
    for gr in opt.param_groups: gr["lr"] = a["lr"] * rate(s)
    at = torch.arange(len(data)) if a["overfit"] else torch.randint(len(data), (a["size"],), generator=g)
    out = net.every_layer(whole.images[at])
    loss = set_loss(out if a["aux"] else out[-1:], [whole.targets[i] for i in at], cfg)
    opt.zero_grad(); loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), a["clip"])
    opt.step()
    spent += time.process_time() - t
    run = 0.95 * run + 0.05 * loss.item() if s else loss.item()
    if (s + 1) % a["every"] == 0:
        print(s + 1, f"{spent:.1f} s", f"pérdida {run:.3f}", score(), flush=True)
torch.save(net.state_dict(), "last.pt")
