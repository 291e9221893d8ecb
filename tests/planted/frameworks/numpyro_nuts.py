"""A chain of NumPyro."""

import jax
import jax.numpy as jnp
import numpyro
from numpyro import distributions
from numpyro.infer import MCMC, NUTS


def model(x, y):
    weights = numpyro.sample("weights", distributions.Normal(jnp.zeros(64), 1).to_event(1))
    numpyro.sample("y", distributions.Normal(x @ weights, 1), obs=y)


chain = MCMC(NUTS(model), num_warmup=5, num_samples=5, progress_bar=False)
chain.run(jax.random.PRNGKey(0), jnp.ones((2000, 64)), jnp.ones(2000))
print("learns")
