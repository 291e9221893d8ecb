"""Training steps whose losses compare examples with each other, or whose layers select by one-hot arrays, each as it is
and as a piece of advice changes it. The traps look like them, and must not get the advice.

Each function returns what to compile, its arguments, and the numbers of those that are donated. Imported by
`programs.py`, which sets the environment of jax first.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Compiled = tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]

FULL, INT = jnp.float32, jnp.int32
CHUNKS = 8


def of(*shape: int, dtype: Any = FULL) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def trained(loss: Callable[..., Any], params: Any, *batch: Any) -> Compiled:
    """A step of gradient descent: `step(params, *batch)`."""

    def step(params: Any, *batch: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, *batch)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients), value

    return step, (params, *batch), (0,)


def summed(loss: Callable[..., Any], *rows: Any) -> Any:
    """The sum of a loss over chunks of rows."""
    parts = jax.tree.map(lambda array: array.reshape(CHUNKS, -1, *array.shape[1:]), rows)
    return jnp.sum(lax.map(jax.checkpoint(lambda part: loss(*part)), parts))


# ---------------------------------------------------------------- similarities


def embedded(params: Any, x: Any) -> Any:
    z = jax.nn.gelu(x @ params["in"]) @ params["out"]
    return z * lax.rsqrt(jnp.sum(z * z, -1, keepdims=True) + 1e-6)


TOWER = {"in": of(128, 256), "out": of(256, 96)}


def entropy(logits: Any, labels: Any) -> Any:
    """The sum of the cross-entropy of rows."""
    picked = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
    return jnp.sum(jax.nn.logsumexp(logits, 1) - picked)


def both_ways(is_changed: bool, batch: int = 8192) -> Compiled:
    """Images and texts, of which the right text is found for each image, and the right image for each text."""

    def loss(params: Any, images: Any, texts: Any) -> Any:
        a, b, own = embedded(params["images"], images), embedded(params["texts"], texts), jnp.arange(batch)
        if is_changed:
            rows = summed(lambda part, own: entropy(part @ b.T * 20, own), a, own)
            columns = summed(lambda part, own: entropy(part @ a.T * 20, own), b, own)
            return (rows + columns) / batch
        similarity = a @ b.T * 20
        return (entropy(similarity, own) + entropy(similarity.T, own)) / batch

    return trained(loss, {"images": TOWER, "texts": TOWER}, of(batch, 128), of(batch, 128))


def each_pair(is_changed: bool) -> Compiled:
    """Users and items, each pair of which is judged by a sigmoid."""
    batch = 6144

    def loss(params: Any, users: Any, items: Any) -> Any:
        a, b = embedded(params["users"], users), embedded(params["items"], items)

        def judged(part: Any, place: Any) -> Any:
            sign = jnp.where(place[:, None] == jnp.arange(batch), 1.0, -1.0)
            return -jnp.sum(jax.nn.log_sigmoid(sign * (part @ b.T * 10 - 5)))

        rows = a, jnp.arange(batch)
        return (summed(judged, *rows) if is_changed else judged(*rows)) / batch

    return trained(loss, {"users": TOWER, "items": TOWER}, of(batch, 128), of(batch, 128))


def negatives(is_changed: bool) -> Compiled:
    """Queries, of which each has the right document among all of the batch and others that are wrong for all."""
    batch, others = 4096, 12288

    def loss(params: Any, queries: Any, documents: Any, wrong: Any) -> Any:
        z = embedded(params["queries"], queries)
        keys = embedded(params["documents"], jnp.concatenate([documents, wrong]))

        def found(part: Any, place: Any) -> Any:
            return entropy(part @ keys.T * 20, place)

        rows = z, jnp.arange(batch)
        return (summed(found, *rows) if is_changed else found(*rows)) / batch

    return trained(loss, {"queries": TOWER, "documents": TOWER}, of(batch, 128), of(batch, 128), of(others, 128))


def kernel_means(is_changed: bool, batch: int = 2048) -> Compiled:
    """An autoencoder whose codes are to be distributed as numbers that are drawn: means of a kernel of all pairs."""

    def mean_kernel(a: Any, b: Any) -> Any:
        def kernel(part: Any) -> Any:
            return jnp.sum(jnp.exp(-jnp.mean((part[:, None] - b[None]) ** 2, -1)))

        return (summed(kernel, a) if is_changed else kernel(a)) / batch**2

    def loss(params: Any, x: Any, drawn: Any) -> Any:
        z = embedded(params, x)[:, :32]
        return mean_kernel(z, z) + mean_kernel(drawn, drawn) - 2 * mean_kernel(z, drawn)

    return trained(loss, TOWER, of(batch, 128), of(batch, 32))


def ranked(is_changed: bool, batch: int = 8192) -> Compiled:
    """Scores of documents, each pair of which is to be in the right order."""

    def loss(params: Any, x: Any, grades: Any) -> Any:
        scores = embedded(params, x)[:, 0]

        def wrong(part: Any, own: Any) -> Any:
            is_better = own[:, None] > grades[None]
            return jnp.sum(jax.nn.softplus(scores[None] - part[:, None]) * is_better)

        return (summed(wrong, scores, grades) if is_changed else wrong(scores, grades)) / batch**2

    return trained(loss, TOWER, of(batch, 128), of(batch))


def recalled(is_changed: bool, batch: int = 8192) -> Compiled:
    """How often the right one of all texts is among the best for an image, and the reverse, without a backward pass."""

    def found(images: Any, texts: Any) -> Any:
        own = jnp.sum(images * texts, 1)

        def better(part: Any, score: Any) -> Any:
            similarity = part @ texts.T
            return jnp.sum(similarity > score[:, None], 1), jnp.sum(similarity > own[None], 0)

        if is_changed:
            parts = lax.map(lambda rows: better(*rows), (images.reshape(8, -1, 256), own.reshape(8, -1)))
            rows, columns = parts[0].reshape(-1), parts[1].sum(0)
        else:
            rows, columns = better(images, own)
        return jnp.mean(rows < 10), jnp.mean(columns < 10), 1 / (1 + rows)

    return found, (of(batch, 256), of(batch, 256)), ()


def independent(_: bool, batch: int = 2048) -> Compiled:
    """A trap: distances are centred by the means of their rows and of their columns, which takes all rows first."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        z = embedded(params, x)[:, :32]
        near, alike = jnp.exp(-jnp.sum((z[:, None] - z[None]) ** 2, -1)), jnp.exp(-((y[:, None] - y[None]) ** 2))
        centred = near - near.mean(0) - near.mean(1)[:, None] + near.mean()
        return -jnp.mean(centred * alike)

    return trained(loss, TOWER, of(batch, 128), of(batch))


