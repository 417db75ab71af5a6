import sys,time,json,torch
torch.set_num_threads(1)
import torch.nn.functional as F
from atento import rng
from atento.models import detr as D
from atento.models.detr import Detr, DetrConfig
from atento.tasks import scenes
from atento.tasks.seeing import average_precision
from atento.training import fit, parameter_groups, warmup_cosine
seed, steps = int(sys.argv[1]), int(sys.argv[2])
extra=json.loads(sys.argv[3]) if len(sys.argv)>3 else {}
lr=extra.pop("lr",3e-3); n=extra.pop("n",8000); cells_first=extra.pop("cells_first",0); wd=extra.pop("wd",0.1); warm=extra.pop("warm",50); B=extra.pop("B",16)
tag=extra.pop("tag","")
c = DetrConfig(40, **{**dict(reference_points=True, refine=True, norm="pre", position_scale=20.0, temperature=20.0, position_gain=2.5, n_convs=2, n_encoder_layers=1, n_decoder_layers=2, queries=12, no_object_weight=0.4, cell_weight=3.0), **extra})
rng.seed_all(seed); net=Detr(c)
t=time.process_time(); data=scenes.generate(n,100+seed); whole=scenes.batch(data); print("datos",round(time.process_time()-t,1),sum(p.numel() for p in net.parameters()),flush=True)
g=rng.generator(seed)
def batch(step):
    at=torch.randint(len(data),(B,),generator=g)
    return whole.images[at],[whole.targets[i] for i in at]
opt=torch.optim.AdamW(parameter_groups(net,weight_decay=wd),lr=lr,fused=True)
step_no=[0]
def loss(m,b):
    step_no[0]+=1
    if step_no[0]<=cells_first:
        mem,_=m.encode(b[0]); return c.cell_weight*D.cell_loss(m.classify_cells(mem),b[1],c)
    return m.loss(*b)
t=time.process_time()
h=fit(net,batch,loss,steps=steps,optimizer=opt,schedule=warmup_cosine(steps,warmup=warm),progress=False)
s=time.process_time()-t
net.eval()
torch.save({"receta":sys.argv[1:],"config":c,"state":net.state_dict(),"cpu":s,"loss":h.loss}, "pesos-detr-"+(tag or f"{seed}-{steps}")+".pt")
@torch.no_grad()
def cell_acc(b):
    right=n=0
    for i in range(0,len(b.images),100):
        mem,_=net.encode(b.images[i:i+100]); guess=net.classify_cells(mem)
        for j,t in enumerate(b.targets[i:i+100]):
            ctr=((t.boxes[:,:2]+t.boxes[:,2:])/2*c.side).long().clamp(0,c.side-1)
            right+=(guess[j][ctr[:,1]*c.side+ctr[:,0]][:,:c.classes].argmax(-1)==t.labels).sum().item(); n+=len(t.labels)
    return right/n
def ap(b):
    f=[y for x in b.images.split(100) for y in net.find(x)]
    a=average_precision(f,b.targets)
    z=lambda r:r._replace(labels=torch.zeros_like(r.labels))
    o=average_precision([z(y) for y in f],[z(y) for y in b.targets])
    return f"AP50 {a['ap']:.3f} iou {a['iou']:.3f} rec {a['recall']:.3f} sin clase {o['ap']:.3f} celda del centro {cell_acc(b):.3f}"
print(seed,steps,json.dumps(extra),lr,n,cells_first,wd,B,f"{s:.1f} s", "perdida",round(sum(h.loss[-20:])/20,3),flush=True)
for name,b in (("entrenamiento",scenes.batch(data[:500])),("validacion",scenes.batch(scenes.generate(500,7,split="validation"))),("prueba",scenes.batch(scenes.generate(500,7,split="test")))):
    print("  ",name,ap(b),flush=True)
