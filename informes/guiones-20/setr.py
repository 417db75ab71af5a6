import sys,time,json,torch
torch.set_num_threads(1)
from atento import rng
from atento.models.setr import Setr, SetrConfig
from atento.tasks import scenes
from atento.tasks.seeing import mean_iou
from atento.training import fit, parameter_groups, warmup_cosine
seed, steps = int(sys.argv[1]), int(sys.argv[2])
extra=json.loads(sys.argv[3]) if len(sys.argv)>3 else {}
lr=extra.pop("lr",3e-3); n=extra.pop("n",8000); B=extra.pop("B",16); tag=extra.pop("tag",""); alone=extra.pop("alone",False)
c = SetrConfig(40, 4, **{**dict(classes=11, n_layers=3, position_std=0.5, decoder_width=32), **extra})
mask=torch.eye(c.n_patches,dtype=torch.bool) if alone else None
rng.seed_all(seed); net=Setr(c)
data=scenes.generate(n,100+seed); images=scenes.batch(data).images; maps=torch.stack([s.semantic for s in data]); print(sum(p.numel() for p in net.parameters()),flush=True)
mu,sd=images.mean(),images.std()
g=rng.generator(seed)
def batch(step):
    at=torch.randint(len(data),(B,),generator=g)
    return (images[at]-mu)/sd,maps[at]
opt=torch.optim.AdamW(parameter_groups(net,weight_decay=0.05),lr=lr,fused=True)
t=time.process_time()
h=fit(net,batch,lambda m,b:m.loss(*b,mask),steps=steps,optimizer=opt,schedule=warmup_cosine(steps,warmup=50),progress=False)
s=time.process_time()-t
torch.save({"receta":sys.argv[1:],"config":c,"state":net.state_dict(),"media":mu,"desviacion":sd,"cpu":s,"loss":h.loss}, "pesos-setr-"+(tag or f"{seed}-{steps}")+".pt")
net.eval()
print("setr",seed,steps,json.dumps(extra),"alone",alone,lr,B,f"{s:.1f} s","perdida",round(sum(h.loss[-20:])/20,3),flush=True)
for part in ("validation","test"):
    sc=scenes.generate(300,7,split=part); x=(scenes.batch(sc).images-mu)/sd
    with torch.no_grad(): found=torch.cat([net(y,mask).argmax(1) for y in x.split(100)])
    truth=torch.stack([z.semantic for z in sc]); m=mean_iou(found,truth)
    print("  ",part,"miou",round(m["miou"],3),"fondo",round(m["by_class"][10],3),"acierto",round(m["accuracy"],3),"todo fondo",round(mean_iou(torch.full_like(truth,10),truth)["miou"],3),flush=True)
