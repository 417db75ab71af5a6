import sys,time,json,torch
torch.set_num_threads(1)
from atento import rng
from atento.models.maskformer import MaskFormer, MaskFormerConfig, panoptic, semantic
from atento.models.detr import Detr
from atento.tasks import scenes
from atento.tasks.seeing import mean_iou, panoptic_quality
from atento.training import fit, parameter_groups, warmup_cosine
seed, steps = int(sys.argv[1]), int(sys.argv[2])
extra=json.loads(sys.argv[3]) if len(sys.argv)>3 else {}
lr=extra.pop("lr",3e-3); n=extra.pop("n",8000); B=extra.pop("B",16); cells_first=extra.pop("cells_first",0); boxes_first=extra.pop("boxes_first",0); tag=extra.pop("tag","")
c = MaskFormerConfig(40, **{**dict(classes=11, reference_points=True, refine=True, norm="pre", position_scale=20.0, temperature=20.0, position_gain=2.5, n_convs=2, n_encoder_layers=1, n_decoder_layers=2, queries=12, no_object_weight=0.4, cell_weight=3.0, mask_width=16, focal_weight=20.0, dice_weight=1.0, class_weight=2.0), **extra})
rng.seed_all(seed); net=MaskFormer(c)
t=time.process_time(); data=scenes.generate(n,100+seed); images=scenes.batch(data).images; targets=[s.parts for s in data]; print("datos",round(time.process_time()-t,1),sum(p.numel() for p in net.parameters()),flush=True)
g=rng.generator(seed)
def batch(step):
    at=torch.randint(len(data),(B,),generator=g)
    return images[at],[targets[i] for i in at]
step_no=[0]
def loss(m,b):
    step_no[0]+=1
    if step_no[0]<=cells_first:
        mem,_=m.encode(b[0]); return m.auxiliary_loss(mem,[x[:2] for x in b[1]])
    if step_no[0]<=cells_first+boxes_first: return Detr.loss(m,b[0],[x[:2] for x in b[1]])
    return m.loss(*b)
opt=torch.optim.AdamW(parameter_groups(net,weight_decay=0.1),lr=lr,fused=True)
t=time.process_time()
h=fit(net,batch,loss,steps=steps,optimizer=opt,schedule=warmup_cosine(steps,warmup=50),progress=False)
s=time.process_time()-t
torch.save({"receta":sys.argv[1:],"config":c,"state":net.state_dict(),"cpu":s,"loss":h.loss}, "pesos-mask-"+(tag or f"{seed}-{steps}")+".pt")
net.eval()
print("mask",seed,steps,json.dumps(extra),lr,B,"celdas antes",cells_first,"cajas antes",boxes_first,f"{s:.1f} s","perdida",round(sum(h.loss[-20:])/20,3),flush=True)
def score(part,n=300):
    sc=scenes.generate(n,7,split=part); x=scenes.batch(sc).images
    with torch.no_grad(): outs=[net(y) for y in x.split(100)]
    for least in (0.3,0.5,0.8):
        maps=[m for o in outs for m in panoptic(o,rest=10,least=least)]
        q=panoptic_quality(maps,[z.panoptic for z in sc])
        print("  ",part,least,{k:round(q[k],3) for k in ("pq","sq","rq")},"fondo",round(q["by_class"][10]["pq"],3),flush=True)
    m=mean_iou(torch.cat([semantic(o) for o in outs]),torch.stack([z.semantic for z in sc]))
    print("  ",part,"miou",round(m["miou"],3),"acierto",round(m["accuracy"],3),flush=True)
score("validation"); score("test")