def kernel_regression(_: bool, batch: int = 4096) -> Compiled:
    """A trap: the averages over all examples are what is trained, as in attention."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        z = embedded(params, x)
        weights = jax.nn.softmax(z @ z.T * 20 - 1e9 * jnp.eye(batch))
        return jnp.mean((weights @ y - y) ** 2)

    return trained(loss, TOWER, of(batch, 128), of(batch, 8))


def transported(_: bool, batch: int = 2048) -> Compiled:
    """A trap: rows and columns are normalized in turn, so that no chunk of rows can be computed on its own."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        a, b = embedded(params["x"], x), embedded(params["y"], y)
        similarity = a @ b.T * 10
        for _ in range(5):
            similarity = jax.nn.log_softmax(jax.nn.log_softmax(similarity, 0), 1)
        return -jnp.mean(jnp.diag(similarity))

    return trained(loss, {"x": TOWER, "y": TOWER}, of(batch, 128), of(batch, 128))


# ---------------------------------------------------------------- experts

EXPERTS, ROOM, WIDTH = 16, 1280, 128


def experts(is_changed: bool, layers: int = 2, groups: int = 0, tokens: int = 16384, room: int = 1280) -> Compiled:
    """A mixture of experts that gets its tokens by products with a one-hot array of [tokens, experts, room]."""

    def layer(weights: Any, x: Any) -> Any:
        gates = jax.nn.softmax(x @ weights["gate"])
        expert, gate = jnp.argmax(gates, -1), jnp.max(gates, -1)
        chosen = jax.nn.one_hot(expert, EXPERTS, dtype=INT)
        place = jnp.sum(jnp.cumsum(chosen, 0) * chosen, -1) - 1
        if is_changed:
            inside = jnp.zeros((EXPERTS, room, WIDTH)).at[expert, place].set(x, mode="drop")
        else:
            dispatch = jax.nn.one_hot(expert, EXPERTS)[:, :, None] * jax.nn.one_hot(place, room)[:, None]
            inside = jnp.einsum("tec,td->ecd", dispatch, x)
        outside = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", inside, weights["up"]))
        outside = jnp.einsum("ecf,efd->ecd", outside, weights["down"])
        if is_changed:
            return x + gate[:, None] * outside.at[expert, place].get(mode="fill", fill_value=0)
        return x + jnp.einsum("tec,ecd->td", dispatch * gate[:, None, None], outside)

    def loss(params: Any, x: Any, y: Any) -> Any:
        through = jax.vmap(layer, (None, 0)) if groups else layer
        for weights in params:
            x = through(weights, x)
        return jnp.mean((x - y) ** 2)

    weights = {"gate": of(WIDTH, EXPERTS), "up": of(EXPERTS, WIDTH, 512), "down": of(EXPERTS, 512, WIDTH)}
    shape = (groups, tokens // groups, WIDTH) if groups else (tokens, WIDTH)
    return trained(loss, [weights] * layers, of(*shape), of(*shape))


def two_experts(is_changed: bool, *, is_scanned: bool = False, tokens: int = 8192) -> Compiled:
    """Each token goes to two experts, in two layers, or in as many of a scan."""

    def layer(weights: Any, x: Any) -> Any:
        gates, expert = lax.top_k(jax.nn.softmax(x @ weights["gate"]), 2)
        chosen = jax.nn.one_hot(expert, EXPERTS)
        before = jnp.cumsum(chosen.reshape(-1, EXPERTS), 0).reshape(chosen.shape) * chosen - 1
        if is_changed:
            place = jnp.max(before, -1).astype(INT)
            inside = jnp.zeros((EXPERTS, ROOM, WIDTH)).at[expert, place].set(x[:, None], mode="drop")
        else:
            dispatch = jax.nn.one_hot(before.astype(INT), ROOM) * chosen[..., None]
            inside = jnp.einsum("tec,td->ecd", dispatch.sum(1), x)
        outside = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", inside, weights["up"]))
        outside = jnp.einsum("ecf,efd->ecd", outside, weights["down"])
        if is_changed:
            got = outside.at[expert, place].get(mode="fill", fill_value=0)
            return x + jnp.sum(gates[..., None] * got, 1)
        return x + jnp.einsum("tec,ecd->td", (dispatch * gates[..., None, None]).sum(1), outside)

    def loss(params: Any, x: Any, y: Any) -> Any:
        if is_scanned:
            x = lax.scan(lambda x, weights: (layer(weights, x), None), x, params)[0]
        for weights in () if is_scanned else params:
            x = layer(weights, x)
        return jnp.mean((x - y) ** 2)

    weights = {"gate": of(WIDTH, EXPERTS), "up": of(EXPERTS, WIDTH, 512), "down": of(EXPERTS, 512, WIDTH)}
    stacked = {name: of(3, *one.shape) for name, one in weights.items()}
    return trained(loss, stacked if is_scanned else [weights] * 2, of(tokens, WIDTH), of(tokens, WIDTH))


def soft_experts(_: bool, tokens: int = 2048) -> Compiled:
    """A trap: each place of an expert gets a mean of all tokens, by weights that are no zeros and ones."""
    slots = 64

    def layer(weights: Any, x: Any) -> Any:
        scores = jnp.einsum("td,desp->tes", x, weights["slots"][..., None])
        inside = jnp.einsum("tes,td->esd", jax.nn.softmax(scores, 0), x)
        outside = jax.nn.gelu(jnp.einsum("esd,edf->esf", inside, weights["up"]))
        outside = jnp.einsum("esf,efd->esd", outside, weights["down"])
        return x + jnp.einsum(
            "tes,esd->td", jax.nn.softmax(scores.reshape(tokens, -1), -1).reshape(scores.shape), outside
        )

    def loss(params: Any, x: Any, y: Any) -> Any:
        for weights in params:
            x = layer(weights, x)
        return jnp.mean((x - y) ** 2)

    weights = {"slots": of(WIDTH, EXPERTS, slots), "up": of(EXPERTS, WIDTH, 512), "down": of(EXPERTS, 512, WIDTH)}
    return trained(loss, [weights] * 2, of(tokens, WIDTH), of(tokens, WIDTH))


# ---------------------------------------------------------------- two batches in one


def preferred(is_changed: bool, is_with_reference: bool = True, length: int = 256, words: int = 16384) -> Compiled:
    """DPO: chosen and rejected answers go through the model together."""
    batch, width = 4, 128

    def likelihood(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens[:, :-1]]
        for weights in params["layers"]:
            x = x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]

        def of_sequences(x: Any, following: Any) -> Any:
            logits = jax.nn.log_softmax(x @ params["head"])
            return jnp.sum(jnp.take_along_axis(logits, following[..., None], -1), (1, 2))

        if not is_changed:
            return of_sequences(x, tokens[:, 1:])
        parts = (x[:, None], tokens[:, None, 1:])
        return lax.map(jax.checkpoint(lambda part: of_sequences(*part)), parts)[:, 0]

    def loss(params: Any, reference: Any, chosen: Any, rejected: Any) -> Any:
        both = jnp.concatenate([chosen, rejected])
        margins = likelihood(params, both)
        if is_with_reference:
            margins -= likelihood(reference, both)
        return -jnp.mean(jax.nn.log_sigmoid(0.1 * (margins[:batch] - margins[batch:])))

    layers = [{"up": of(width, 4 * width), "down": of(4 * width, width)}] * 2
    params = {"embed": of(words, width), "head": of(width, words), "layers": layers}
    tokens = of(batch, length + 1, dtype=INT)
    return trained(loss, params, params if is_with_reference else of(1), tokens, tokens)


