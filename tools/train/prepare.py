#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prepare.py - cleans the collected text, builds plain and chat training documents, and packs them into
   corpus.jsonl.xz  (one JSON object per line: {"s": section, "t": text[, "v": 1 = held out]})
Also writes held-out plain text for perplexity runs: heldout/{stories,chat}.txt
Standard library only.   usage: nice -n 19 python3 prepare.py [variants-per-world, default 8]
Chat documents use exactly:  <|user|>\n{instruction}<|end|>\n<|assistant|>\n{answer}<|end|>\n
"""
import json, re, random, sys, os, hashlib, collections, subprocess
D=os.environ.get('DATA','data')+'/'
NV=int(sys.argv[1]) if len(sys.argv)>1 else 8
rnd=random.Random(1234)
docs=[]                       # (section, text, heldout)
stat=collections.defaultdict(lambda:[0,0])
def h100(s): return int(hashlib.md5(s.encode()).hexdigest()[:8],16)%100
_ws=re.compile(r' {2,}'); _nl=re.compile(r' *\n *'); _nl3=re.compile(r'\n{3,}')
def norm(t):
    if t.isascii() and '  ' not in t and ' \n' not in t and '\n ' not in t and '\n\n\n' not in t and '\t' not in t and '\r' not in t and '<|' not in t and '|>' not in t: return t.strip()
    t=t.replace('\u2018',"'").replace('\u2019',"'").replace('\u201c','"').replace('\u201d','"').replace('\u2013','-').replace('\u2014',' - ').replace('\u2026','...').replace('\u00a0',' ').replace('\t',' ').replace('\r','')
    t=t.replace('<|','').replace('|>','')
    t=_ws.sub(' ',t); t=_nl.sub('\n',t); t=_nl3.sub('\n\n',t)
    return t.strip()
def add(sec,t,held=False):
    if not t: return
    docs.append((sec,t,held)); stat[sec][0]+=1; stat[sec][1]+=len(t)
def chat(turns):
    return ''.join('<|user|>\n%s<|end|>\n<|assistant|>\n%s<|end|>\n'%(u.strip(),a.strip()) for u,a in turns)
def rd(p):
    with open(D+p,encoding='utf-8') as f:
        for l in f:
            if l.strip(): yield json.loads(l)

# ------------------------------------------------------------------ story helpers
STOPN=set('The A An And But Then So One Once He She It They We I You In On At When While After Before Every There This That His Her Their My Your Its As If Not No Yes Oh Look Now Soon Just Even From For With By To Of What Why How Who Where Mom Mommy Dad Daddy Mama Papa Grandma Grandpa Mother Father Day Morning Christmas Monday Tuesday Wednesday Thursday Friday Saturday Sunday God Mr Mrs Miss Dr'.split())
def main_name(t):
    c=collections.Counter(m for m in re.findall(r'(?<=[a-z,;] )([A-Z][a-z]{2,})\b',t) if m not in STOPN)
    if not c: return None
    n,k=c.most_common(1)[0]
    return n if k>=2 else None
def first_sentence(t):
    m=re.match(r'(.{25,180}?[.!?])(?=\s|$)',t.replace('\n',' '))
    return m.group(1) if m and m.group(1).count('"')%2==0 else None
def split_continue(t):
    p=t.split('\n\n')
    if len(p)>=3: return p[0],'\n\n'.join(p[1:])
    if len(p)==2: return p[0],p[1]
    s=re.split(r'(?<=[.!?]) (?=[A-Z])',t)
    if len(s)>=6:
        k=len(s)//3
        a=' '.join(s[:k])
        if a.count('"')%2==0: return a,' '.join(s[k:])
    return None
def pick(*a): return rnd.choice(a)
def low1(s): return s[0].lower()+s[1:] if s else s
def words_prompt(ws):
    w=', '.join(ws)
    return pick('Write a short story that uses the words: %s.','Write a story with the words: %s.','Tell me a short story using these words: %s.','Can you write a story that uses the words %s?')%w
def generic_prompts(t,words=()):
    """mechanical instructions that are true of story t"""
    o=[]
    n=main_name(t); f=first_sentence(t)
    if n: o+= [pick('Tell me a story about %s.','Tell me a short story about a character named %s.','Write a story about %s.','Can you tell me a story about %s?')%n]
    if f: o+= [pick('Tell me a story that starts with: "%s"','Write a story that begins like this: "%s"')%f]
    ws=[w for w in words if re.search(r'\b%s\b'%re.escape(w),t,re.I)]
    if len(ws)>=2: o+=[words_prompt(ws[:4])]
    if ws: o+=[pick('Tell me a story with the word "%s".','Write a short story that includes the word "%s".','Tell me a story about this: %s.')%ws[0]]
    o+=[pick('Tell me a story.','Tell me a short story.','Can you tell me a story?','Please tell me a bedtime story.','I want to hear a story.')] if rnd.random()<0.25 else []
    return o

# ------------------------------------------------------------------ 1. storyworlds
BADC=re.compile(r'[{}_<>|\[\]\\=@#*~^]').search
BADW=('None','True','False',' self','lambda','Entity','0x','meme','nan ')
def bad(t): return bool(BADC(t)) or any(w in t for w in BADW)
_dots=re.compile(r'(?<!\.)\.\.(?!\.)'); _ex=re.compile(r'([!?])\.'); _dbl=re.compile(r'\b(a|an|the|to|of|and|in|at|with) \1\b',re.I); _art=re.compile(r'\b(a|the) (?:a|an|the) (?=[a-z])')
_an=re.compile(r'(?<![A-Za-z])([Aa]) (?=[aeio])(?!one\b|once\b|eu)'); _sp=re.compile(r' ([,.!?;])'); _cap=re.compile(r'((?:^|[.!?] |\n))([a-z])'); _capf=re.compile(r'(?:^|[.!?] |\n)[a-z]')
_art2=re.compile(r'\b(?:the|a|an|her|his|their) (?:missing|found|lost|little|old|new|big|small|same|real|tiny|shiny|bright|brave|own) (?:the|a|an|her|his) ').search
_typ=re.compile(r'(?:^|[.!?] |\n)(?:girl|boy|child|helper|hero|friend) [a-z]+').search
OKD=set('very so had that tap knock ha bye no hop drip tick round up again more closer higher slowly'.split())
def fix(t):
    t=norm(t)
    if '--' in t: t=t.replace('--','-')
    if '..' in t: t=_dots.sub('.',t)
    if '!.' in t or '?.' in t: t=_ex.sub(r'\1',t)
    if any(x in t for x in (' the the ',' a a ',' a the ',' the a ',' an an ',' to to ',' of of ',' a an ',' the an ','The the','A a ',' in in ',' at at ',' and and ',' with with ')): t=_art.sub(r'\1 ',_dbl.sub(r'\1',t))
    t=_an.sub(r'\1n ',t)
    if ' ,' in t or ' .' in t or ' !' in t or ' ?' in t: t=_sp.sub(r'\1',t)
    return _cap.sub(lambda m:m.group(1)+m.group(2).upper(),t)
def good(raw):
    if not 260<=len(raw)<=3600 or bad(raw) or raw.count('"')%2: return False
    if len(_capf.findall(raw))>2 or _typ(raw) or _art2(raw): return False
    w=raw.split(' ')
    for x,y in zip(w,w[1:]):
        if x==y and len(x)>2 and x not in OKD: return False
    return True
kw_stop=set('moral value lesson learned problem solving happy ending bad sound effects inner monologue story tale fairy folk whodunit mystery detective pirate adventure myth nursery rhyme comedy ghost space heartwarming conflict teamwork sharing kindness surprise suspense transformation reconciliation misunderstanding cautionary curiosity dialogue repetition flashback foreshadowing twist friendship bravery humor magic quest superhero animal bedtime slice life rhyming fable'.split())
wq=collections.OrderedDict(); nworld=0; nbad=0
fn='storyworlds/'+os.environ.get('SWFILE','raw.jsonl')
for d in rd(fn):
    held=h100(d['f'])==7
    base=os.path.basename(d['f'])[:-3].split('_')
    words=[w for w in base if len(w)>2 and w not in kw_stop]
    V=[]
    for v in d['v']:
        if len(V)>=NV: break
        n=norm(v['st'])
        if good(n): v['st']=fix(n); V.append(v)
        else: nbad+=1
    if not V: continue
    nworld+=1; V=V[:NV]
    k0=rnd.randrange(8)
    for i,v in enumerate(V):
        t=v['st']; form=(i+k0)%8; P=[]; Q=[]
        if form in(1,5,7): P=[norm(p) for p in v['p'] if 20<len(p)<260 and not bad(p) and p.count('"')%2==0]
        if P: P=[re.sub(r'\b(an? )?3[- ]to[- ]5[- ]year[- ]old\b',pick('a young child','a small child','a child'),p).replace('a a ','a ') for p in P]
        if form==7: Q=[(norm(a),fix(b)) for a,b in v['q'] if 8<len(a)<200 and 3<len(b)<320 and not bad(a+b) and (a+b).count('"')%2==0 and not re.match(r'[a-z]',a)]
        if form in(0,3,6): add('sw_plain',t,held)
        elif form in(1,5):
            p=rnd.choice(P) if P and rnd.random()<0.75 else (rnd.choice(generic_prompts(t,words) or ['Tell me a story.']))
            add('sw_chat',chat([(p,t)]),held)
        elif form==2:
            p=rnd.choice(generic_prompts(t,words) or ['Tell me a story.'])
            add('sw_chat',chat([(p,t)]),held)
        elif form==4:
            c=split_continue(t)
            if c: add('sw_chat',chat([(pick('Continue this story: ','Continue the story: ','Finish this story: ')+c[0],c[1])]),held)
            else: add('sw_plain',t,held)
        else:                                   # story + questions, multi-turn
            if len(Q)>=1:
                k=min(len(Q),rnd.choice([1,2,2,3,4])); qs=sorted(rnd.sample(range(len(Q)),k))
                p=rnd.choice(P) if P and rnd.random()<0.6 else rnd.choice(generic_prompts(t,words) or ['Tell me a story.'])
                if rnd.random()<0.7: T=[(p,t)]+[Q[j] for j in qs]
                else: T=[(pick('Read this story and answer my question.','Here is a story.','Read the story below.')+'\n\n'+t+'\n\n'+Q[qs[0]][0],Q[qs[0]][1])]+[Q[j] for j in qs[1:]]
                if rnd.random()<0.12: T.append((pick('Thank you!','Thanks for the story.','I liked that story.','That was a nice story.'),pick('You are welcome! I am glad you liked it.','You are welcome! Would you like to hear another story?','I am happy that you liked it.')))
                add('sw_qa',chat(T),held)
            else: add('sw_plain',t,held)
        for a,b in (v['w'] if i<2 else ()):
            a,b=norm(a),fix(b)
            if 8<len(a)<140 and 10<len(b)<300 and a.endswith('?') and not bad(a+b):
                L=wq.setdefault(a.lower(),[])
                if len(L)<2 and all(x[1]!=b for x in L): L.append((a,b))
allw=[x for L in wq.values() for x in L]
rnd.shuffle(allw)
i=0
while i<len(allw):                              # world-knowledge questions, 1-3 per conversation
    k=rnd.choice([1,1,2,3]); add('wq',chat(allw[i:i+k]),h100(allw[i][0])==7); i+=k
print('worlds',nworld,'dropped variants',nbad,'world questions',len(allw))

# ------------------------------------------------------------------ 2. ROCStories (five sentences)
roc=list(rd('rocstories/rocstories.jsonl')); rnd.shuffle(roc)
for j,d in enumerate(roc):
    s=[norm(x) for x in d['s']]; t=norm(' '.join(s)); held=h100(t[:60])==7; ti=norm(d['title']).strip(' .')
    if '"' in t and t.count('"')%2: continue
    r=rnd.random()
    if r<0.40: add('roc_plain',(ti+'\n\n'+t) if ti and rnd.random()<0.5 else t,held)
    elif r<0.62 and ti: add('roc_chat',chat([(pick('Write a short story titled "%s".','Tell me a short story called "%s".','Write a five sentence story with the title "%s".','Tell me a very short story about this: %s.')%ti,t)]),held)
    elif r<0.72: add('roc_chat',chat([(pick('Continue this story: ','Finish this story: ','What happens next? ')+' '.join(s[:2]),' '.join(s[2:]))]),held)
    elif r<0.80: add('roc_chat',chat([(pick('Write an ending for this story: ','How does this story end? ','Write the last sentence of this story: ')+' '.join(s[:4]),s[4])]),held)
    elif r<0.86 and ti: add('roc_chat',chat([(pick('Give this story a title: ','What is a good title for this story? ','Write a title for this story: ')+t,ti)]),held)
    else:
        n=main_name(t) or (re.match(r'([A-Z][a-z]{2,})\b',t).group(1) if re.match(r'([A-Z][a-z]{2,})\b',t) and re.match(r'([A-Z][a-z]{2,})\b',t).group(1) not in STOPN else None)
        if n: add('roc_chat',chat([(pick('Tell me a very short story about %s.','Write a short story about a person named %s.','Tell me a five sentence story about %s.')%n,t)]),held)
        else: add('roc_plain',t,held)

# ------------------------------------------------------------------ 3. TinyStories fragments, fables, storybooks, tales
for d in rd('tinystories/tinystories.jsonl'):
    t=norm(d['text']); held=h100(t[:60])==7
    if rnd.random()<0.5: add('ts',t,held)
    else:
        g=generic_prompts(t) or ['Tell me a story.']
        c=split_continue(t)
        if c and rnd.random()<0.25: add('ts',chat([('Continue this story: '+c[0],c[1])]),held)
        else: add('ts',chat([(rnd.choice(g),t)]),held)
for d in rd('fables/fables.jsonl'):
    t=norm(d['text']); m=d['m']; held=h100(t[:60])==7; r=rnd.random()
    if r<0.4 or not m.get('Main Character'): add('fable',t,held)
    else:
        ch=re.sub(r'^a (?=[aeiou])','an ',m['Main Character']); te=m.get('Teaching','')
        p=pick('Tell me a fable about %s.'%ch,'Write a short fable about %s.'%ch,'Tell me a story about %s that teaches this: %s.'%(ch,te) if te else 'Tell me a story about %s.'%ch,'Write a fable with this moral: %s.'%te if te else 'Write a fable about %s.'%ch)
        T=[(p,t)]
        if te and rnd.random()<0.4: T.append((pick('What is the moral of the story?','What does this story teach us?'),te[0].upper()+te[1:].rstrip('.')+'.'))
        add('fable',chat(T),held)
for d in rd('storybooks/storybooks.jsonl'):
    t=norm(d['text']); held=h100(d['title'])==7
    for i in range(0,len(t),3600):
        x=t[i:i+3600]
        if i==0 and rnd.random()<0.4 and len(t)<3600: add('book',chat([(pick('Tell me the story "%s".','Write a children\'s story called "%s".')%norm(d['title']),x)]),held)
        else: add('book',(norm(d['title'])+'\n\n' if i==0 else '')+x,held)
for d in rd('fairytaleqa/fairytaleqa.jsonl'):
    held=h100(d['name'])==7; secs={k:norm(v) for k,v in d['secs'].items()}
    L=list(secs.values()); i=0
    while i<len(L):
        k=rnd.choice([2,3,4]); add('tale','\n\n'.join(L[i:i+k]),held); i+=k
    by=collections.defaultdict(list)
    for s,q,a in d['qa']: by[s].append((norm(q),norm(a)))
    for s,Q in by.items():
        if s not in secs or len(secs[s])>2600: continue
        def A(a): return a[0].upper()+a[1:]+('' if a[-1] in '.!?"' else '.')
        rnd.shuffle(Q); Q=Q[:3]
        add('tale_qa',chat([(secs[s]+'\n\n'+Q[0][0],A(Q[0][1]))]+[(q,A(a)) for q,a in Q[1:]]),held)
for d in rd('mctest/mctest.jsonl'):
    t=norm(d['text']); held=h100(t[:60])==7; add('mct',t,held)
    Q=[(norm(q),norm(a)) for q,a in d['qa']]
    if Q: add('mct',chat([(t+'\n\n'+Q[0][0],Q[0][1][:1].upper()+Q[0][1][1:].rstrip('.')+'.')]+[(q,a[:1].upper()+a[1:].rstrip('.')+'.') for q,a in Q[1:]]),held)
for d in rd('ni_misc/tellmewhy.jsonl'):
    a=norm(d['a']); add('why',chat([(norm(d['text'])+'\n\n'+norm(d['q']),a[:1].upper()+a[1:].rstrip('.')+'.')]),h100(d['text'][:60])==7)

# ------------------------------------------------------------------ 4. instructions, dialogue
for d in rd('dolly/dolly.jsonl'):
    q,a=norm(d['q']),norm(d['a'])
    if 8<len(q)<300 and 2<len(a)<700 and re.match(r'[A-Z0-9"]',q): add('dolly',chat([(q,a)]),h100(q)==7)
sg=list(rd('sgd/sgd.jsonl')); rnd.shuffle(sg)
for t in sg[:9000]:
    T=[]; ok=True
    for i in range(0,len(t)-1,2):
        if t[i][0]!='U' or t[i+1][0]!='S': ok=False; break
        T.append((norm(t[i][1]),norm(t[i+1][1])))
    if ok and 2<=len(T)<=16: add('sgd',chat(T),h100(T[0][0])==7)
for d in rd('ni_misc/piqa.jsonl'):
    q,a=norm(d['q']),norm(d['a'])
    if not re.match(r'(How|What|To|Why|Where|When)',q): q=pick('How do I do this: %s','How can I do this: %s')%q.rstrip('.')+('' if q.endswith('?') else '?')
    if len(q)<200 and len(a)<400: add('piqa',chat([(q,a[:1].upper()+a[1:]+('' if a[-1:] in '.!?' else '.'))]),h100(q)==7)
for d in rd('ni_misc/commongen.jsonl'):
    for a in d['a'][:2]:
        a=norm(a).rstrip(' .'); 
        if len(a)<15: continue
        add('cg',chat([(pick('Write a sentence with the words: %s.','Use these words in a sentence: %s.')%', '.join(d['w']),a[0].upper()+a[1:]+'.')]),h100(a)==7)
for d in rd('ni_misc/arc_easy.jsonl'):
    q,a=norm(d['q']),norm(d['a'])
    if re.search(r'\b(these|following|below|table|diagram|choose|above)\b',q,re.I) or not q.endswith('?') or len(q)>220: continue
    add('arc',chat([(q,a[:1].upper()+a[1:].rstrip('.')+'.')]),h100(q)==7)
for d in rd('gsm8k/train.jsonl'):
    a=re.sub(r'<<.*?>>','',d['answer']); a=re.sub(r'\n#### ?(.*)',r'\nThe answer is \1.',a)
    add('gsm',chat([(norm(d['question']),norm(a))]),h100(d['question'])==7)

# ------------------------------------------------------------------ 5. encyclopaedic text, public-domain books
for d in rd('wikipassages/squad_passages.jsonl'): add('wiki',norm(d['text']),h100(d['text'][:60])==7)
for d in rd('books/books.jsonl'):
    cur=[]; n=0
    for p in norm(d['text']).split('\n\n'):
        cur.append(p); n+=len(p)
        if n>3200: add('pd','\n\n'.join(cur),h100(cur[0])==7); cur=[]; n=0

# ------------------------------------------------------------------ 6. small talk, so that the model says sensible things about itself
ME='I am a very small language model. I was trained on short stories, so I am best at telling stories.'
small=[(['Hello','Hello!','Hi','Hi!','Hey','Hello there','Good morning'],['Hello! Would you like to hear a story?','Hi! I can tell you a story. What should it be about?','Hello! It is nice to meet you. What kind of story would you like?']),
 (['Who are you?','What are you?','What is your name?','Are you a person?','Are you a robot?'],[ME,'I am a small computer program that tells stories.','I am a tiny language model. I do not have a name, but I can tell you a story.']),
 (['What can you do?','How can you help me?','What are you good at?','Help'],['I can tell short stories, continue a story that you start, and answer simple questions about a story.','I can tell you a short story. You can give me some words, a name, or a first sentence.']),
 (['How are you?','How are you today?'],['I am fine, thank you! Would you like to hear a story?','I am doing well. What would you like to talk about?']),
 (['Thank you','Thank you!','Thanks','Thanks a lot!'],['You are welcome!','You are welcome! Would you like another story?','I am glad I could help.']),
 (['Goodbye','Bye','Bye!','Good night','See you later'],['Goodbye! Have a nice day.','Good night! Sleep well.','Bye! Come back soon for another story.']),
 (['What is the weather today?','What time is it?','What is the news today?'],['I do not know, because I cannot look outside or read the news. I can tell you a story instead.']),
 (['Can you write computer code?','Can you solve hard math problems?','Can you search the internet?'],['No, I am too small for that. I am best at telling short stories.']),
 (['Do you like stories?','What do you like?'],['Yes, I like stories very much, most of all stories about friends and animals.']),
 (['Are you smart?','Do you know everything?'],['No, I am a very small model and I make mistakes. But I can tell a nice story.'])]
stories=[t for s,t,v in docs if s=='sw_plain' and not v and len(t)<1500]
for qs,as_ in small:
    for q in qs:
        for a in as_: add('hello',chat([(q,a)]))
for _ in range(600):
    qs,as_=rnd.choice(small[:2]+small[3:4]); t=rnd.choice(stories); n=main_name(t)
    if not n: continue
    add('hello2',chat([(rnd.choice(qs),rnd.choice(as_)),(pick('Yes, please. Tell me a story about %s.','Tell me a story about %s, please.','Yes! I want a story about %s.')%n,t)]))

# ------------------------------------------------------------------ write
rnd.shuffle(docs)
# keep near-duplicate variants close together for the compressor: sort by the first 40 letters of the last answer
def key(x):
    t=x[1]
    m=t.split('<|assistant|>\n',1)
    return (x[0].split('_')[0],(m[1] if len(m)>1 else t)[:48])
docs.sort(key=key)
out=D+'train/corpus.jsonl'; raw=0; held=[]
with open(out,'w',encoding='utf-8') as w:
    for s,t,v in docs:
        o={'s':s,'t':t}
        if v: o['v']=1; held.append((s,t))
        w.write(json.dumps(o,ensure_ascii=False)+'\n'); raw+=len(t)
os.makedirs(D+'heldout',exist_ok=True)
rnd.shuffle(held)
hs=[t for s,t in held if s in('sw_plain','roc_plain','ts','fable','tale','mct') and not t.startswith('<|user|>')]
hc=[t for s,t in held if t.startswith('<|user|>') and s in('sw_chat','sw_qa','roc_chat','ts','fable','wq')]
open(D+'heldout/stories.txt','w').write('\n\n'.join(hs)[:600000])
open(D+'heldout/chat.txt','w').write(''.join(hc)[:600000])
for k in sorted(stat): print('%-10s %7d docs %8.2f MB'%(k,stat[k][0],stat[k][1]/1e6))
print('total %d docs, %.1f MB, held out %d'%(len(docs),raw/1e6,len(held)))
if '--no-xz' not in sys.argv:
    subprocess.check_call(['xz','-f','-k','--lzma2=preset=4,dict=256MiB',out])
    sz=os.path.getsize(out+'.xz'); print('corpus.jsonl.xz %.2f MiB'%(sz/2**20))
    assert sz<=50*2**20,'too large: run again with fewer variants'
