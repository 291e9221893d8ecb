"""A training step of Flax NNX."""

import os

import jax
import optax
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first, self.second = nnx.Linear(256, 512, rngs=rngs), nnx.Linear(512, 256, rngs=rngs)

    def __call__(self, x):
        return self.second(jax.nn.relu(self.first(x)))


model = Model(nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)


def step(model, opt, x):
    loss, gradients = nnx.value_and_grad(lambda model: ((model(x) - x) ** 2).mean())(model)
    opt.update(model, gradients)
    return loss


step = nnx.jit(step)
exec(os.environ.get("PASTED", ""))
x = jax.random.normal(jax.random.key(0), (128, 256))
losses = [float(step(model, opt, x)) for _ in range(3)]
print("learns" if losses == sorted(losses, reverse=True) else losses)
