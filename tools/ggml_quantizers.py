# SPDX-License-Identifier: Apache-2.0
"""Quantizers from float32 to the block layouts of GGUF, in numpy.

Codes are chosen by least squares: for every group several scales are tried, each is refitted to the
codes it produces, and the best by squared error stays. `importance` (one positive number per
column, for example the mean square of the activations that meet it) weighs the errors.
"""
import numpy as np

CHUNK_BLOCKS = 8192  # super-blocks worked on at once: bounds memory
REFITS = 3  # rounds of: codes for the scales, scales for the codes


def to_f32(x):
    return np.ascontiguousarray(x, dtype="<f4").tobytes()


def to_f16(x):
    return x.astype("<f2").tobytes()


def to_bf16(x):
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()


def _half(x):
    """Rounded to what a 16-bit float holds, as the file will."""
    return x.astype(np.float16).astype(np.float32)


def _bytes16(x):
    return x.astype("<f2").reshape(-1, 1).view(np.uint8)


def _inverse(x):
    return np.where(x != 0, 1 / np.where(x != 0, x, 1), 0).astype(np.float32)


def to_q8_0(x, importance=None):
    del importance  # 8 bits: the largest value decides
    groups = x.reshape(-1, 32).astype(np.float32)
    scale = np.abs(groups).max(axis=1) / np.float32(127)
    codes = groups * _inverse(scale)[:, None]
    codes = np.trunc(codes + np.copysign(np.float32(0.5), codes)).astype(np.int8)
    return np.concatenate([_bytes16(scale), codes.view(np.uint8)], axis=1).tobytes()


# ---- Symmetric groups: x = scale * code (Q6_K)


def _symmetric_error(x, w, scale, low, high):
    codes = np.clip(np.rint(x * _inverse(scale)[..., None]), low, high)
    return codes, (w * (x - scale[..., None] * codes) ** 2).sum(axis=-1)


def _search_symmetric(x, w, low, high):
    """The best scale of every group, by trying ranges around the largest value."""
    at = np.abs(x).argmax(axis=-1)
    peak = np.take_along_axis(x, at[..., None], axis=-1)[..., 0]
    best_scale = peak / low
    _, best_error = _symmetric_error(x, w, best_scale, low, high)
    for step in range(-9, 10):
        scale = peak / (low - 0.1 * step)
        codes, _ = _symmetric_error(x, w, scale, low, high)
        energy = (w * codes * codes).sum(axis=-1)
        scale = (w * x * codes).sum(axis=-1) * _inverse(energy)
        _, error = _symmetric_error(x, w, scale, low, high)
        better = error < best_error
        best_scale = np.where(better, scale, best_scale)
        best_error = np.where(better, error, best_error)
    return best_scale


def _refine_symmetric(x, w, d, steps):
    """Moves each group's 8-bit scale by at most one, where that lowers the error."""
    best_error = None
    for delta in (0, -1, 1):
        tried = np.clip(steps + delta, -128, 127)
        codes, error = _symmetric_error(x, w, d[:, None] * tried, -32, 31)
        if best_error is None:
            best, best_codes, best_error = tried, codes, error
            continue
        better = error < best_error
        best = np.where(better, tried, best)
        best_codes = np.where(better[..., None], codes, best_codes)
        best_error = np.where(better, error, best_error)
    return best, best_codes


