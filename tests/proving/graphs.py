"""Training steps of nets of graphs, each as it is and with the messages of some edges at a time. The traps look like
them: what is gathered and scattered is no graph, or something needs the messages of all edges.

Each function returns what to compile, its arguments, and the numbers of those that are donated. Imported by
`programs.py`, which sets the environment of jax first.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from proving.compared import ALL, INT, Compiled, of, trained

PARTS = 8


def sums(is_changed: bool, nodes: int, message: Callable[..., Any], receivers: Any, *edges: Any) -> tuple[Any, Any]:
    """The sums of messages in the nodes that receive them, and what each edge passes on. `message` returns both for
    some edges, from the nodes that receive and from more arrays of edges.
    """

    def add(total: Any, part: Any) -> Any:
        sent, passed = message(*part)
        return jax.tree.map(lambda whole, one: whole + jax.ops.segment_sum(one, part[0], nodes), total, sent), passed

    sent, passed = jax.eval_shape(message, receivers, *edges)
    zeros = jax.tree.map(lambda one: jnp.zeros((nodes, *one.shape[1:]), one.dtype), sent)
    if not is_changed:
        return add(zeros, (receivers, *edges))
    parts = jax.tree.map(lambda array: array.reshape(PARTS, -1, *array.shape[1:]), (receivers, *edges))
    total, passed = lax.scan(jax.checkpoint(add), zeros, parts)
    return total, jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:]), passed)


def normed(x: Any) -> Any:
    return (x - jnp.mean(x, -1, keepdims=True)) * lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5)


# ---------------------------------------------------------------- nets of graphs


def edge_states(
    is_changed: bool, nodes: int = 16384, edges: int = 262144, width: int = 128, layers: int = 3
) -> Compiled:
    """Layers that give the nodes and the edges new states."""

    def loss(params: Any, h: Any, features: Any, senders: Any, receivers: Any, targets: Any) -> Any:
        e = features @ params["edges"]
        h = h @ params["nodes"]
        for weights in params["layers"]:

            def message(receivers: Any, senders: Any, e: Any, weights: Any = weights, h: Any = h) -> Any:
                both = jnp.concatenate([h[senders], h[receivers], e], -1)
                new = e + normed(jax.nn.relu(both @ weights["in"]) @ weights["out"])
                return new, new

            total, e = sums(is_changed, nodes, message, receivers, senders, e)
            h = h + normed(jax.nn.relu(jnp.concatenate([h, total], -1) @ weights["own"]))
        return jnp.mean((h @ params["last"] - targets) ** 2)

    layer = {"in": of(3 * width, width), "out": of(width, width), "own": of(2 * width, width)}
    params = {"edges": of(8, width), "nodes": of(16, width), "layers": [layer] * layers, "last": of(width, 1)}
    indices = of(edges, dtype=INT)
    return trained(loss, params, of(nodes, 16), of(edges, 8), indices, indices, of(nodes, 1))


def attention_of_edges(
    is_changed: bool, nodes: int = 16384, edges: int = 262144, heads: int = 4, width: int = 32, layers: int = 3
) -> Compiled:
    """Layers in which nodes attend to their neighbors."""

    def layer(weights: Any, h: Any, senders: Any, receivers: Any) -> Any:
        z = (h @ weights["w"]).reshape(nodes, heads, width)
        own, other = (z * weights["own"]).sum(-1), (z * weights["other"]).sum(-1)

        def scores(receivers: Any, senders: Any) -> Any:
            return jax.nn.leaky_relu(own[receivers] + other[senders])

        largest = lax.stop_gradient(jax.ops.segment_max(scores(receivers, senders), receivers, nodes))

        def message(receivers: Any, senders: Any) -> Any:
            weight = jnp.exp(scores(receivers, senders) - largest[receivers])
            return (z[senders] * weight[..., None], weight), None

        (total, weight), _ = sums(is_changed, nodes, message, receivers, senders)
        return h + jax.nn.elu(total / (weight[..., None] + 1e-9)).reshape(nodes, -1)

    def loss(params: Any, h: Any, senders: Any, receivers: Any, labels: Any) -> Any:
        for weights in params["layers"]:
            h = layer(weights, h, senders, receivers)
        logits = jax.nn.log_softmax(h @ params["last"])
        return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], 1))

    one = {"w": of(heads * width, heads * width), "own": of(heads, width), "other": of(heads, width)}
    params, indices = {"layers": [one] * layers, "last": of(heads * width, 16)}, of(edges, dtype=INT)
    return trained(loss, params, of(nodes, heads * width), indices, indices, of(nodes, dtype=INT))


def filtered(is_changed: bool, nodes: int = 16384, edges: int = 262144, width: int = 128, layers: int = 3) -> Compiled:
    """Layers that filter what atoms send by a net of their distance. Edges are rows of an array of pairs."""

    def loss(params: Any, kinds: Any, positions: Any, pairs: Any, energy: Any) -> Any:
        h = params["kinds"][kinds]
        for weights in params["layers"]:
            z = h @ weights["in"]

            def message(receivers: Any, senders: Any, weights: Any = weights, z: Any = z) -> Any:
                away = positions[senders] - positions[receivers]
                length = jnp.sqrt(jnp.sum(away * away, -1, keepdims=True) + 1e-6)
                basis = jnp.exp(-((length - jnp.linspace(0, 5, 32)) ** 2))
                return z[senders] * (jax.nn.softplus(basis @ weights["filter"]) @ weights["more"]), None

            total, _ = sums(is_changed, nodes, message, pairs[:, 1], pairs[:, 0])
            h = h + jax.nn.softplus(total @ weights["out"])
        return (jnp.sum(h @ params["last"]) - energy) ** 2

    layer = {"in": of(width, width), "filter": of(32, width), "more": of(width, width), "out": of(width, width)}
    params = {"kinds": of(100, width), "layers": [layer] * layers, "last": of(width, 1)}
    return trained(loss, params, of(nodes, dtype=INT), of(nodes, 3), of(edges, 2, dtype=INT), of())


def gated(is_changed: bool, nodes: int = 32768, edges: int = 524288, width: int = 64, layers: int = 4) -> Compiled:
    """Layers with gates for each edge. Messages are averaged by the number of edges of a node."""

    def loss(params: Any, h: Any, ends: Any, targets: Any) -> Any:
        senders, receivers = ends
        degree = jax.ops.segment_sum(jnp.ones(edges), receivers, nodes)[:, None] + 1
        for weights in params:

            def message(receivers: Any, senders: Any, weights: Any = weights, h: Any = h) -> Any:
                gate = jax.nn.sigmoid(h[senders] @ weights["from"] + h[receivers] @ weights["to"])
                return gate * jnp.tanh(h[senders] @ weights["value"]), None

            total, _ = sums(is_changed, nodes, message, receivers, senders)
            h = normed(h + total / degree @ weights["out"])
        return jnp.mean((h - targets) ** 2)

    params = [{name: of(width, width) for name in ("from", "to", "value", "out")}] * layers
    return trained(loss, params, of(nodes, width), of(2, edges, dtype=INT), of(nodes, width))


# ---------------------------------------------------------------- lookalikes


def scattered_tokens(_: bool, batch: int = 32, length: int = 512, width: int = 256, experts: int = 8) -> Compiled:
    """A mixture of experts that scatters tokens to experts and gathers what they compute."""
    tokens = batch * length
    places = 2 * tokens // experts

    def loss(params: Any, words: Any, labels: Any) -> Any:
        x = params["embed"][words]
        for weights in params["layers"]:
            expert = jnp.argmax(x @ weights["router"], -1)
            place = jnp.cumsum(jax.nn.one_hot(expert, experts, dtype=INT), 0)[jnp.arange(tokens), expert]
            inside = jnp.zeros((experts, places, width)).at[expert, place].add(x, mode="drop")
            made = jax.nn.relu(jnp.einsum("epd,edf->epf", inside, weights["up"]))
            x = x + jnp.einsum("epf,efd->epd", made, weights["down"])[expert, place]
        logits = jax.nn.log_softmax(x @ params["embed"].T)
        return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], 1))

    layer = {"router": of(width, experts), "up": of(experts, width, 2 * width), "down": of(experts, 2 * width, width)}
    params = {"embed": of(2048, width), "layers": [layer] * 2}
    return trained(loss, params, of(tokens, dtype=INT), of(tokens, dtype=INT))


def bags(_: bool, users: int = 16384, items: int = 524288, rows: int = 65536, width: int = 64) -> Compiled:
    """A recommender that adds up rows of a table for each user. The table is no result of nodes."""

    def loss(params: Any, ids: Any, owners: Any, labels: Any) -> Any:
        bag = jax.ops.segment_sum(params["table"][ids], owners, users)
        return jnp.mean(jax.nn.softplus(-labels * jnp.squeeze(jax.nn.relu(bag @ params["in"]) @ params["out"], -1)))

    params = {"table": of(rows, width), "in": of(width, width), "out": of(width, 1)}
    return trained(loss, params, of(items, dtype=INT), of(items, dtype=INT), of(users))


def largest_messages(_: bool, nodes: int = 16384, edges: int = 262144, width: int = 128) -> Compiled:
    """Layers that take the largest message of each node, where gradients go to the edge that sent it."""

    def loss(params: Any, h: Any, senders: Any, receivers: Any, targets: Any) -> Any:
        for weights in params:
            sent = jax.nn.relu(jnp.concatenate([h[senders], h[receivers]], -1) @ weights["in"])
            h = h + jax.ops.segment_max(sent, receivers, nodes, indices_are_sorted=True) @ weights["out"]
        return jnp.mean((h - targets) ** 2)

    params, indices = [{"in": of(2 * width, width), "out": of(width, width)}] * 3, of(edges, dtype=INT)
    return trained(loss, params, of(nodes, width), indices, indices, of(nodes, width))


CASES: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "edge_states": ("messages", edge_states, ALL),
    "edge_states_of_few": ("messages", partial(edge_states, nodes=4096, edges=65536, width=512), ALL),
    "attention_of_edges": ("messages", attention_of_edges, ("cpu", "tpu")),
    "filtered": ("messages", filtered, ALL),
    "gated": ("messages", gated, ALL),
}
"""What advises a change, the program, and where it is compiled."""

TRAPS: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "scattered_tokens": ("messages", scattered_tokens, ALL),
    "bags": ("messages", bags, ALL),
    "largest_messages": ("messages", largest_messages, ALL),
}
"""What must not be advised, the program, and where it is compiled."""