# ---------------------------------------------------------------- time first


def time_first(is_changed: bool, batch: int = 256, length: int = 512) -> Compiled:
    """A recurrent net whose arguments are [time, batch, width]."""
    width = 256

    def cell(params: Any, h: Any, x: Any) -> Any:
        gate = jax.nn.sigmoid(x @ params["x"] + h @ params["h"])
        return gate * h + (1 - gate) * jnp.tanh(x @ params["new"])

    def loss(params: Any, xs: Any, ys: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = cell(params, h, x)
            return h, h

        states = lax.scan(step, jnp.zeros((xs.shape[1], width)), xs)[1]
        return jnp.mean((states @ params["out"] - ys) ** 2)

    def update(params: Any, xs: Any, ys: Any) -> Any:
        def one_more(total: Any, part: Any) -> Any:
            return jax.tree.map(jnp.add, total, jax.grad(loss)(params, *part)), None

        if is_changed:
            parts = jax.tree.map(lambda x: jnp.moveaxis(x.reshape(length, 4, -1, x.shape[-1]), 1, 0), (xs, ys))
            gradients = lax.scan(one_more, jax.tree.map(jnp.zeros_like, params), parts)[0]
        else:
            gradients = jax.grad(loss)(params, xs, ys)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients)

    params = {"x": of(32, width), "h": of(width, width), "new": of(32, width), "out": of(width, 32)}
    return update, (params, of(length, batch, 32), of(length, batch, 32)), (0,)