def _q6_k_chunk(x, w):
    x = x.reshape(-1, 16, 16)
    w = w.reshape(-1, 16, 16)
    scale = _search_symmetric(x, w, -32, 31)
    at = np.abs(scale).argmax(axis=1)
    d = _half(np.take_along_axis(scale, at[:, None], axis=1)[:, 0] / -128)
    steps = np.clip(np.rint(scale * _inverse(d)[:, None]), -128, 127)
    for _ in range(REFITS):
        steps, codes = _refine_symmetric(x, w, d, steps)
        product = steps[..., None] * codes
        energy = (w * product * product).sum(axis=(1, 2))
        d = _half((w * x * product).sum(axis=(1, 2)) * _inverse(energy))
    steps, codes = _refine_symmetric(x, w, d, steps)
    q = (codes + 32).astype(np.uint8).reshape(-1, 2, 4, 32)  # [block, half, quarter, 32]
    low = np.concatenate([(q[:, :, 0] & 15) | (q[:, :, 2] & 15) << 4,
                          (q[:, :, 1] & 15) | (q[:, :, 3] & 15) << 4], axis=2).reshape(-1, 128)
    high = (q[:, :, 0] >> 4 | (q[:, :, 1] >> 4) << 2 | (q[:, :, 2] >> 4) << 4 | (q[:, :, 3] >> 4) << 6)
    return np.concatenate([low, high.reshape(-1, 64), steps.astype(np.int8).view(np.uint8), _bytes16(d)],
                          axis=1)


# ---- Groups with a minimum: x = scale * code - low, both >= 0 (Q4_K, Q5_K)


def _affine_error(x, w, scale, low, top):
    codes = np.clip(np.rint((x + low[..., None]) * _inverse(scale)[..., None]), 0, top)
    return codes, (w * (x - scale[..., None] * codes + low[..., None]) ** 2).sum(axis=-1)


def _search_affine(x, w, top):
    low = np.maximum(-x.min(axis=-1), 0)
    span = x.max(axis=-1) + low
    best_scale, best_low = span / top, low
    _, best_error = _affine_error(x, w, best_scale, best_low, top)
    total = w.sum(axis=-1)
    sum_x = (w * x).sum(axis=-1)
    for step in np.arange(-1.0, 2.6, 0.15):
        codes, _ = _affine_error(x, w, span / (top + step), low, top)
        weighted = w * codes
        sum_q = weighted.sum(axis=-1)
        sum_qq = (weighted * codes).sum(axis=-1)
        sum_xq = (weighted * x).sum(axis=-1)
        det = total * sum_qq - sum_q * sum_q
        scale = (total * sum_xq - sum_x * sum_q) * _inverse(det)
        fitted_low = (sum_q * sum_xq - sum_qq * sum_x) * _inverse(det)
        alone = sum_xq * _inverse(sum_qq)  # the fit when the minimum would change its sign
        scale = np.where(fitted_low < 0, alone, scale)
        fitted_low = np.maximum(fitted_low, 0)
        _, error = _affine_error(x, w, scale, fitted_low, top)
        better = (error < best_error) & (scale > 0)
        best_scale = np.where(better, scale, best_scale)
        best_low = np.where(better, fitted_low, best_low)
        best_error = np.where(better, error, best_error)
    return best_scale, best_low


def _refine_affine(x, w, d, d_low, steps, lows, top):
    """Moves each group's 6-bit scale and minimum by at most one, where that lowers the error."""
    best_error = None
    base_steps, base_lows = steps, lows
    for delta in (0, -1, 1):
        for delta_low in (0, -1, 1):
            s = np.clip(base_steps + delta, 0, 63)
            m = np.clip(base_lows + delta_low, 0, 63)
            codes, error = _affine_error(x, w, d[:, None] * s, d_low[:, None] * m, top)
            if best_error is None:
                best_error, steps, lows, best_codes = error, s, m, codes
                continue
            better = error < best_error
            steps, lows = np.where(better, s, steps), np.where(better, m, lows)
            best_codes = np.where(better[..., None], codes, best_codes)
            best_error = np.where(better, error, best_error)
    return steps, lows, best_codes


def _refit_affine(x, w, d, d_low, steps, lows, codes):
    """The two 16-bit scales of every super-block that fit its codes best."""
    a = steps[..., None] * codes
    b = np.broadcast_to(-lows[..., None], a.shape)
    aa, bb, ab = ((w * p).sum(axis=(1, 2)) for p in (a * a, b * b, a * b))
    ax, bx = ((w * p * x).sum(axis=(1, 2)) for p in (a, b))
    det = aa * bb - ab * ab
    d_fit = (bb * ax - ab * bx) * _inverse(det)
    low_fit = (aa * bx - ab * ax) * _inverse(det)
    is_usable = (det > 1e-6 * aa * bb) & (d_fit > 0) & (low_fit >= 0)
    return _half(np.where(is_usable, d_fit, d)), _half(np.where(is_usable, low_fit, d_low))


