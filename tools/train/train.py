#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""train.py - trains the project's small default language model (and its draft model) on one H200.

The commands that made the models in this folder:

  train.py --preset main  --minutes 7.6 --epochs 9  --dropout 0.22 --lr 1.3e-3 --out OUT
  train.py --preset draft --minutes 3.2 --epochs 10 --dropout 0.05 --tokenizer OUT/tokenizer.json --out OUT_DRAFT

--minutes is the wall-clock budget of the whole process (data preparation, training, saving); training stops
early enough to save. Output in --out: model-*.safetensors (or model.safetensors) in bfloat16, each < 15 MB, and
<preset>_small.tar.gz (config.json, generation_config.json, tokenizer files, index, train_log.csv, samples.txt,
eval.json). At most 8 files, < 64 MiB.
"""
import os, sys, time
T0 = time.time()
os.environ.setdefault('TOKENIZERS_PARALLELISM', 'true')
os.environ.setdefault('HF_HUB_OFFLINE', '1')
os.environ.setdefault('TRANSFORMERS_OFFLINE', '1')
os.environ.setdefault('PYTORCH_CUDA_ALLOC_CONF', 'expandable_segments:True')
import argparse, csv, json, math, glob, shutil, subprocess, tarfile, traceback, random, hashlib
import multiprocessing as mp

HERE = os.path.dirname(os.path.abspath(__file__))
SPECIALS = ['<|pad|>', '<|bos|>', '<|end|>', '<|user|>', '<|assistant|>']     # ids 0..4
PAD, BOS, END, USER, ASSISTANT = range(5)
VOCAB = 8192
CTX = 1024
PRESETS = {
    'main':  dict(hidden_size=512, num_hidden_layers=8, num_attention_heads=8, num_key_value_heads=4, head_dim=64,
                  intermediate_size=1536, lr=1.5e-3, dropout=0.05, micro=64, batch=256, epochs=14.0),
    'draft': dict(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=64,
                  intermediate_size=768, lr=3e-3, dropout=0.0, micro=128, batch=256, epochs=14.0),
}
# how often a document of a section occurs in one epoch (small, good sections more often; default 1)
REPEAT = {'ts': 4, 'fable': 3, 'book': 3, 'tale': 2, 'tale_qa': 2, 'mct': 3, 'why': 2, 'dolly': 3, 'wiki': 2,
          'roc_plain': 2, 'roc_chat': 2, 'hello': 30, 'hello2': 2}
CHAT_TEMPLATE = ("{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
                 "{{ '<|user|>\\n' + message['content'] + '<|end|>\\n' }}"
                 "{% elif message['role'] == 'assistant' %}"
                 "{{ '<|assistant|>\\n' + message['content'] + '<|end|>\\n' }}"
                 "{% elif message['role'] == 'system' %}"
                 "{{ '<|user|>\\n' + message['content'] + '<|end|>\\n' }}{% endif %}{% endfor %}"
                 "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}")


def log(*a):
    print('[%6.1fs]' % (time.time() - T0), *a, flush=True)


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument('--preset', choices=sorted(PRESETS), default='main')
    ap.add_argument('--minutes', type=float, default=9.0, help='wall-clock budget of this process')
    ap.add_argument('--total-minutes', type=float, default=0.0, help='training minutes of the whole schedule over all commands (0: what this command has)')
    ap.add_argument('--epochs', type=float, default=0.0, help='cap on passes over the weighted corpus (0: the preset)')
    ap.add_argument('--resume', action='store_true')
    ap.add_argument('--corpus', default=os.path.join(HERE, 'corpus.jsonl.xz'))
    ap.add_argument('--tokenizer', default='', help='existing tokenizer.json to use instead of training one')
    ap.add_argument('--ckpt', default='/tmp/ckpt')
    ap.add_argument('--out', default=os.environ.get('OUT', './out'))
    ap.add_argument('--batch', type=int, default=0, help='sequences of 1024 tokens per step')
    ap.add_argument('--micro', type=int, default=0)
    ap.add_argument('--lr', type=float, default=0.0)
    ap.add_argument('--dropout', type=float, default=-1.0)
    ap.add_argument('--no-compile', action='store_true')
    ap.add_argument('--procs', type=int, default=min(16, os.cpu_count() or 4))
    return ap.parse_args()


# ---------------------------------------------------------------------------------------------- data
def read_corpus(path):
    if path.endswith('.xz'):
        try:
            import lzma
            with lzma.open(path, 'rb') as f:
                data = f.read()
        except Exception as e:                       # no _lzma module, or a damaged one: use the xz program
            log('lzma module:', e, '- trying the xz program')
            data = subprocess.run(['xz', '-dc', path], check=True, stdout=subprocess.PIPE).stdout
    else:
        with open(path, 'rb') as f:
            data = f.read()
    import re
    # template slips of the story generators ("the missing the book"), found after the corpus was packed
    slip = re.compile(r'\b(?:the|a|an|her|his|their) (?:missing|found|lost|little|old|new|big|small|same|real|tiny|shiny|'
                      r'bright|brave|own) (?:the|a|an|her|his) ').search
    docs, dropped = [], 0
    for line in data.decode('utf-8').split('\n'):
        if line:
            d = json.loads(line)
            if d['s'].startswith('sw_') and slip(d['t']):
                dropped += 1
                continue
            if d['s'] == 'mct':
                d['t'] = d['t'].replace('..<|end|>', '.<|end|>')
            docs.append(d)
    log('dropped %d documents with template slips' % dropped)
    return docs


def train_tokenizer(docs, path):
    from tokenizers import Tokenizer, models, pre_tokenizers, decoders, trainers, processors
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tok.decoder = decoders.ByteLevel()
    tr = trainers.BpeTrainer(vocab_size=VOCAB, special_tokens=SPECIALS, min_frequency=2, show_progress=False,
                             initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))

    def texts():
        for i, d in enumerate(docs):
            s = d['s']
            if s.startswith('sw_') and i % 4:        # the big section: a quarter is plenty for merge counts
                continue
            t = d['t']
            for sp in SPECIALS:
                t = t.replace(sp, ' ')
            for _ in range(min(3, REPEAT.get(s, 1))):
                yield t
    tok.train_from_iterator(texts(), trainer=tr)
    tok.post_processor = processors.TemplateProcessing(
        single='<|bos|> $A', pair='<|bos|> $A <|bos|> $B', special_tokens=[('<|bos|>', BOS)])
    for i, s in enumerate(SPECIALS):
        assert tok.token_to_id(s) == i, (s, tok.token_to_id(s))
    assert tok.get_vocab_size() == VOCAB, tok.get_vocab_size()
    tok.save(path)
    return tok


_TOK = None


def _init_worker(path):
    global _TOK
    os.environ['TOKENIZERS_PARALLELISM'] = 'false'
    from tokenizers import Tokenizer
    _TOK = Tokenizer.from_file(path)


def _encode(texts):
    import numpy as np
    out = []
    for t in texts:
        ids = _TOK.encode(t, add_special_tokens=False).ids
        if t.startswith('<|user|>'):
            out.append(np.array([BOS] + ids, dtype=np.uint16))
        else:
            out.append(np.array([BOS] + ids + [END], dtype=np.uint16))
    return out


def build_data(a):
    """-> (train uint16 array, val uint16 array, path of tokenizer.json); cached in the checkpoint folder"""
    import numpy as np
    os.makedirs(a.ckpt, exist_ok=True)
    tokp = os.path.join(a.ckpt, 'tokenizer.json')
    trp, vap, okp = (os.path.join(a.ckpt, n) for n in ('train.npy', 'val.npy', 'data.ok'))
    if a.tokenizer and not os.path.exists(okp):
        shutil.copy(a.tokenizer, tokp)
    if os.path.exists(okp):
        tr, va = np.load(trp), np.load(vap)
        log('cached tokens: train %.1fM, val %.2fM' % (len(tr) / 1e6, len(va) / 1e6))
        return tr, va, tokp
    docs = read_corpus(a.corpus)
    log('corpus: %d documents, %.1f MB' % (len(docs), sum(len(d['t']) for d in docs) / 1e6))
    if not os.path.exists(tokp):
        train_tokenizer([d for d in docs if not d.get('v')], tokp)
        log('tokenizer trained')
    texts = [d['t'] for d in docs]
    chunks = [texts[i:i + 500] for i in range(0, len(texts), 500)]
    if a.procs > 1:
        ctx = mp.get_context('spawn')
        with ctx.Pool(a.procs, initializer=_init_worker, initargs=(tokp,)) as pool:
            enc = [x for c in pool.map(_encode, chunks, chunksize=4) for x in c]
    else:
        _init_worker(tokp)
        enc = [x for c in chunks for x in _encode(c)]
    order, val = [], []
    per = {}
    for i, d in enumerate(docs):
        if d.get('v'):
            val.append(i)
        else:
            r = REPEAT.get(d['s'], 1)
            order += [i] * r
            n = per.setdefault(d['s'], [0, 0])
            n[0] += r
            n[1] += r * len(enc[i])
    rnd = random.Random(17)
    rnd.shuffle(order)
    rnd.shuffle(val)
    tr = np.concatenate([enc[i] for i in order])
    va = np.concatenate([enc[i] for i in val])
    for s in sorted(per):
        log('   %-10s %7d docs %7.2fM tokens' % (s, per[s][0], per[s][1] / 1e6))
    np.save(trp, tr)
    np.save(vap, va)
    open(okp, 'w').write('ok')
    log('tokens: train %.1fM (weighted epoch), val %.2fM, max id %d' % (len(tr) / 1e6, len(va) / 1e6, int(tr.max())))
    return tr, va, tokp


# ---------------------------------------------------------------------------------------------- model
def make_model(p):
    from transformers import LlamaConfig, LlamaForCausalLM
    cfg = LlamaConfig(vocab_size=VOCAB, hidden_size=p['hidden_size'], intermediate_size=p['intermediate_size'],
                      num_hidden_layers=p['num_hidden_layers'], num_attention_heads=p['num_attention_heads'],
                      num_key_value_heads=p['num_key_value_heads'], head_dim=p['head_dim'], hidden_act='silu',
                      max_position_embeddings=CTX, rms_norm_eps=1e-5, initializer_range=0.02,
                      tie_word_embeddings=True, bos_token_id=BOS, eos_token_id=END, pad_token_id=PAD,
                      attention_bias=False, mlp_bias=False, attention_dropout=0.0, use_cache=True)
    return cfg, LlamaForCausalLM(cfg)


def rope_theta(cfg):
    rp = getattr(cfg, 'rope_parameters', None)
    if isinstance(rp, dict) and 'rope_theta' in rp:
        return float(rp['rope_theta'])
    return float(getattr(cfg, 'rope_theta', 10000.0) or 10000.0)


def make_fast(torch, hf, cfg, dropout):
    """A plain forward pass over the parameters of the transformers model (same names, same maths), so that the
    compiled graph always takes flash attention and can have residual dropout."""
    import torch.nn as nn
    import torch.nn.functional as F
    nh, nkv, hd = cfg.num_attention_heads, cfg.num_key_value_heads, cfg.head_dim
    eps = cfg.rms_norm_eps

    class Fast(nn.Module):
        def __init__(self):
            super().__init__()
            self.hf = hf
            inv = 1.0 / (rope_theta(cfg) ** (torch.arange(0, hd, 2, dtype=torch.float32) / hd))
            f = torch.outer(torch.arange(CTX, dtype=torch.float32), inv)
            e = torch.cat((f, f), dim=-1)
            self.register_buffer('cos', e.cos()[None, None], persistent=False)
            self.register_buffer('sin', e.sin()[None, None], persistent=False)

        def rms(self, x, w):
            h = x.float()
            h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps)
            return w * h.to(x.dtype)

        def rot(self, x, cos, sin):
            h = hd // 2
            r = torch.cat((-x[..., h:], x[..., :h]), dim=-1)
            return x * cos + r * sin

        def logits(self, idx):
            m = self.hf.model
            B, T = idx.shape
            cos, sin = self.cos[:, :, :T], self.sin[:, :, :T]
            h = m.embed_tokens(idx)
            if dropout:
                h = F.dropout(h, dropout, self.training)
            for l in m.layers:
                x = self.rms(h, l.input_layernorm.weight)
                q = l.self_attn.q_proj(x).view(B, T, nh, hd).transpose(1, 2)
                k = l.self_attn.k_proj(x).view(B, T, nkv, hd).transpose(1, 2)
                v = l.self_attn.v_proj(x).view(B, T, nkv, hd).transpose(1, 2)
                c, s = cos.to(q.dtype), sin.to(q.dtype)
                q, k = self.rot(q, c, s), self.rot(k, c, s)
                k = k.repeat_interleave(nh // nkv, dim=1)
                v = v.repeat_interleave(nh // nkv, dim=1)
                o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                o = l.self_attn.o_proj(o.transpose(1, 2).reshape(B, T, nh * hd))
                if dropout:
                    o = F.dropout(o, dropout, self.training)
                h = h + o
                x = self.rms(h, l.post_attention_layernorm.weight)
                o = l.mlp.down_proj(F.silu(l.mlp.gate_proj(x)) * l.mlp.up_proj(x))
                if dropout:
                    o = F.dropout(o, dropout, self.training)
                h = h + o
            h = self.rms(h, m.norm.weight)
            return F.linear(h, m.embed_tokens.weight)

        def forward(self, idx, tgt):
            z = self.logits(idx)
            return F.cross_entropy(z.float().view(-1, z.size(-1)), tgt.reshape(-1))

    return Fast()


class HFLoss:
    """fall-back: the transformers forward itself"""
    def __init__(self, torch, hf):
        self.torch, self.hf, self.training = torch, hf, True

    def __call__(self, idx, tgt):
        z = self.hf(input_ids=idx, use_cache=False).logits
        return self.torch.nn.functional.cross_entropy(z.float().view(-1, z.size(-1)), tgt.reshape(-1))

    def train(self):
        self.hf.train()

    def eval(self):
        self.hf.eval()


# ---------------------------------------------------------------------------------------------- main
def main():
    a = get_args()
    p = dict(PRESETS[a.preset])
    for k in ('batch', 'micro', 'lr', 'epochs'):
        if getattr(a, k):
            p[k] = getattr(a, k)
    if a.dropout >= 0:
        p['dropout'] = a.dropout
    os.makedirs(a.out, exist_ok=True)
    tr_np, va_np, tokp = build_data(a)

    import numpy as np
    import torch
    import transformers
    import tokenizers
    log('torch', torch.__version__, 'transformers', transformers.__version__, 'tokenizers', tokenizers.__version__,
        'cuda', torch.cuda.is_available())
    dev = 'cuda' if torch.cuda.is_available() else 'cpu'
    torch.manual_seed(7)

    cfg, hf = make_model(p)
    hf = hf.float().to(dev)
    nparam = sum(x.numel() for x in hf.parameters())
    log('%s model: %.2fM parameters' % (a.preset, nparam / 1e6))

    # the two forward passes must agree, else use the slow one
    fast = make_fast(torch, hf, cfg, p['dropout']).to(dev)
    use_fast = True
    try:
        hf.eval()
        fast.eval()
        att = [l.self_attn for l in hf.model.layers]
        with torch.no_grad():
            for m_ in att:                                   # sharper attention, so that a rotary mistake would show
                m_.q_proj.weight.mul_(8.0)
                m_.k_proj.weight.mul_(8.0)
            try:
                x = torch.randint(5, VOCAB, (2, 96), device=dev)
                z1, z2 = hf(input_ids=x, use_cache=False).logits.float(), fast.logits(x).float()
                d = (z1 - z2).abs().max().item()
            finally:
                for m_ in att:
                    m_.q_proj.weight.div_(8.0)
                    m_.k_proj.weight.div_(8.0)
        log('forward check against transformers: max difference %.2e (logits up to %.2f)' % (d, z1.abs().max().item()))
        use_fast = d < 2e-3
    except Exception:
        traceback.print_exc()
        use_fast = False
    core = fast if use_fast else HFLoss(torch, hf)
    if not use_fast:
        log('WARNING: using the transformers forward pass (slower)')

    decay = [x for x in hf.parameters() if x.dim() >= 2]
    rest = [x for x in hf.parameters() if x.dim() < 2]
    groups = [{'params': decay, 'weight_decay': 0.1}, {'params': rest, 'weight_decay': 0.0}]
    try:
        opt = torch.optim.AdamW(groups, lr=p['lr'], betas=(0.9, 0.95), eps=1e-8, fused=(dev == 'cuda'))
    except Exception:
        opt = torch.optim.AdamW(groups, lr=p['lr'], betas=(0.9, 0.95), eps=1e-8)

    ck = os.path.join(a.ckpt, 'ckpt_%s.pt' % a.preset)
    step, tokens, spent, rows, best = 0, 0, 0.0, [], (1e9, -1)
    if a.resume and os.path.exists(ck):
        s = torch.load(ck, map_location=dev, weights_only=False)
        hf.load_state_dict(s['model'])
        opt.load_state_dict(s['opt'])
        step, tokens, spent, rows, best = s['step'], s['tokens'], s['spent'], s['rows'], s['best']
        log('resumed at step %d, %.1fM tokens, %.1f min of training spent' % (step, tokens / 1e6, spent / 60))
    elif a.resume:
        log('WARNING: --resume, but there is no', ck, '- starting anew')

    # data on the device
    tr = torch.from_numpy(tr_np.astype(np.int32)).to(dev)
    va = torch.from_numpy(va_np.astype(np.int32)).to(dev)
    ar = torch.arange(CTX + 1, device=dev)
    nwin = (len(tr_np) - CTX - 2) // CTX
    B = p['batch']
    micro = min(p['micro'], B)
    spe = max(1, nwin // B)                                  # steps per epoch
    max_tokens = p['epochs'] * spe * B * CTX

    def window_starts(epoch):
        g = np.random.RandomState(1000 + epoch)
        off = g.randint(0, CTX)
        return (g.permutation(nwin - 1) * CTX + off).astype(np.int64)

    cur_epoch, starts = -1, None

    def batch_at(st):
        nonlocal cur_epoch, starts
        e, i = divmod(st, spe)
        if e != cur_epoch:
            cur_epoch, starts = e, torch.from_numpy(window_starts(e)).to(dev)
        s = starts[i * B:(i + 1) * B]
        if len(s) < B:                                        # cannot happen but for tiny corpora
            s = torch.cat([s, starts[:B - len(s)]])
        return tr[s[:, None] + ar[None, :]].long()

    nval = min(len(va_np) // (CTX + 1), 640)
    eb = min(micro, nval)                                     # evaluation runs the uncompiled forward pass
    nval -= nval % eb
    vx = va[:nval * (CTX + 1)].view(nval, CTX + 1).long()
    autocast = lambda: torch.autocast(device_type=dev, dtype=torch.bfloat16)

    def evaluate(fn):
        core.eval()
        tot, n = 0.0, 0
        with torch.no_grad(), autocast():
            for i in range(0, nval, eb):
                b = vx[i:i + eb]
                tot += fn(b[:, :-1], b[:, 1:]).item() * len(b)
                n += len(b)
        core.train()
        return tot / max(n, 1)

    fn = core
    compiled = False
    if use_fast and not a.no_compile and dev == 'cuda':
        try:
            fn = torch.compile(core, dynamic=False)
            core.train()
            b = batch_at(step)[:micro]
            with autocast():
                l0 = fn(b[:, :-1], b[:, 1:])
            l0.backward()
            opt.zero_grad(set_to_none=True)
            torch.cuda.synchronize()
            compiled = True
            log('torch.compile works, first loss %.3f' % l0.item())
        except Exception:
            traceback.print_exc()
            log('WARNING: torch.compile failed, running eager')
            opt.zero_grad(set_to_none=True)
            fn = core

    wall_end = T0 + a.minutes * 60
    reserve = 55.0 if a.preset == 'main' else 40.0            # for the final evaluation, saving and samples
    t_train0 = time.time()
    here_budget = max(5.0, wall_end - reserve - t_train0)
    total_budget = a.total_minutes * 60 if a.total_minutes else spent + here_budget
    warm = 150

    def progress(now):
        el = spent + (now - t_train0)
        return max(tokens / max_tokens, el / total_budget), el

    def lr_at(st, pr):
        if st < warm:
            return p['lr'] * (st + 1) / warm
        # cosine to 2 % of the peak, by the larger of token progress and time progress
        return p['lr'] * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, pr))))

    def save_ckpt(el):
        tmp = ck + '.tmp'
        torch.save({'model': hf.state_dict(), 'opt': opt.state_dict(), 'step': step, 'tokens': tokens, 'spent': el,
                    'rows': rows, 'best': best}, tmp)
        os.replace(tmp, ck)

    log('steps per epoch %d, token cap %.0fM (%.1f epochs), time budget here %.0fs, schedule %.0fs' %
        (spe, max_tokens / 1e6, p['epochs'], here_budget, total_budget))
    core.train()
    last_ck = last_eval = time.time()
    acc_loss = torch.zeros((), device=dev)
    nacc, tlog, toklog = 0, time.time(), tokens
    nan_hits = 0
    while True:
        now = time.time()
        pr, el = progress(now)
        if pr >= 1.0 or now >= wall_end - reserve:
            break
        lr = lr_at(step, pr)
        for g in opt.param_groups:
            g['lr'] = lr
        data = batch_at(step)
        try:
            nm = 0
            for i in range(0, B, micro):
                b = data[i:i + micro]
                with autocast():
                    loss = fn(b[:, :-1], b[:, 1:])
                (loss * (len(b) / B)).backward()
                acc_loss += loss.detach() * (len(b) / B)
                nm += 1
        except torch.cuda.OutOfMemoryError:
            opt.zero_grad(set_to_none=True)
            torch.cuda.empty_cache()
            micro = max(8, micro // 2)
            acc_loss.zero_()
            nacc = 0
            log('out of memory: micro batch now', micro)
            continue
        gn = torch.nn.utils.clip_grad_norm_(hf.parameters(), 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        step += 1
        tokens += B * CTX
        nacc += 1
        if step % 50 == 0:
            tl = (acc_loss / nacc).item()
            now = time.time()
            rate = (tokens - toklog) / max(1e-9, now - tlog)
            vl = ''
            if step % 250 == 0 or now - last_eval > 60:
                vl = evaluate(core)
                last_eval = time.time()
                if vl < best[0]:
                    best = (vl, step)
            pr, el = progress(time.time())
            rows.append([step, tokens, round(el, 1), round(tl, 4), round(vl, 4) if vl != '' else '', '%.3e' % lr, round(rate)])
            log('step %5d  epoch %5.2f  loss %.4f  %s lr %.2e  |g| %.2f  %.2fM tok/s  %.0f%%' %
                (step, step / spe, tl, ('val %.4f ' % vl) if vl != '' else '', lr, float(gn), rate / 1e6, pr * 100))
            acc_loss.zero_()
            nacc, tlog, toklog = 0, time.time(), tokens
            if not math.isfinite(tl):
                nan_hits += 1
                if nan_hits >= 2:
                    log('loss is not finite: stopping')
                    break
            elif time.time() - last_ck > 100:
                save_ckpt(el)
                last_ck = time.time()
                log('checkpoint', ck)

    pr, el = progress(time.time())
    final_val = evaluate(core)
    rows.append([step, tokens, round(el, 1), '', round(final_val, 4), '', ''])
    log('done: step %d, %.1fM tokens (%.2f epochs), %.0fs of training, val %.4f (best seen %.4f at %s), progress %.0f%%' %
        (step, tokens / 1e6, step / spe, el, final_val, best[0], best[1], pr * 100))
    try:
        save_ckpt(el)
    except Exception:
        traceback.print_exc()
    save_all(a, p, cfg, hf, torch, transformers, tokp, rows, wall_end,
             dict(step=step, tokens=tokens, epochs=step / spe, train_seconds=el, val_loss=final_val, best_val=best[0],
                  best_step=best[1], params=nparam, compiled=compiled, fast=use_fast, preset=a.preset))


def write_tokenizer(tokp, d):
    shutil.copy(tokp, os.path.join(d, 'tokenizer.json'))
    # PreTrainedTokenizerFast reads everything from tokenizer.json
    tc = {'tokenizer_class': 'PreTrainedTokenizerFast', 'model_max_length': CTX, 'bos_token': '<|bos|>',
          'eos_token': '<|end|>', 'pad_token': '<|pad|>', 'add_bos_token': True, 'add_eos_token': False,
          'clean_up_tokenization_spaces': False,
          'additional_special_tokens': ['<|user|>', '<|assistant|>'],
          'added_tokens_decoder': {str(i): {'content': s, 'lstrip': False, 'normalized': False, 'rstrip': False,
                                            'single_word': False, 'special': True} for i, s in enumerate(SPECIALS)},
          'chat_template': CHAT_TEMPLATE}
    json.dump(tc, open(os.path.join(d, 'tokenizer_config.json'), 'w'), indent=2)
    json.dump({'bos_token': '<|bos|>', 'eos_token': '<|end|>', 'pad_token': '<|pad|>',
               'additional_special_tokens': ['<|user|>', '<|assistant|>']},
              open(os.path.join(d, 'special_tokens_map.json'), 'w'), indent=2)


def shard_by_hand(hf, torch, d, limit=15000000):
    """model-0000k-of-0000n.safetensors + index, if save_pretrained cannot do it"""
    from safetensors.torch import save_file
    sd, seen = {}, set()
    for k, v in hf.state_dict().items():
        if k == 'lm_head.weight':
            continue
        sd[k] = v.detach().to('cpu', torch.bfloat16).contiguous()
    parts, cur, n = [], {}, 0
    for k, v in sd.items():
        b = v.numel() * 2
        if cur and n + b > limit:
            parts.append(cur)
            cur, n = {}, 0
        cur[k] = v
        n += b
    parts.append(cur)
    wm = {}
    for i, c in enumerate(parts):
        f = 'model-%05d-of-%05d.safetensors' % (i + 1, len(parts)) if len(parts) > 1 else 'model.safetensors'
        save_file(c, os.path.join(d, f), metadata={'format': 'pt'})
        for k in c:
            wm[k] = f
    if len(parts) > 1:
        json.dump({'metadata': {'total_size': sum(v.numel() * 2 for v in sd.values())}, 'weight_map': wm},
                  open(os.path.join(d, 'model.safetensors.index.json'), 'w'), indent=2)


def save_all(a, p, cfg, hf, torch, transformers, tokp, rows, wall_end, info):
    d = os.path.join(a.ckpt, 'export_' + a.preset)
    shutil.rmtree(d, ignore_errors=True)
    os.makedirs(d)
    hf.eval()
    m = hf.to(torch.bfloat16)
    try:
        m.generation_config.bos_token_id = BOS
        m.generation_config.eos_token_id = END
        m.generation_config.pad_token_id = PAD
        m.generation_config.do_sample = True
        m.generation_config.temperature = 0.7
        m.generation_config.top_k = 40
        m.generation_config.top_p = 0.95
    except Exception:
        traceback.print_exc()
    try:
        m.save_pretrained(d, max_shard_size='15MB', safe_serialization=True)
    except TypeError:
        try:
            m.save_pretrained(d, max_shard_size='15MB')
        except Exception:
            traceback.print_exc()
    except Exception:
        traceback.print_exc()
    st = glob.glob(os.path.join(d, '*.safetensors'))
    if not st or max(map(os.path.getsize, st)) > 16 * 2 ** 20 - 4096 or len(st) > 6:
        log('sharding by hand')
        for f in st + glob.glob(os.path.join(d, '*.index.json')):
            os.remove(f)
        shard_by_hand(m, torch, d)
    cp = os.path.join(d, 'config.json')
    if not os.path.exists(cp):
        cfg.save_pretrained(d)
    write_tokenizer(tokp, d)
    # keys that readers of older config files look for
    c = json.load(open(cp))
    c.setdefault('rope_theta', rope_theta(cfg))
    c.setdefault('torch_dtype', 'bfloat16')
    c.setdefault('head_dim', p['head_dim'])
    c.setdefault('architectures', ['LlamaForCausalLM'])
    c['tie_word_embeddings'] = True
    orig = open(cp).read()
    json.dump(c, open(cp, 'w'), indent=2)
    with open(os.path.join(d, 'train_log.csv'), 'w', newline='') as f:
        w = csv.writer(f)
        w.writerow(['step', 'tokens', 'seconds', 'train_loss', 'val_loss', 'lr', 'tokens_per_s'])
        w.writerows(rows)
    json.dump(info, open(os.path.join(d, 'eval.json'), 'w'), indent=2)
    export(a, d)                                              # something usable is out already now
    log('saved; now reloading with transformers')

    dev = next(m.parameters()).device
    tok = model = None
    try:
        from transformers import AutoTokenizer, AutoModelForCausalLM
        try:
            model = AutoModelForCausalLM.from_pretrained(d)
        except Exception:
            traceback.print_exc()
            open(cp, 'w').write(orig)                         # perhaps the added keys: go back
            model = AutoModelForCausalLM.from_pretrained(d)
        model = model.to(dev).to(torch.bfloat16).eval()
        tok = AutoTokenizer.from_pretrained(d)
        x = torch.randint(5, VOCAB, (1, 64), device=dev)
        with torch.no_grad():
            dd = (model(input_ids=x).logits.float() - m(input_ids=x).logits.float()).abs().max().item()
        log('reloaded model: max logit difference %.2e; tokenizer %s, %d tokens' % (dd, type(tok).__name__, len(tok)))
        ids = tok.apply_chat_template([{'role': 'user', 'content': 'Hi'}], add_generation_prompt=True)
        if not isinstance(ids, list):
            ids = ids['input_ids']
        log('chat template ids', ids, repr(tok.decode(ids)))
        from tokenizers import Tokenizer as _T
        same = list(tok('Hello world! It was a sunny day.')['input_ids']) == _T.from_file(tokp).encode('Hello world! It was a sunny day.').ids
        log('AutoTokenizer and tokenizers agree:', same)
        info['template_ids_for_Hi'] = list(map(int, ids))
        info['encode_Hello_world'] = list(map(int, tok('Hello world! It was a sunny day.')['input_ids']))
    except Exception:
        traceback.print_exc()
        model = model or m

    # reference perplexities, so that an engine can check itself against transformers
    from tokenizers import Tokenizer
    rt = Tokenizer.from_file(tokp)

    def ppl(name, path, limit=400):
        if not os.path.exists(path) or time.time() > wall_end - 14:
            return
        ids = rt.encode(open(path, encoding='utf-8').read(), add_special_tokens=False).ids
        W = CTX - 1
        n = min(limit, len(ids) // W)
        if not n:
            return
        t = torch.tensor(ids[:n * W], device=dev).view(n, W)
        t = torch.cat([torch.full((n, 1), BOS, device=dev), t], 1)       # every window of 1023 tokens starts with <|bos|>
        tot = 0.0
        with torch.no_grad():
            for i in range(0, n, 16):
                b = t[i:i + 16]
                z = model(input_ids=b[:, :-1]).logits.float()
                tot += torch.nn.functional.cross_entropy(z.reshape(-1, z.size(-1)), b[:, 1:].reshape(-1), reduction='sum').item()
        nll = tot / (n * (CTX - 1))
        info['ppl_' + name] = dict(file=os.path.basename(path), windows=n, tokens=n * W, nll=nll, ppl=math.exp(nll),
                                   how='bf16, windows of <|bos|> + 1023 tokens, no overlap, all 1023 predicted')
        log('%s: nll %.4f, perplexity %.3f (%d windows)' % (name, nll, math.exp(nll), n))
    for name, f in (('heldout_stories', 'heldout_stories.txt'), ('heldout_chat', 'heldout_chat.txt'), ('wikitext2_test', 'wikitext2_test.txt')):
        try:
            ppl(name, os.path.join(HERE, f))
        except Exception:
            traceback.print_exc()

    U, A, E = '<|user|>\n', '<|end|>\n<|assistant|>\n', '<|end|>\n'
    prompts = [('plain', 'Once upon a time, there was a little fox who'),
               ('chat', U + 'Tell me a story about a brave little mouse.' + A),
               ('chat', U + 'Write a short story that uses the words: boat, moon, cake.' + A),
               ('chat', U + 'Hello!' + A),
               ('chat', U + 'What is rain?' + A),
               ('chat', U + 'Tell me a short story about Tom.' + A),
               ('chat', U + 'Continue this story: Mia found an old key under the big tree. She did not know what it was for.' + A),
               ('plain', 'The city of London is')]
    text = []
    for kind, pr in prompts:
        if time.time() > wall_end - 5:
            break
        try:
            ids = [BOS] + rt.encode(pr, add_special_tokens=False).ids
            x = torch.tensor([ids], device=dev)
            torch.manual_seed(1)
            with torch.no_grad():
                y = model.generate(input_ids=x, attention_mask=torch.ones_like(x), max_new_tokens=220, do_sample=True,
                                   temperature=0.7, top_k=40, eos_token_id=END, pad_token_id=PAD, bos_token_id=BOS)
            o = rt.decode(y[0].tolist(), skip_special_tokens=False)
            if kind == 'chat' and 'another' not in o and len(text) == 1 and y.shape[1] < 700 and time.time() < wall_end - 12:
                ids2 = y[0].tolist() + rt.encode('\n' + U + 'What is the name of the mouse?' + A, add_special_tokens=False).ids
                x2 = torch.tensor([ids2], device=dev)
                with torch.no_grad():
                    y2 = model.generate(input_ids=x2, attention_mask=torch.ones_like(x2), max_new_tokens=60, do_sample=False,
                                        eos_token_id=END, pad_token_id=PAD, bos_token_id=BOS, temperature=None, top_k=None, top_p=None)
                o = rt.decode(y2[0].tolist(), skip_special_tokens=False)
            text.append('=== %s\n%s\n' % (kind, o))
            print(text[-1], flush=True)
        except Exception:
            traceback.print_exc()
    open(os.path.join(d, 'samples.txt'), 'w').write('\n'.join(text))
    json.dump(info, open(os.path.join(d, 'eval.json'), 'w'), indent=2)
    export(a, d)
    log('finished; files in', a.out, {f: os.path.getsize(os.path.join(a.out, f)) for f in sorted(os.listdir(a.out))})


def export(a, d):
    for f in glob.glob(os.path.join(a.out, 'model*.safetensors')):
        os.remove(f)
    big = sorted(glob.glob(os.path.join(d, '*.safetensors')))
    for f in big:
        shutil.copy(f, a.out)
    with tarfile.open(os.path.join(a.out, a.preset + '_small.tar.gz'), 'w:gz') as t:
        for f in sorted(os.listdir(d)):
            if not f.endswith('.safetensors'):
                t.add(os.path.join(d, f), arcname=f)


if __name__ == '__main__':
    main()
