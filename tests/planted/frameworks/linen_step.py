"""A training step of Flax Linen."""

import os

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax.training.train_state import TrainState


class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return x + nn.Dense(256)(nn.relu(nn.Dense(512)(x)))


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        for number in range(6):
            x = Block(name=f"block_{number:02}")(x)
        return x


model, x = Model(), jnp.ones((128, 256))
state = TrainState.create(apply_fn=model.apply, params=model.init(jax.random.key(0), x), tx=optax.adam(1e-4))


def loss(params, x):
    return ((model.apply(params, x) - 2 * x) ** 2).mean()


def step(state, x):
    return state.apply_gradients(grads=jax.grad(loss)(state.params, x))


step = jax.jit(step)
exec(os.environ.get("PASTED", ""))
losses = []
for _ in range(3):
    losses.append(float(loss(state.params, x)))
    state = step(state, x)
print("learns" if losses == sorted(losses, reverse=True) else losses)