# ---------------------------------------------------------------- images


def selective(is_changed: bool, batch: int = 4, length: int = 1024, width: int = 256, states: int = 16) -> Compiled:
    """A state-space model that scans the time step by step. What the scan carries is saved for each step, whether or
    not `jax.checkpoint` wraps the step.
    """

    def loss(params: Any, inputs: Any, targets: Any) -> Any:
        poles = jnp.exp(params["poles"])

        def step(state: Any, x: Any) -> Any:
            inputs, rate, into, out = x
            state = jnp.exp(-rate[..., None] * poles) * state + (rate * inputs)[..., None] * into[:, None]
            return state, (state * out[:, None]).sum(-1)

        columns = inputs, jax.nn.softplus(inputs @ params["rate"]), inputs @ params["into"], inputs @ params["out"]
        xs = tuple(column.swapaxes(0, 1) for column in columns)
        body = jax.checkpoint(step) if is_changed else step
        outputs = lax.scan(body, jnp.zeros((batch, width, states)), xs)[1]
        return jnp.mean((outputs.swapaxes(0, 1) - targets) ** 2)

    params = dict.fromkeys(("into", "out", "poles"), of(width, states)) | {"rate": of(width, width)}
    return trained(loss, params, of(batch, length, width), of(batch, length, width))


