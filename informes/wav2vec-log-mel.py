import sys, time, json, torch
import torch.nn.functional as F
torch.set_num_threads(1)
from functools import partial
from atento import rng
from atento.models.wav2vec2 import *
from atento.tasks import vowels
from atento.training import fit, warmup_cosine, evaluating
name=sys.argv[1]; o=json.loads(sys.argv[2]) if len(sys.argv)>2 else {}
steps=o.get("steps",150); B=o.get("batch",16); seed=o.get("seed",0); tune=o.get("tune",60); nl=o.get("labelled",10)
convs=((40,256,80),)
cfg=Wav2Vec2Config(convs=convs,norm=o.get("norm","pre"),conv_norm=o.get("cn","layer"),init_std=o.get("std",0.08),codebooks=o.get("books",0),place_kernel=o.get("pk",16),**o.get("cfg",{}))
t0=time.process_time(); spent=0.0
def clock(): return time.process_time()-t0-spent
hop=1; rf=1
for _,k,s in reversed(convs): rf=(rf-1)*s+k
for _,_,s in convs: hop*=s
def active(wave):
    e=F.avg_pool1d(wave.square()[:,None],rf,hop)[:,0]
    return e>0.3*e.amax(1,keepdim=True)
def labels(ex,n):
    out=torch.full((n,),-100); at=0.0
    centers=torch.arange(n)*80/vowels.RATE
    for v,l,gap in zip(ex.vowels,ex.lengths,ex.gaps):
        at+=gap; out[(centers>=at)&(centers<at+l)]=vowels.VOWELS.index(v); at+=l
    return out
mel=lambda w: vowels.features(w)
g=rng.generator(seed+1)
pool=vowels.generate(o.get("pool",256),g)
W0=torch.stack([vowels.sound(e) for e in pool]); W=mel(W0); n=W.shape[1]
en=F.avg_pool1d(F.pad(W0,(128,128)).square()[:,None],256,80)[:,0]; en=F.pad(en,(0,max(0,n-en.shape[1])))[:,:n]; A=en>0.3*en.amax(1,keepdim=True)
lab=vowels.generate(nl,rng.generator(500+seed)); LW=mel(torch.stack([vowels.sound(e) for e in lab])); LY=torch.stack([labels(e,n) for e in lab])
te=vowels.generate(60,rng.generator(900)); TW=mel(torch.stack([vowels.sound(e) for e in te])); TY=torch.stack([labels(e,n) for e in te])
print(name,"n",n,"hop",hop,"rf",rf,"activas",A.float().mean().item(),"etiq",(LY>=0).float().mean().item(),"datos cpu %.1f"%clock(),flush=True)
def batch(step):
    i=torch.randint(len(W),(B,),generator=g)
    m=draw_spans(A[i],o.get("share",0.08),o.get("span",5),g)
    return W[i],m,draw_negatives(m,o.get("neg",15),g)
def acc(f):
    with torch.no_grad(): p=f(TW).argmax(-1)
    return ((p==TY)[TY>=0]).float().mean().item()
def probe(model,f=None):
    with evaluating(model), torch.no_grad(): X,T=(f or model)(LW),(f or model)(TW)
    k=LY>=0; mu,sd=X[k].mean(0),X[k].std(0)+1e-6
    lin=torch.nn.Linear(X.shape[-1],5); torch.nn.init.zeros_(lin.weight)
    op=torch.optim.LBFGS(lin.parameters(),max_iter=60)
    def c():
        op.zero_grad(); l=F.cross_entropy(lin((X[k]-mu)/sd),LY[k])+1e-3*lin.weight.square().sum(); l.backward(); return l
    op.step(c)
    with torch.no_grad(): return ((lin((T-mu)/sd).argmax(-1)==TY)[TY>=0]).float().mean().item()
LA=LY>=0
class Tagger(torch.nn.Module):
    def __init__(s,m): super().__init__(); s.m=m; s.out=torch.nn.Linear(cfg.d_model,5); s.g=rng.generator(3)
    def forward(s,x):
        m=draw_spans(LA,o.get("tshare",0.05),o.get("tspan",4),s.g) if s.training else None
        return s.out(s.m(x,m))
def finetune(model,lr):
    rng.seed_all(seed+7); t=Tagger(model)
    loss=lambda m,b: F.cross_entropy(m(b[0]).flatten(0,1),b[1].flatten(),ignore_index=-100)
    h=fit(t,lambda s:(LW,LY),loss,steps=tune,optimizer=partial(torch.optim.AdamW,lr=lr,fused=True),schedule=warmup_cosine(tune,warmup=10),progress=False)
    t.eval(); return acc(t),h.loss[-1]
class Mel(Wav2Vec2):
    def features(s,x): return s.norm(x)
rng.seed_all(seed)
net=Wav2Vec2Pretraining(cfg); print("params",sum(p.numel() for p in net.model.parameters()),sum(p.numel() for p in net.parameters()))
net.model.__class__=Mel
def pre(m,b):
    x,masked,neg=b; f=m.model.features(x)
    c=m.project_context(m.model.context(f,masked)); tg=m.project_target(f)
    return contrastive_loss(c,tg,masked,neg,temperature=cfg.temperature)
import copy
fresh=copy.deepcopy(net.model)
c=clock(); r0=probe(fresh); print("sonda azar %.3f filas %.3f"%(r0,probe(fresh,fresh.features)),"cpu %.1f"%(clock()-c),flush=True)
def look(s):
    if s.step%max(1,steps//5)==0: print(s.step,"loss %.3f"%(sum(s.history.loss[-20:])/len(s.history.loss[-20:])),"cpu %.1f"%clock(),flush=True)
c=clock()
fit(net,batch,pre,steps=steps,optimizer=partial(torch.optim.AdamW,lr=o.get("lr",2e-3),fused=True),schedule=warmup_cosine(steps,warmup=20),callbacks=[look],progress=False)
print("preentrenar cpu %.1f"%(clock()-c)); net.eval()
print("sonda pre %.3f filas %.3f"%(probe(net.model),probe(net.model,net.model.features)),flush=True)
c=clock()
for lr in o.get("tlr",[2e-3]):
    print("ajuste lr",lr,"pre %.3f (%.3f)"%finetune(copy.deepcopy(net.model),lr),"cero %.3f (%.3f)"%finetune(copy.deepcopy(fresh),lr),"cpu %.1f"%(clock()-c),flush=True)
if o.get("save"): torch.save(net.state_dict(),""+name+".pt")
