"""Compile a train step of the shape of Llama-3-8B for a TPU v5p with 4 chips: `python llama_step.py FOLDER LAYERS`,
with `scanned` after it for layers in a loop. The model has 32 layers. Needs jax and libtpu, but no TPU.
"""

import os
import sys
from typing import Any

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={sys.argv[1]} --xla_dump_hlo_as_text --xla_dump_hlo_as_proto"
    os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v5p-8"}
    os.environ |= {"TPU_WORKER_HOSTNAMES": "localhost", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

_WIDTH, _HEADS, _GROUPS, _SIZE, _INNER, _WORDS, _LENGTH = 4096, 32, 8, 128, 14336, 128256, 2048


def _of(*shape: int, dtype: Any = jnp.bfloat16) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def _normed(x: Any, scale: Any) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-6) * scale


def layer(weights: Any, x: Any) -> Any:
    h = _normed(x, weights["attention_norm"])
    query = jnp.einsum("btd,dhgk->bthgk", h, weights["query"])
    key = jnp.einsum("btd,dhk->bthk", h, weights["key"])
    value = jnp.einsum("btd,dhk->bthk", h, weights["value"])
    scores = jnp.einsum("bthgk,bshk->bhgts", query, key, preferred_element_type=jnp.float32) / _SIZE**0.5
    scores = jnp.where(jnp.tril(jnp.ones((_LENGTH, _LENGTH), bool)), scores, -1e9)
    attended = jnp.einsum("bhgts,bshk->bthgk", jax.nn.softmax(scores, -1).astype(x.dtype), value)
    x = x + jnp.einsum("bthgk,hgkd->btd", attended, weights["out"])
    h = _normed(x, weights["norm"])
    return x + (jax.nn.silu(h @ weights["gate"]) * (h @ weights["up"])) @ weights["down"]


def llama_step(state: Any, tokens: Any) -> Any:
    """One step with Adam, which computes activations again in the backward pass."""
    weights, mean, square = state

    def loss(weights: Any) -> Any:
        x = weights["embed"][tokens]
        remat = jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
        if isinstance(weights["layers"], dict):
            x, _ = jax.lax.scan(lambda x, one: (remat(one, x), None), x, weights["layers"])
        else:
            for one in weights["layers"]:
                x = remat(one, x)
        logits = (_normed(x, weights["norm"]) @ weights["unembed"]).astype(jnp.float32)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[..., None], -1))

    value, gradients = jax.value_and_grad(loss)(weights)
    mean = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, mean, gradients)
    square = jax.tree.map(lambda old, new: 0.95 * old + 0.05 * jnp.square(new), square, gradients)
    weights = jax.tree.map(
        lambda old, m, s: (old - 1e-3 * m / (jnp.sqrt(s) + 1e-8)).astype(old.dtype), weights, mean, square
    )
    return (weights, mean, square), value


if __name__ == "__main__":
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    layers, is_scanned = int(sys.argv[2]), "scanned" in sys.argv[3:]
    one = {
        "attention_norm": _of(_WIDTH),
        "query": _of(_WIDTH, _GROUPS, _HEADS // _GROUPS, _SIZE),
        "key": _of(_WIDTH, _GROUPS, _SIZE),
        "value": _of(_WIDTH, _GROUPS, _SIZE),
        "out": _of(_GROUPS, _HEADS // _GROUPS, _SIZE, _WIDTH),
        "norm": _of(_WIDTH),
        "gate": _of(_WIDTH, _INNER),
        "up": _of(_WIDTH, _INNER),
        "down": _of(_INNER, _WIDTH),
    }
    weights = {
        "embed": _of(_WORDS, _WIDTH),
        "layers": jax.tree.map(lambda leaf: _of(layers, *leaf.shape), one) if is_scanned else [one] * layers,
        "norm": _of(_WIDTH),
        "unembed": _of(_WIDTH, _WORDS),
    }
    devices = topologies.get_topology_desc(platform="tpu", topology_name="v5p:2x2x1").devices
    mesh = Mesh(np.array(devices), ("x",))
    moments = jax.tree.map(lambda leaf: _of(*leaf.shape, dtype=jnp.float32), weights)
    state = (weights, moments, moments)
    # Each weight of a layer is split along its first dimension.
    split = NamedSharding(mesh, PartitionSpec("x"))
    shardings = jax.tree.map(lambda _: split, weights)
    if is_scanned:
        stacked = NamedSharding(mesh, PartitionSpec(None, "x"))
        shardings["layers"] = jax.tree.map(lambda _: stacked, weights["layers"])
    shardings = (shardings,) * 3
    llama_step.__name__ = f"llama_{layers}_{'scanned' if is_scanned else 'unrolled'}"
    step = jax.jit(llama_step, donate_argnums=(0,), in_shardings=(shardings, split), out_shardings=(shardings, None))
    step.lower(state, _of(len(devices), _LENGTH, dtype=jnp.int32)).compile()