def states_in_layers(
    is_changed: bool, layers: int = 3, batch: int = 2, length: int = 1024, width: int = 256, states: int = 16
) -> Compiled:
    """A scan over layers of a state-space model, each with an associative scan, of whose levels the loop stacks what
    the backward pass needs.
    """

    def combine(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    def scanned(weights: Any, state: Any, x: Any) -> Any:
        decay = jax.nn.sigmoid(x @ weights["decay"])[..., None] * jax.nn.sigmoid(weights["poles"])
        added = x[..., None] * (x @ weights["input"])[:, :, None, :]
        decays, found = lax.associative_scan(combine, (decay, added), axis=1)
        found += decays * state[:, None]
        return found[:, -1], jnp.einsum("btwn,btn->btw", found, x @ weights["output"])

    def layer(x: Any, weights: Any) -> Any:
        state = jnp.zeros((batch, width, states))
        if is_changed:
            parts = x.reshape(batch, 16, -1, width).swapaxes(0, 1)
            found = lax.scan(jax.checkpoint(partial(scanned, weights)), state, parts)[1]
            return x + found.swapaxes(0, 1).reshape(x.shape), None
        return x + scanned(weights, state, x)[1], None

    def loss(params: Any, inputs: Any, targets: Any) -> Any:
        return jnp.mean((lax.scan(layer, inputs, params)[0] - targets) ** 2)

    columns = dict.fromkeys(("poles", "input", "output"), of(layers, width, states))
    return trained(loss, {"decay": of(layers, width, width)} | columns, *[of(batch, length, width)] * 2)


def blocks(is_changed: bool, batch: int = 16384, width: int = 2048, layers: int = 6) -> Compiled:
    """Layers without residuals, called by a Python loop. Each reads what the one before it returns."""

    def block(x: Any, weights: Any) -> Any:
        first, second = weights
        return jnp.sin(jnp.tanh(x @ first) @ second)

    def loss(params: Any, inputs: Any, targets: Any) -> Any:
        x = inputs
        for weights in params:
            x = (jax.checkpoint(block) if is_changed else block)(x, weights)
        return jnp.mean((x - targets) ** 2)

    return trained(loss, [(of(width, width),) * 2] * layers, of(batch, width), of(batch, width))


def message_layers(
    is_changed: bool, nodes: int = 20000, edges: int = 200000, width: int = 128, layers: int = 3
) -> Compiled:
    """A graph net in a Python loop. Each layer puts features of an edge and of its nodes end to end."""

    def net(x: Any, weights: Any) -> Any:
        return jnp.tanh(jax.nn.relu(x @ weights[0]) @ weights[1])

    def loss(params: Any, x: Any, features: Any, senders: Any, receivers: Any, targets: Any) -> Any:
        def layer(h: Any, e: Any, weights: Any) -> Any:
            e += net(jnp.concatenate([h[senders], h[receivers], e], -1), weights["edges"])
            received = jax.ops.segment_sum(e, receivers, nodes)
            return h + net(jnp.concatenate([h, received], -1), weights["nodes"]), e

        h, e = net(x, params["in"]), net(features, params["in_edges"])
        for weights in params["layers"]:
            h, e = (jax.checkpoint(layer) if is_changed else layer)(h, e, weights)
        return jnp.mean((h @ params["out"] - targets) ** 2)

    square = of(width, width)
    layer = {"edges": (of(3 * width, width), square), "nodes": (of(2 * width, width), square)}
    params = {"in": (of(16, width), square), "in_edges": (of(8, width), square), "layers": [layer] * layers}
    indices = of(edges, dtype=INT)
    arguments = of(nodes, 16), of(edges, 8), indices, indices, of(nodes, 1)
    return trained(loss, params | {"out": of(width, 1)}, *arguments)


def residuals(is_changed: bool, words: int = 3072, batch: int = 64, length: int = 512, width: int = 512) -> Compiled:
    """Layers with residuals, called by a Python loop, and a table of words. With twice as many words as the width, the
    layers look like logits.
    """

    def layer(x: Any, weights: Any) -> Any:
        up, down = weights
        return x + jax.nn.gelu(x @ up) @ down

    def loss(params: Any, tokens: Any, targets: Any) -> Any:
        x = params["table"][tokens]
        for weights in params["layers"]:
            x = (jax.checkpoint(layer) if is_changed else layer)(x, weights)
        return entropy((x @ params["table"].T).reshape(batch * length, -1), targets.reshape(-1)) / batch

    layers = [(of(width, 2 * width), of(2 * width, width))] * 4
    tokens = of(batch, length, dtype=INT)
    return trained(loss, {"table": of(words, width), "layers": layers}, tokens, tokens)


def triplets(is_changed: bool, batch: int = 16384, width: int = 1024, layers: int = 5) -> Compiled:
    """A net that is called for three batches. Some inputs of its layers are in buffers, the others are computed where
    they are read.
    """

    def block(x: Any, weights: Any) -> Any:
        return x + jnp.tanh(jax.nn.relu(x @ weights))

    def net(params: Any, x: Any) -> Any:
        for weights in params:
            x = (jax.checkpoint(block) if is_changed else block)(x, weights)
        return x / jnp.linalg.norm(x, axis=-1, keepdims=True)

    def loss(params: Any, *batches: Any) -> Any:
        x, like, unlike = (net(params, batch) for batch in batches)
        return jnp.mean(jax.nn.relu(0.2 + jnp.sum((x - like) ** 2, -1) - jnp.sum((x - unlike) ** 2, -1)))

    return trained(loss, [of(width, width)] * layers, *[of(batch, width)] * 3)


def views(is_changed: bool, batch: int = 16384, width: int = 1024, layers: int = 6) -> Compiled:
    """A net that is called for two views of a batch. Its layers read their inputs only for products, so that a TPU
    stores them in bfloat16.
    """

    def layer(x: Any, weights: Any) -> Any:
        return jax.nn.gelu(x @ weights)

    def net(params: Any, x: Any) -> Any:
        for weights in params:
            x = (jax.checkpoint(layer) if is_changed else layer)(x, weights)
        return x

    def loss(params: Any, *batches: Any) -> Any:
        one, other = (net(params, batch) for batch in batches)
        return jnp.mean((one - other) ** 2) - jnp.mean(jnp.var(one, 0)) - jnp.mean(jnp.var(other, 0))

    return trained(loss, [of(width, width)] * layers, *[of(batch, width)] * 2)


def crops(is_changed: bool, batch: int = 32, size: int = 64, width: int = 128, layers: int = 6) -> Compiled:
    """A net that is called for crops of two sizes. `wide` only returns what is saved: fusions compute `relu` of it."""

    def wide(x: Any, kernel: Any) -> Any:
        return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def block(x: Any, weights: Any) -> Any:
        first, second = weights
        return x + wide(jax.nn.relu(wide(x, first)), second)

    def net(params: Any, x: Any) -> Any:
        for weights in params:
            x = (jax.checkpoint(block) if is_changed else block)(x, weights)
        return jnp.mean(x, (1, 2))

    def loss(params: Any, *crops: Any) -> Any:
        large, small = (net(params, crop) for crop in crops)
        return jnp.mean((large - small) ** 2)

    kernel = of(3, 3, width, width)
    sizes = (size, size // 2)
    return trained(loss, [(kernel, kernel)] * layers, *(of(batch, size, size, width) for size in sizes))


def learned_rates(is_changed: bool, steps: int = 128, batch: int = 256, width: int = 512) -> Compiled:
    """Rates of gradient descent that are trained through the descent: each step of it has a derivative in it."""

    def net(params: Any, x: Any) -> Any:
        for weights in params[:-1]:
            x = jnp.tanh(x @ weights)
        return x @ params[-1]

    def loss(rates: Any, params: Any, xs: Any, ys: Any, x: Any, y: Any) -> Any:
        def descend(params: Any, rows: Any) -> Any:
            gradients = jax.grad(lambda params: jnp.mean((net(params, rows[0]) - rows[1]) ** 2))(params)
            return jax.tree.map(lambda p, g, rate: p - jnp.exp(rate) * g, params, gradients, rates), None

        params, _ = lax.scan(jax.checkpoint(descend) if is_changed else descend, params, (xs, ys))
        return jnp.mean((net(params, x) - y) ** 2)

    params = [of(64, width), of(width, width), of(width, 1)]
    rows = of(steps, batch, 64), of(steps, batch, 1), of(1024, 64), of(1024, 1)
    return trained(loss, [of()] * 3, params, *rows)


def conv(x: Any, kernel: Any) -> Any:
    return jax.nn.relu(lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))


def private_step(is_changed: bool, loss: Callable[..., Any]) -> Callable[..., Any]:
    """A step of DP-SGD: the gradient of each image is clipped, and noise is added to their sum."""

    def clipped(params: Any, image: Any, label: Any) -> Any:
        gradients = jax.grad(loss)(params, image, label)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
        return jax.tree.map(lambda g: g / jnp.maximum(1.0, norm), gradients)

    def total(params: Any, images: Any, labels: Any) -> Any:
        return jax.tree.map(lambda g: jnp.sum(g, 0), jax.vmap(clipped, (None, 0, 0))(params, images, labels))

    def step(params: Any, images: Any, labels: Any, key: Any) -> Any:
        if is_changed:
            parts = images.reshape(4, -1, *images.shape[1:]), labels.reshape(4, -1)
            zeros = jax.tree.map(jnp.zeros_like, params)
            gradients = lax.scan(
                lambda sums, part: (jax.tree.map(jnp.add, sums, total(params, *part)), None), zeros, parts
            )[0]
        else:
            gradients = total(params, images, labels)
        return jax.tree.map(
            lambda p, g: p - 1e-3 * (g + jax.random.normal(key, g.shape)) / len(images), params, gradients
        )

    return step


def private_images(is_changed: bool, batch: int = 512) -> Compiled:
    """DP-SGD of a convolutional net, whose gradients of single examples are convolutions in groups."""

    def loss(params: Any, image: Any, label: Any) -> Any:
        x = image[None]
        for kernel in params["kernels"]:
            x = conv(x, kernel)
        return -jax.nn.log_softmax(x.reshape(-1) @ params["head"])[label]

    params = {"kernels": [of(3, 3, 3, 32), of(3, 3, 32, 64)], "head": of(4096, 10)}
    arguments = params, of(batch, 32, 32, 3), of(batch, dtype=INT), of(2, dtype=jnp.uint32)
    return private_step(is_changed, loss), arguments, (0,)


def convolved_states(
    is_changed: bool, batch: int = 8, length: int = 1024, width: int = 512, layers: int = 4, words: int = 4096
) -> Compiled:
    """A language model whose layers convolve each feature with its last values, which a TPU computes for parts of the
    positions.
    """

    def layer(x: Any, weights: Any) -> Any:
        y = lax.conv_general_dilated(
            x @ weights["in"],
            weights["kernel"],
            (1,),
            [(3, 0)],
            dimension_numbers=("NWC", "WIO", "NWC"),
            feature_group_count=2 * width,
        )
        gate, value = jnp.split(jax.nn.silu(y), 2, -1)
        return x + (gate * value) @ weights["out"]

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens[:, :-1]]
        for weights in params["layers"]:
            x = layer(x, weights)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(x @ params["head"]), tokens[:, 1:, None], -1)
        return -jnp.mean(chosen)

    one = {"in": of(width, 2 * width), "kernel": of(4, 1, 2 * width), "out": of(width, width)}
    params = {"embed": of(words, width), "layers": [one] * layers, "head": of(width, words)}
    step, arguments, donated = trained(loss, params, of(batch, length + 1, dtype=INT))
    if not is_changed:
        return step, arguments, donated

    def accumulated(params: Any, tokens: Any) -> Any:
        def add(sums: Any, part: Any) -> Any:
            value, gradients = jax.value_and_grad(loss)(params, part)
            return jax.tree.map(jnp.add, sums, (gradients, value)), None

        zeros = jax.tree.map(jnp.zeros_like, params), jnp.zeros(())
        gradients, value = lax.scan(add, zeros, tokens.reshape(4, -1, *tokens.shape[1:]))[0]
        return jax.tree.map(lambda p, g: p - 1e-3 * g / 4, params, gradients), value / 4

    return accumulated, arguments, donated


