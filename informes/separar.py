import sys, time, json, torch
torch.set_num_threads(1)
from functools import partial
from atento import rng
from atento.audio import separation
from atento.models.sepformer import *
from atento.tasks import vowels
from atento.training import fit, warmup_cosine
name=sys.argv[1]; o=json.loads(sys.argv[2]) if len(sys.argv)>2 else {}
K=o.get("kernel",32); S=o.get("stride",K//2); C=o.get("chunk",40); B=o.get("batch",4); L=o.get("crop",6400); lr=o.get("lr",2e-3); steps=o.get("steps",300); seed=o.get("seed",0); pool=o.get("pool",0)
t0=time.process_time()
rng.seed_all(seed)
cfg=SepFormerConfig(kernel_size=K,stride=S,chunk=C,**o.get("cfg",{}))
net=SepFormer(cfg)
if o.get("sin"):
    import math
    nf=cfg.n_filters//4; n=torch.arange(K); w=(math.pi*(n+.5)/K).sin(); f=(torch.arange(nf)+o.get("f0",1))*o.get("df",1.0)/K
    ang=2*math.pi*f[:,None]*n; base=torch.cat([ang.cos(),ang.sin()])*w*(2/K)**.5
    base=torch.cat([base,-base])[:,None]
    with torch.no_grad():
        net.filters.weight.copy_(base); net.decoder.weight.copy_(base)
g=rng.generator(seed+1)
if pool:
    prs=vowels.mixtures(pool,g); data=vowels.mix(prs)
    flat=data.voices.flatten(0,1); pitch=torch.tensor([e.pitch for p in prs for e in p])
def draw(step):
    if pool:
        i=torch.randint(len(flat),(8*B,2),generator=g); p=pitch[i]
        i=i[(p.amax(1)>=1.25*p.amin(1))][:B]; v=flat[i]
    else:
        v=vowels.mix(vowels.mixtures(B,g)).voices
    if L<v.shape[-1]:
        s=int(torch.randint(o.get('late',1000),(1,),generator=g)); v=v[...,s:s+L]
    return v.sum(1), v
test=vowels.mix(vowels.mixtures(24,900)); held=vowels.mix(vowels.mixtures(24,901,split="test"))
print(name,sum(p.numel() for p in net.parameters()),"datos",round(time.process_time()-t0,1),flush=True)
def improve(m,mx):
    m.eval()
    with torch.no_grad():
        est=m(mx.heard)
        out=separation(est,mx.voices).si_snr-separation(mx.heard[:,None].expand_as(mx.voices).contiguous(),mx.voices).si_snr
    m.train(); return out.mean().item()
evs=o.get("evals",4); spent=[0.0]
def look(state):
    if state.step%(steps//evs)==0:
        t=time.process_time(); a=improve(net,test); b=improve(net,held) if state.step==steps else float("nan"); spent[0]+=time.process_time()-t
        print(name,state.step,"loss %.2f"%(sum(h[-30:])/30 if (h:=state.history.loss) and len(h)>=30 else 0),"test %.2f held %.2f"%(a,b),"cpu %.1f"%(time.process_time()-t0-spent[0]),flush=True)
fit(net,draw,sepformer_loss,steps=steps,optimizer=partial(torch.optim.AdamW,lr=lr,weight_decay=o.get("wd",0.01),fused=True),schedule=warmup_cosine(steps,warmup=o.get("warm",50)),callbacks=[look],clip=o.get("clip",5.0),progress=False)
if o.get("save"): torch.save(net.state_dict(),""+name+".pt")
