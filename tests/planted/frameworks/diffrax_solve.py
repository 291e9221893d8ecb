"""The gradient of a solution of Diffrax, through Equinox."""

import diffrax
import equinox as eqx
import jax.numpy as jnp


def solve(weights, start):
    term = diffrax.ODETerm(lambda _, y, weights: jnp.tanh(y @ weights))
    return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0, 1, 0.1, start, args=weights).ys.sum()


eqx.filter_jit(eqx.filter_grad(solve))(jnp.full((128, 128), 0.01), jnp.ones((64, 128)))
print("learns")