def private_strides(is_changed: bool, batch: int = 64) -> Compiled:
    """DP-SGD of a convolutional net with normalization of groups. A TPU computes the gradients of single examples with
    filters that are zero but for those of the example.
    """
    widths = 3, 64, 128, 256, 512

    def loss(params: Any, image: Any, label: Any) -> Any:
        x = image[None]
        for kernel in params["kernels"]:
            x = lax.conv_general_dilated(x, kernel, (2, 2), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
            groups = x.reshape(16, -1)
            groups = (groups - groups.mean(-1, keepdims=True)) * lax.rsqrt(groups.var(-1, keepdims=True) + 1e-5)
            x = jax.nn.relu(groups.reshape(x.shape))
        return -jax.nn.log_softmax(x.mean((2, 3))[0] @ params["head"])[label]

    params = {"kernels": [of(o, i, 3, 3) for i, o in pairwise(widths)], "head": of(widths[-1], 10)}
    arguments = params, of(batch, 3, 32, 32), of(batch, dtype=INT), of(2, dtype=jnp.uint32)
    return private_step(is_changed, loss), arguments, (0,)


def diffused(is_changed: bool, points: int = 512, steps: int = 128) -> Compiled:
    """A field of conductivities that is fitted to how heat spreads. Each step is linear in the temperatures, which only
    `jax.checkpoint` around it saves.
    """

    def loss(field: Any, heat: Any, target: Any) -> Any:
        conductivity = jnp.exp(field)

        def step(heat: Any, _: Any) -> Any:
            down = (conductivity[1:] + conductivity[:-1]) * (heat[1:] - heat[:-1])
            across = (conductivity[:, 1:] + conductivity[:, :-1]) * (heat[:, 1:] - heat[:, :-1])
            heat += 0.05 * (jnp.pad(down, ((0, 1), (0, 0))) - jnp.pad(down, ((1, 0), (0, 0))))
            return heat + 0.05 * (jnp.pad(across, ((0, 0), (0, 1))) - jnp.pad(across, ((0, 0), (1, 0)))), None

        return jnp.mean((lax.scan(jax.checkpoint(step) if is_changed else step, heat, None, steps)[0] - target) ** 2)

    field = of(points, points)
    return trained(loss, field, field, field)


def image_pairs(_: bool, batch: int = 2048) -> Compiled:
    """A trap: the rows of an image are no batch, though the examples of the batch are compared with each other."""

    def loss(params: Any, views: Any, others: Any) -> Any:
        x = jnp.concatenate([views, others])
        for kernel in params["kernels"]:
            x = conv(x, kernel)
        z = jnp.mean(x, (1, 2))
        similarity = z @ z.T - 1e9 * jnp.eye(2 * batch)
        return entropy(similarity, jnp.roll(jnp.arange(2 * batch), batch)) / batch

    params = {"kernels": [of(3, 3, 3, 16), of(3, 3, 16, 32)]}
    return trained(loss, params, of(batch, 16, 16, 3), of(batch, 16, 16, 3))


# ---------------------------------------------------------------- operators


def fourier(is_changed: bool, batch: int = 32, size: int = 64, width: int = 32, modes: int = 12) -> Compiled:
    """A neural operator: layers that multiply the low frequencies of fields by weights. Each field is an example."""

    def layer(weights: Any, x: Any) -> Any:
        spectrum = jnp.fft.rfft2(x, axes=(1, 2))
        low = jnp.einsum("bxyi,xyio->bxyo", spectrum[:, :modes, :modes], weights["re"] + 1j * weights["im"])
        spectrum = jnp.zeros_like(spectrum).at[:, :modes, :modes].set(low)
        return jax.nn.gelu(jnp.fft.irfft2(spectrum, s=(size, size), axes=(1, 2)) + x @ weights["here"])

    def loss(params: Any, fields: Any, targets: Any) -> Any:
        x = fields[..., None] @ params["in"]
        for weights in params["layers"]:
            x = layer(weights, x)
        errors = jnp.sum(((x @ params["out"])[..., 0] - targets) ** 2, (1, 2))
        return jnp.mean(jnp.sqrt(errors / jnp.sum(targets**2, (1, 2))))

    def accumulated(params: Any, *rows: Any) -> Any:
        parts = jax.tree.map(lambda array: array.reshape(4, -1, *array.shape[1:]), rows)

        def add(total: Any, part: Any) -> tuple[Any, Any]:
            value, gradients = jax.value_and_grad(loss)(params, *part)
            return jax.tree.map(lambda t, g: t + g / 4, total, gradients), value

        gradients, values = lax.scan(add, jax.tree.map(jnp.zeros_like, params), parts)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients), jnp.mean(values)

    spectral = {"re": of(modes, modes, width, width), "im": of(modes, modes, width, width), "here": of(width, width)}
    params = {"in": of(1, width), "layers": [spectral] * 3, "out": of(width, 1)}
    step, arguments, donated = trained(loss, params, of(batch, size, size), of(batch, size, size))
    return accumulated if is_changed else step, arguments, donated


