"""Program library.  Every program is  name -> function(ctx) -> list of Case.
ctx: backend ('cpu'|'tpu'|'gpu'), ndev, mesh(shape,names), scale helpers.
Written to work from jax 0.4.13 to 0.12."""
import functools, math, os, sys
import numpy as np
import jax, jax.numpy as jnp
from jax import lax

P = jax.sharding.PartitionSpec
SDS = jax.ShapeDtypeStruct
REG = {}
class Case:
    def __init__(self, fn, *args, donate=(), in_specs=None, out_specs=None, mesh=None, name=None, static=(), **jit_kw):
        self.fn, self.args, self.donate, self.in_specs, self.out_specs = fn, args, donate, in_specs, out_specs
        self.mesh, self.name, self.static, self.jit_kw = mesh, name, static, jit_kw
def prog(fn=None, **tags):
    def deco(f):
        REG[f.__name__.strip('_')] = (f, tags); return f
    return deco(fn) if fn else deco
def f32(*s): return SDS(s, jnp.float32)
def bf16(*s): return SDS(s, jnp.bfloat16)
def i32(*s): return SDS(s, jnp.int32)
def u32(*s): return SDS(s, jnp.uint32)
def typ(dt, *s): return SDS(s, dt)
tmap = jax.tree_util.tree_map
def get_shard_map():
    try: return jax.shard_map
    except AttributeError:
        from jax.experimental.shard_map import shard_map
        return shard_map
def smap(f, mesh, i, o):
    sm = get_shard_map()
    for kw in ({'check_vma': False}, {'check_rep': False}, {}):
        try: return sm(f, mesh=mesh, in_specs=i, out_specs=o, **kw)
        except TypeError: continue
def key_sds(): return u32(2)

# ----------------------------------------------------------------- simple
@prog(core=True)
def matmul(ctx):
    def matmul_bias_relu(a, b, c): return jax.nn.relu(a @ b + c)
    return [Case(matmul_bias_relu, f32(512, 256), f32(256, 1024), f32(1024)),
            Case(lambda a, b: a @ b, bf16(128, 128), bf16(128, 128)),
            Case(lambda a, b: jnp.einsum('bij,bjk->bik', a, b), f32(8, 64, 32), f32(8, 32, 16))]

def mlp_init(sizes, dt=jnp.float32):
    return [(SDS((a, b), dt), SDS((b,), dt)) for a, b in zip(sizes[:-1], sizes[1:])]
def mlp_apply(params, x):
    for i, (w, b) in enumerate(params):
        x = x @ w + b
        if i < len(params) - 1: x = jax.nn.gelu(x)
    return x
@prog(core=True)
def mlp_train(ctx):
    def train_step(params, x, y):
        def loss(p):
            return jnp.mean((mlp_apply(p, x) - y) ** 2)
        l, g = jax.value_and_grad(loss)(params)
        return tmap(lambda p, g: p - 0.01 * g, params, g), l
    return [Case(train_step, mlp_init([784, 512, 256, 10]), f32(128, 784), f32(128, 10), donate=(0,)),
            Case(train_step, mlp_init([784, 512, 256, 10]), f32(128, 784), f32(128, 10))]