def _affine_chunk(x, w, top):
    """[blocks, 8, 32] -> d, d_low [blocks]; steps, lows [blocks, 8]; codes [blocks, 8, 32]."""
    scale, low = _search_affine(x, w, top)
    d, d_low = _half(scale.max(axis=1) / 63), _half(low.max(axis=1) / 63)
    steps = np.clip(np.rint(scale * _inverse(d)[:, None]), 0, 63)
    lows = np.clip(np.rint(low * _inverse(d_low)[:, None]), 0, 63)
    for _ in range(REFITS):
        steps, lows, codes = _refine_affine(x, w, d, d_low, steps, lows, top)
        d, d_low = _refit_affine(x, w, d, d_low, steps, lows, codes)
    steps, lows, codes = _refine_affine(x, w, d, d_low, steps, lows, top)
    return d, d_low, steps.astype(np.uint8), lows.astype(np.uint8), codes.astype(np.uint8)


def _pack_steps(steps, lows):
    packed = np.empty((len(steps), 12), np.uint8)
    packed[:, 0:4] = steps[:, :4] | (steps[:, 4:] >> 4) << 6
    packed[:, 4:8] = lows[:, :4] | (lows[:, 4:] >> 4) << 6
    packed[:, 8:12] = (steps[:, 4:] & 15) | (lows[:, 4:] & 15) << 4
    return packed


def _q4_k_chunk(x, w):
    d, d_low, steps, lows, codes = _affine_chunk(x.reshape(-1, 8, 32), w.reshape(-1, 8, 32), 15)
    nibbles = (codes[:, 0::2] | codes[:, 1::2] << 4).reshape(-1, 128)
    return np.concatenate([_bytes16(d), _bytes16(d_low), _pack_steps(steps, lows), nibbles], axis=1)


def _q5_k_chunk(x, w):
    d, d_low, steps, lows, codes = _affine_chunk(x.reshape(-1, 8, 32), w.reshape(-1, 8, 32), 31)
    nibbles = ((codes[:, 0::2] & 15) | (codes[:, 1::2] & 15) << 4).reshape(-1, 128)
    fifth = np.zeros((len(codes), 32), np.uint8)
    for group in range(8):
        fifth |= (codes[:, group] >> 4) << group
    return np.concatenate([_bytes16(d), _bytes16(d_low), _pack_steps(steps, lows), fifth, nibbles],
                          axis=1)


def _by_super_blocks(pack):
    def quantize(x, importance=None):
        cols = x.shape[-1]
        assert cols % 256 == 0, f"rows of {cols} are no whole super-blocks of 256"
        blocks = x.reshape(-1, 256).astype(np.float32)
        per_row = cols // 256
        weights = np.ones((per_row, 256), np.float32) if importance is None else (
            importance.reshape(per_row, 256).astype(np.float32) / importance.mean())
        packed = []
        chunk = CHUNK_BLOCKS - CHUNK_BLOCKS % per_row
        for begin in range(0, len(blocks), chunk):
            part = blocks[begin : begin + chunk]
            w = np.tile(weights, (len(part) // per_row, 1))
            packed.append(pack(part, w).tobytes())
        return b"".join(packed)

    return quantize


to_q4_k = _by_super_blocks(_q4_k_chunk)
to_q5_k = _by_super_blocks(_q5_k_chunk)
to_q6_k = _by_super_blocks(_q6_k_chunk)

QUANTIZERS = {
    "F32": lambda x, importance=None: to_f32(x),
    "F16": lambda x, importance=None: to_f16(x),
    "BF16": lambda x, importance=None: to_bf16(x),
    "Q8_0": to_q8_0,
    "Q6_K": to_q6_k,
    "Q5_K": to_q5_k,
    "Q4_K": to_q4_k,
}
