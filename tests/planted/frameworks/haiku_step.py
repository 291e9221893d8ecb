"""A training step of Haiku."""

import os

import haiku as hk
import jax
import optax

model = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([512, 256])(x)))  # noqa: PLW0108 - made in transform
x = jax.random.normal(jax.random.key(0), (128, 256))
params, optimizer = model.init(jax.random.key(0), x), optax.adam(1e-3)
moments = optimizer.init(params)


def loss(params, x):
    return ((model.apply(params, x) - x) ** 2).mean()


def step(params, moments, x):
    updates, moments = optimizer.update(jax.grad(loss)(params, x), moments)
    return optax.apply_updates(params, updates), moments


step = jax.jit(step)
exec(os.environ.get("PASTED", ""))
losses = []
for _ in range(3):
    losses.append(float(loss(params, x)))
    params, moments = step(params, moments, x)
print("learns" if losses == sorted(losses, reverse=True) else losses)
