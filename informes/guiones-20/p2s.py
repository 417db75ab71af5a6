import sys,time,json,torch
torch.set_num_threads(1)
from atento import rng
from atento.models.pix2seq import Pix2Seq, Pix2SeqConfig
from atento.tasks import scenes
from atento.tasks.seeing import average_precision
from atento.training import fit, parameter_groups, warmup_cosine
seed, steps = int(sys.argv[1]), int(sys.argv[2])
extra=json.loads(sys.argv[3]) if len(sys.argv)>3 else {}
lr=extra.pop("lr",3e-3); n=extra.pop("n",8000); B=extra.pop("B",16); cells_first=extra.pop("cells_first",0); tag=extra.pop("tag",""); ordered=extra.pop("ordered",False)
c = Pix2SeqConfig(40, **{**dict(norm="pre", position_scale=20.0, temperature=20.0, position_gain=2.5, n_convs=2, n_encoder_layers=1, n_decoder_layers=2, no_object_weight=0.4, cell_weight=3.0), **extra})
rng.seed_all(seed); net=Pix2Seq(c)
data=scenes.generate(n,100+seed); whole=scenes.batch(data); print(sum(p.numel() for p in net.parameters()),flush=True)
g=rng.generator(seed)
def sort(t):
    at=(t.boxes[:,1]*1000+t.boxes[:,0]).argsort(); return t._replace(labels=t.labels[at],boxes=t.boxes[at])
if ordered: whole=whole._replace(targets=[sort(t) for t in whole.targets])
def batch(step):
    at=torch.randint(len(data),(B,),generator=g)
    return whole.images[at],[whole.targets[i] for i in at]
step_no=[0]
def loss(m,b):
    step_no[0]+=1
    if step_no[0]<=cells_first:
        mem,_=m.image.encode(b[0]); return m.image.auxiliary_loss(mem,b[1])
    return m.loss(*b,None if ordered else g)
opt=torch.optim.AdamW(parameter_groups(net,weight_decay=0.1),lr=lr,fused=True)
t=time.process_time()
h=fit(net,batch,loss,steps=steps,optimizer=opt,schedule=warmup_cosine(steps,warmup=50),progress=False)
s=time.process_time()-t
torch.save({"receta":sys.argv[1:],"config":c,"state":net.state_dict(),"cpu":s,"loss":h.loss}, "pesos-p2s-"+(tag or f"{seed}-{steps}")+".pt")
print("p2s",seed,steps,json.dumps(extra),lr,B,"orden",ordered,"celdas antes",cells_first,f"{s:.1f} s","perdida",round(sum(h.loss[-20:])/20,3),flush=True)
for part in ("validation","test"):
    b=scenes.batch(scenes.generate(300,7,split=part)); f=[y for x in b.images.split(100) for y in net.find(x)]
    a=average_precision(f,b.targets); z=lambda r:r._replace(labels=torch.zeros_like(r.labels)); o=average_precision([z(y) for y in f],[z(y) for y in b.targets])
    n=sum(len(y.labels)==len(t.labels) for y,t in zip(f,b.targets))/len(f)
    print("  ",part,f"AP50 {a['ap']:.3f} iou {a['iou']:.3f} rec {a['recall']:.3f} sin clase {o['ap']:.3f} cuenta {n:.3f}",flush=True)