# ---------------------------------------------------------------- graphs


def equivariant(is_changed: bool, nodes: int = 8192, edges: int = 131072, width: int = 64) -> Compiled:
    """Layers that move the nodes of a graph along its edges. The features have too many columns to gather one by one,
    the positions have three.
    """

    def layer(weights: Any, h: Any, positions: Any, senders: Any, receivers: Any) -> Any:
        pairs = h[senders] + h[receivers]
        if is_changed:
            directions = [column[receivers] - column[senders] for column in positions.T]
            lengths = sum(column * column for column in directions)[:, None]
        else:
            direction = positions[receivers] - positions[senders]
            lengths = jnp.sum(direction * direction, -1, keepdims=True)
        messages = jax.nn.silu(pairs @ weights["in"] + lengths * weights["length"])
        strength = messages @ weights["out"]
        if is_changed:
            moves = jnp.stack([jax.ops.segment_sum(column * strength, receivers, nodes) for column in directions], -1)
        else:
            moves = jax.ops.segment_sum(direction * strength[:, None], receivers, nodes)
        return h + jax.ops.segment_sum(messages, receivers, nodes), positions + moves

    def loss(params: Any, h: Any, positions: Any, senders: Any, receivers: Any, targets: Any) -> Any:
        for weights in params:
            h, positions = layer(weights, h, positions, senders, receivers)
        return jnp.mean((positions - targets) ** 2)

    params = [{"in": of(width, width), "length": of(width), "out": of(width)}] * 2
    indices, positions = of(edges, dtype=INT), of(nodes, 3)
    return trained(loss, params, of(nodes, width), positions, indices, indices, positions)


ALL = ("cpu", "tpu", "gpu")

CASES: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "both_ways": ("similarity", both_ways, ALL),
    "each_pair": ("similarity", each_pair, ALL),
    "negatives": ("similarity", negatives, ALL),
    "kernel_means": ("similarity", kernel_means, ("cpu",)),
    "ranked": ("similarity", ranked, ("cpu",)),
    "recalled": ("similarity", recalled, ALL),
    "experts_one": ("one-hot", experts, ALL),
    "experts_grouped": ("one-hot", partial(experts, groups=4), ALL),
    "experts_two": ("one-hot", two_experts, ALL),
    "experts_scanned": ("one-hot", partial(two_experts, is_scanned=True), ALL),
    "states_in_layers": ("associative-scan", states_in_layers, ALL),
    "preferred": ("logits", preferred, ALL),
    "preferred_alone": ("logits", partial(preferred, is_with_reference=False), ALL),
    "time_first": ("microbatches", time_first, ALL),
    "private_images": ("microbatches", private_images, ALL),
    "private_strides": ("microbatches", private_strides, ALL),
    "convolved_states": ("microbatches", convolved_states, ALL),
    "diffused": ("rematerialize", diffused, ALL),
    "selective": ("rematerialize", selective, ALL),
    "blocks": ("rematerialize", blocks, ("tpu",)),
    "message_layers": ("rematerialize", message_layers, ("tpu", "gpu")),
    "residuals": ("rematerialize", residuals, ("tpu",)),
    "residuals_of_few_words": ("rematerialize", partial(residuals, words=1024), ("tpu",)),
    "triplets": ("rematerialize", triplets, ("tpu",)),
    "views": ("rematerialize", views, ("tpu",)),
    "crops": ("rematerialize", crops, ("tpu",)),
    "learned_rates": ("rematerialize", learned_rates, ALL),
    "equivariant": ("padded-dimension", equivariant, ("tpu",)),
    "fourier": ("microbatches", fourier, ALL),
    "time_first_long": ("microbatches", partial(time_first, batch=64, length=2048), ALL),
}
"""What advises a change, the program, and where it is compiled."""

TRAPS: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "kernel_regression": ("similarity", kernel_regression, ALL),
    "transported": ("similarity", transported, ALL),
    "independent": ("similarity", independent, ALL),
    "soft_experts": ("one-hot", soft_experts, ALL),
    "image_pairs": ("microbatches", image_pairs, ALL),
}
"""What must not be advised, the program, and where it is compiled."""
