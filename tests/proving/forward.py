"""Programs without a backward pass, each as it is and as a piece of advice changes it: decoding, chains of samples,
recurrent nets, particles and graphs. The traps look like them, and must not get the advice.

Each function returns what to compile, its arguments, and the numbers of those that are donated. Imported by
`programs.py`, which sets the environment of jax first.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Compiled = tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]

HALF, FULL = jnp.bfloat16, jnp.float32


def of(*shape: int, dtype: Any = FULL) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


# ---------------------------------------------------------------- state of loops

LAYERS, BATCH, LENGTH, HEADS, SIZE = 8, 8, 1024, 8, 128
WIDTH = HEADS * SIZE


def attended(x: Any, weights: Any, keys: Any, values: Any, position: Any) -> Any:
    """A layer of attention from one token to a cache of [batch, heads, length, size]."""
    query = (x @ weights["query"]).reshape(BATCH, HEADS, SIZE)
    scores = jnp.einsum("bhd,bhtd->bht", query, keys, preferred_element_type=FULL)
    scores = jnp.where(jnp.arange(LENGTH) <= position, scores, -1e9)
    mixed = jnp.einsum("bht,bhtd->bhd", jax.nn.softmax(scores, -1).astype(x.dtype), values)
    return x + mixed.reshape(x.shape) @ weights["out"]


def next_token(is_changed: bool, params: Any, cache: Any, x: Any, position: Any) -> Any:
    """One token through all layers. The caches of all layers are stacked."""

    def with_new(x: Any, weights: Any, old: Any) -> Any:
        new = {name: (x @ weights[name]).reshape(BATCH, HEADS, 1, SIZE) for name in ("keys", "values")}
        return {name: lax.dynamic_update_slice(old[name], new[name], (0, 0, position, 0)) for name in old}

    def scanned(x: Any, one: Any) -> Any:
        weights, old = one
        new = with_new(x, weights, old)
        return attended(x, weights, new["keys"], new["values"], position), new

    def carried(state: Any, one: Any) -> Any:
        (x, cache), (weights, layer) = state, one
        new = with_new(x, weights, jax.tree.map(lambda array: array[layer], cache))
        cache = {name: lax.dynamic_update_index_in_dim(cache[name], new[name], layer, 0) for name in cache}
        return (attended(x, weights, new["keys"], new["values"], position), cache), None

    if is_changed:
        return lax.scan(carried, (x, cache), (params, jnp.arange(LAYERS)))[0]
    return lax.scan(scanned, x, (params, cache))


def decoding(dtype: Any) -> tuple[Any, Any, Any]:
    weights = {name: of(LAYERS, WIDTH, WIDTH, dtype=dtype) for name in ("query", "keys", "values", "out")}
    cache = dict.fromkeys(("keys", "values"), of(LAYERS, BATCH, HEADS, LENGTH, SIZE, dtype=dtype))
    return weights, cache, of(BATCH, WIDTH, dtype=dtype)


def decode_layers(is_changed: bool, is_donated: bool = True) -> Compiled:
    """A decoding step with the caches of all layers as `xs` and `ys`. If they are not donated, changing it does that,
    too.
    """

    def step(params: Any, cache: Any, x: Any, position: Any) -> Any:
        return next_token(is_changed, params, cache, x, position)

    return step, (*decoding(FULL), of(dtype=jnp.int32)), (1,) if is_donated or is_changed else ()


def generate(is_changed: bool, dtype: Any = HALF) -> Compiled:
    """Many tokens, one after another."""
    weights, cache, x = decoding(dtype)

    def tokens(params: Any, x: Any) -> Any:
        empty = jax.tree.map(lambda array: jnp.zeros(array.shape, array.dtype), cache)

        def step(position: Any, state: Any) -> Any:
            return next_token(is_changed, params, state[1], state[0], position)

        return lax.fori_loop(0, 64, step, (x, empty))[0]

    return tokens, (weights, x), ()


def recurrent_layers(is_changed: bool) -> Compiled:
    """A step of a recurrent net of many layers, whose states are stacked."""

    def cell(x: Any, weights: Any, h: Any) -> Any:
        gate = jax.nn.sigmoid(x @ weights["gate"] + h @ weights["back"])
        return gate * h + (1 - gate) * jnp.tanh(x @ weights["new"])

    def scanned(params: Any, states: Any, x: Any) -> Any:
        return lax.scan(lambda x, one: (cell(x, *one),) * 2, x, (params, states))

    def carried(params: Any, states: Any, x: Any) -> Any:
        def layer(carry: Any, one: Any) -> Any:
            x, states = carry
            x = cell(x, one[0], states[one[1]])
            return (x, lax.dynamic_update_index_in_dim(states, x, one[1], 0)), None

        return lax.scan(layer, (x, states), (params, jnp.arange(len(states))))[0]

    params = dict.fromkeys(("gate", "back", "new"), of(16, 256, 256))
    return carried if is_changed else scanned, (params, of(16, 1 << 15, 256), of(1 << 15, 256)), (1,)


def relaxed_blocks(is_changed: bool) -> Compiled:
    """Blocks of points that repel each other, one after another."""

    def relaxed(points: Any) -> Any:
        far = points[:, None] - points[None]
        return points + 1e-3 * jnp.sum(far / (jnp.sum(far * far, -1, keepdims=True) + 1), 1)

    def mapped(blocks: Any) -> Any:
        return lax.map(relaxed, blocks)

    def carried(blocks: Any) -> Any:
        def one_more(block: Any, blocks: Any) -> Any:
            return lax.dynamic_update_index_in_dim(blocks, relaxed(blocks[block]), block, 0)

        return lax.fori_loop(0, len(blocks), one_more, blocks)

    return carried if is_changed else mapped, (of(1 << 14, 64, 64),), (0,)


def beams(is_changed: bool, batch: int = 8, count: int = 4, length: int = 256, width: int = 512) -> Compiled:
    """Several continuations of each text. After each token, the caches of the best ones are copied. A trap on a TPU,
    which copies them through VMEM only where the loop over layers needs more HBM.
    """
    layers, heads, words = 4, 8, 32000

    def layer(x: Any, weights: Any, old: Any, position: Any) -> tuple[Any, Any]:
        rows = {name: (x @ weights[name]).reshape(batch, count, heads, -1) for name in ("query", "keys", "values")}
        new = {
            name: lax.dynamic_update_slice(old[name], rows[name][:, :, None], (0, 0, position, 0, 0)) for name in old
        }
        scores = jnp.einsum("bche,bcthe->bcht", rows["query"], new["keys"])
        scores = jnp.where(jnp.arange(length) <= position, scores, -1e9)
        mixed = jnp.einsum("bcht,bcthe->bche", jax.nn.softmax(scores), new["values"])
        return x + mixed.reshape(x.shape) @ weights["out"], new

    def through_layers(params: Any, caches: Any, x: Any, position: Any) -> Any:
        def carried(state: Any, one: Any) -> Any:
            (x, caches), (weights, number) = state, one
            x, new = layer(x, weights, jax.tree.map(lambda array: array[number], caches), position)
            return (
                x,
                {name: lax.dynamic_update_index_in_dim(caches[name], new[name], number, 0) for name in new},
            ), None

        if is_changed:
            return lax.scan(carried, (x, caches), (params, jnp.arange(layers)))[0]
        return lax.scan(lambda x, one: layer(x, one[0], one[1], position), x, (params, caches))

    def search(params: Any, first: Any) -> Any:
        def step(state: Any, position: Any) -> Any:
            caches, scores, words_before = state
            x, caches = through_layers(params["layers"], caches, params["table"][words_before], position)
            totals = scores[..., None] + jax.nn.log_softmax(x @ params["table"].T)
            best, numbers = lax.top_k(totals.reshape(batch, -1), count)
            parents = (numbers // words)[None, :, :, None, None, None]
            caches = jax.tree.map(lambda array: jnp.take_along_axis(array, parents, 2), caches)
            return (caches, best, numbers % words), numbers

        empty = jnp.zeros((layers, batch, count, length, heads, width // heads))
        state = (
            {"keys": empty, "values": empty},
            jnp.zeros((batch, count)),
            jnp.broadcast_to(first[:, None], (batch, count)),
        )
        return lax.scan(step, state, jnp.arange(length))[1]

    weights = {name: of(layers, width, width) for name in ("query", "keys", "values", "out")}
    return search, ({"table": of(words, width), "layers": weights}, of(batch, dtype=jnp.int32)), ()


def adam_layers(_: bool) -> Compiled:
    """A trap: several instructions read each slice. Written over in place, all of each array is copied first."""

    def update(_: Any, one: Any) -> Any:
        weights, mean, square, gradients = one
        mean, square = 0.9 * mean + 0.1 * gradients, 0.99 * square + 0.01 * gradients * gradients
        return None, (weights - 1e-3 * mean / (jnp.sqrt(square) + 1e-8), mean, square)

    def step(params: Any, mean: Any, square: Any, gradients: Any) -> Any:
        return lax.scan(update, None, (params, mean, square, gradients))[1]

    return step, (of(16, 2048, 1024),) * 4, (0, 1, 2)


def decode_and_keep(_: bool) -> Compiled:
    """A trap: the old caches are returned, too."""

    def step(params: Any, cache: Any, x: Any, position: Any) -> Any:
        return next_token(False, params, cache, x, position), jax.tree.map(lambda array: array * 2, cache)

    return step, (*decoding(FULL), of(dtype=jnp.int32)), ()


def trained_through(_: bool) -> Compiled:
    """A trap: a loop that is differentiated saves what it carries in each iteration."""

    def loss(state: Any, x: Any) -> Any:
        x, new = lax.scan(lambda x, old: (jnp.tanh(x + old.sum(0)), jnp.tanh(old * x)), x, jnp.sin(state))
        return (new**2).sum() + x.sum()

    return jax.grad(loss), (of(32, 1024, 1024), of(1024)), ()


# ---------------------------------------------------------------- outputs of loops


def cell(weights: Any, h: Any, x: Any) -> Any:
    return jnp.tanh(h @ weights["h"] + x @ weights["x"])


RECURRENT = {"h": of(512, 512), "x": of(64, 512)}, of(512, 256, 64)


def recurrent_last(is_changed: bool) -> Compiled:
    """A recurrent net of whose states the last one is read."""

    def f(weights: Any, xs: Any) -> Any:
        begin = jnp.zeros((256, 512))
        if is_changed:
            return lax.scan(lambda h, x: (cell(weights, h, x), None), begin, xs)[0] @ weights["h"]
        return lax.scan(lambda h, x: (cell(weights, h, x),) * 2, begin, xs)[1][-1] @ weights["h"]

    return f, RECURRENT, ()


def recurrent_mean(is_changed: bool) -> Compiled:
    """A recurrent net of whose states the mean is read."""

    def f(weights: Any, xs: Any) -> Any:
        begin = jnp.zeros((256, 512))

        def summed(state: Any, x: Any) -> Any:
            h = cell(weights, state[0], x)
            return (h, state[1] + h), None

        if is_changed:
            return lax.scan(summed, (begin, begin), xs)[0][1] / len(xs) @ weights["h"]
        return lax.scan(lambda h, x: (cell(weights, h, x),) * 2, begin, xs)[1].mean(0) @ weights["h"]

    return f, RECURRENT, ()


def chain_energies(is_changed: bool) -> Compiled:
    """A chain of samples of which only the energies are read."""

    def f(key: Any, x: Any) -> Any:
        def step(x: Any, key: Any) -> Any:
            other = x + 0.1 * jax.random.normal(key, x.shape)
            x = jnp.where(jnp.sum(other * other) < jnp.sum(x * x) + 1, other, x)
            return x, jnp.sum(x * x) if is_changed else x

        found = lax.scan(step, x, jax.random.split(key, 2000))[1]
        return found if is_changed else (found**2).sum(-1)

    return f, (of(2, dtype=jnp.uint32), of(65536)), ()


def loops_summed(is_changed: bool) -> Compiled:
    """Loops one after another, of each of which the sums are read."""

    def f(x: Any) -> Any:
        for _ in range(4):
            if is_changed:
                x, sums = lax.scan(lambda x, y: (x + y, jnp.sum(x + y)), x, jnp.ones(4000))
            else:
                x, found = lax.scan(lambda x, y: (x + y, x + y), x, jnp.ones(4000))
                sums = jnp.sum(found, axis=-1)
            x = x + sums
        return x

    return f, (of(4000),), ()


def paths(is_changed: bool, count: int = 1 << 18, steps: int = 64) -> Compiled:
    """The price of an option by the means along random paths. The paths are as large as the noise that they are made
    from, and no new version of it.
    """

    def f(key: Any, price: Any) -> Any:
        def step(carry: Any, noise: Any) -> Any:
            price, total = carry
            price = price * jnp.exp(0.02 * noise - 0.0002)
            return (price, total + price) if is_changed else (price, total), None if is_changed else price

        noise = jax.random.normal(key, (steps, count))
        (_, total), found = lax.scan(step, (jnp.full(count, price), jnp.zeros(count)), noise)
        return jnp.mean(jnp.maximum((total / steps if is_changed else found.mean(0)) - price, 0))

    return f, (of(2, dtype=jnp.uint32), of()), ()


def recurrent_pairs(_: bool) -> Compiled:
    """A trap: each state is compared with all others."""

    def f(weights: Any, xs: Any) -> Any:
        states = lax.scan(lambda h, x: (cell(weights, h, x),) * 2, jnp.zeros((256, 512)), xs)[1]
        return jnp.einsum("tbd,sbd->bts", states, states).sum(-1)

    return f, RECURRENT, ()


def recurrent_spread(_: bool) -> Compiled:
    """A trap: the spread needs the mean of all states first."""

    def f(weights: Any, xs: Any) -> Any:
        states = lax.scan(lambda h, x: (cell(weights, h, x),) * 2, jnp.zeros((256, 512)), xs)[1]
        return jnp.max(jnp.abs(states - jnp.median(states, 0)), 0)

    return f, RECURRENT, ()


# ---------------------------------------------------------------- unrolled loops


def similarities(is_changed: bool) -> Compiled:
    """The best match of each query, some queries at a time."""

    def best(queries: Any, keys: Any) -> Any:
        return jax.nn.softmax(queries @ keys.T, -1).max(-1)

    def f(queries: Any, keys: Any) -> Any:
        if is_changed:
            return lax.map(partial(best, keys=keys), queries.reshape(16, 512, 64))
        return jnp.stack([best(queries[512 * part : 512 * part + 512], keys) for part in range(16)])

    return f, (of(8192, 64), of(8192, 64)), ()


def propagated(is_changed: bool) -> Compiled:
    """A wave at several times, whose amplitudes are summed."""

    def amplitude(x: Any, time: Any) -> Any:
        return jnp.abs(jnp.fft.ifft2(jnp.fft.fft2(x) * jnp.exp(-1j * time)))

    def f(x: Any) -> Any:
        if is_changed:
            return lax.fori_loop(0, 12, lambda time, total: total + amplitude(x, time / 11), jnp.zeros_like(x))
        return sum(amplitude(x, time / 11) for time in range(12))

    return f, (of(2048, 2048),), ()


def kernels(is_changed: bool) -> Compiled:
    """The norms of a kernel with several widths."""

    def f(x: Any, y: Any, widths: Any) -> Any:
        squares = ((x[:, None] - y[None]) ** 2).sum(-1)

        def norm(width: Any) -> Any:
            return jnp.linalg.norm(jnp.exp(-squares / width) @ jnp.ones(len(y)))

        return lax.map(norm, widths) if is_changed else jnp.stack([norm(widths[part]) for part in range(8)])

    return f, (of(4096, 8), of(4096, 8), of(8)), ()


def ensemble(is_changed: bool) -> Compiled:
    """The mean of what several models predict."""

    def predicted(weights: Any, x: Any) -> Any:
        return jax.nn.softmax(jax.nn.relu(x @ weights["up"]) @ weights["down"])

    def f(models: Any, x: Any) -> Any:
        if is_changed:
            total = jnp.zeros((8192, 1000))
            return lax.scan(lambda total, one: (total + predicted(one, x), None), total, models)[0] / 8
        return sum(predicted(one, x) for one in models) / 8

    weights = {"up": (512, 4096), "down": (4096, 1000)}
    if is_changed:
        return f, ({name: of(8, *shape) for name, shape in weights.items()}, of(8192, 512)), ()
    return f, ([{name: of(*shape) for name, shape in weights.items()}] * 8, of(8192, 512)), ()


def exposures(is_changed: bool) -> Compiled:
    """The mean of what a net predicts for each pixel of an image with several exposures."""

    def predicted(weights: Any, x: Any, exposure: Any) -> Any:
        return jax.nn.softmax(jax.nn.gelu((x * exposure) @ weights["up"]) @ weights["down"])

    def f(weights: Any, x: Any) -> Any:
        if is_changed:
            start = jnp.zeros((65536, 512))
            return lax.fori_loop(0, 6, lambda part, total: total + predicted(weights, x, part + 1.0), start) / 6
        return sum(predicted(weights, x, part + 1.0) for part in range(6)) / 6

    return f, ({"up": of(256, 1024), "down": of(1024, 512)}, of(65536, 256)), ()


def scales(is_changed: bool) -> Compiled:
    """The sum of normalized features at several scales."""

    def normalized(x: Any, weights: Any) -> Any:
        features = x @ weights
        return features * lax.rsqrt((features * features).mean(-1, keepdims=True) + 1e-6)

    def f(x: Any, weights: Any) -> Any:
        if is_changed:
            return lax.scan(lambda total, one: (total + normalized(x, one), None), jnp.zeros((16384, 2048)), weights)[0]
        return sum(normalized(x, weights[part]) for part in range(8))

    return f, (of(16384, 512), of(8, 512, 2048)), ()


def chunks(is_changed: bool) -> Compiled:
    """The sums of a net over chunks of a batch."""

    def total(weights: Any, x: Any) -> Any:
        return jnp.sin(jnp.cos(x @ weights) @ weights).sum(0)

    def f(weights: Any, xs: Any) -> Any:
        if is_changed:
            return lax.map(partial(total, weights), xs)
        return jnp.stack([total(weights, xs[part]) for part in range(16)])

    return f, (of(1024, 1024), of(16, 2048, 1024)), ()


def chained_layers(_: bool) -> Compiled:
    """A trap: each layer needs the one before, though a head reads each."""

    def f(x: Any, layers: Any, head: Any) -> Any:
        found = []
        for weights in layers:
            x = jnp.tanh(x @ weights)
            found.append(jnp.cos(x @ head).sum(-1))
        return x, jnp.stack(found)

    return f, (of(4096, 1024), [of(1024, 1024)] * 8, of(1024, 1024)), ()


def heads_of_columns(_: bool) -> Compiled:
    """A trap: a loop over the second dimension would copy all of the array first."""

    def f(query: Any, key: Any, value: Any) -> Any:
        weights = [jax.nn.softmax(query[:, head] @ key[:, head].T, -1) for head in range(16)]
        return jnp.stack([one @ value[:, head] for head, one in enumerate(weights)], 1)

    return f, (of(4096, 16, 64),) * 3, ()


def kept_results(_: bool) -> Compiled:
    """A trap: all results are returned."""

    def f(x: Any, weights: Any) -> Any:
        return [jnp.tanh(x @ weights[part]) for part in range(8)]

    return f, (of(8192, 1024), of(8, 1024, 1024)), ()


# ---------------------------------------------------------------- short dimensions on a TPU

POINTS = 1 << 20


def particles(is_changed: bool) -> Compiled:
    """Particles that are spread over the eight cells of a grid around them."""
    corners = jnp.array([[i, j, k, 0] for i in (0, 1) for j in (0, 1) for k in (0, 1)], FULL)

    def f(points: Any) -> Any:
        if is_changed:
            points = points.T
            cells = jnp.floor(points)[:, None, :] + corners.T[:, :, None]
            near, (i, j, k, _) = 1 - jnp.abs(points[:, None, :] - cells), cells.astype(jnp.int32)
            parts = near[0] * near[1] * near[2]
        else:
            cells = jnp.floor(points)[:, None, :] + corners
            near, index = 1 - jnp.abs(points[:, None, :] - cells), cells.astype(jnp.int32)
            i, j, k = index[..., 0], index[..., 1], index[..., 2]
            parts = near[..., 0] * near[..., 1] * near[..., 2]
        flat = (i * 128 + j) * 128 + k
        return jnp.zeros(128**3).at[flat.reshape(-1)].add(parts.reshape(-1))

    return f, (of(POINTS, 4),), ()


def neighbors(is_changed: bool) -> Compiled:
    """Forces between points and their neighbors."""

    def f(points: Any, near: Any) -> Any:
        if is_changed:
            near = near.T
            far = jnp.stack([points[:, axis][near] - points[:, axis] for axis in range(3)])
            squares = jnp.sum(far * far, 0) + 1e-3
            return jnp.sum(far * (squares**-7 - squares**-4), 1).T
        far = points[near] - points[:, None, :]
        squares = jnp.sum(far * far, -1) + 1e-3
        return jnp.sum(far * (squares**-7 - squares**-4)[..., None], 1)

    return f, (of(1 << 17, 3), of(1 << 17, 32, dtype=jnp.int32)), ()


def edges(is_changed: bool) -> Compiled:
    """Messages along the edges of a graph, summed at the nodes."""

    def f(nodes: Any, senders: Any, receivers: Any, weights: Any) -> Any:
        total = partial(jax.ops.segment_sum, segment_ids=receivers, num_segments=len(nodes))
        if is_changed:
            columns = range(nodes.shape[1])
            found = jnp.stack([jnp.tanh(nodes[:, one][senders] - nodes[:, one][receivers]) for one in columns])
            found = jnp.tanh(weights.T @ found)
            return jnp.stack([total(found[one]) for one in columns], 1)
        return total(jnp.tanh(jnp.tanh(nodes[senders] - nodes[receivers]) @ weights))

    indices = of(1 << 21, dtype=jnp.int32)
    return f, (of(1 << 17, 8), indices, indices, of(8, 8)), ()


def matrices(is_changed: bool) -> Compiled:
    """Products of many small matrices."""

    def f(a: Any, b: Any) -> Any:
        if is_changed:

            def product(a: Any, b: Any) -> Any:
                return jnp.sum(a[:, :, None] * b[None], 1)

            a, b = jnp.moveaxis(a, 0, -1), jnp.moveaxis(b, 0, -1)
            return jnp.moveaxis(product(jnp.tanh(product(a, b)), a), -1, 0)
        return jnp.tanh(a @ b) @ a

    return f, (of(POINTS, 3, 3), of(POINTS, 3, 3)), ()


def scattered(is_changed: bool) -> Compiled:
    """Vectors that are summed in the cells of a grid."""

    def f(vectors: Any, cells: Any) -> Any:
        squares = jnp.sum(vectors * vectors, -1)
        if is_changed:
            columns = [*vectors.T, squares]
            sums = [jnp.zeros(64**3).at[cells].add(column) for column in columns]
            return jnp.stack([column / (sums[3] + 1) for column in sums[:3]], -1)
        sums = jnp.zeros((64**3, 4)).at[cells].add(jnp.concatenate([vectors, squares[:, None]], -1))
        return sums[:, :3] / (sums[:, 3:] + 1)

    return f, (of(POINTS, 3), of(POINTS, dtype=jnp.int32)), ()


def rows_from_flat(_: bool) -> Compiled:
    """A trap: the elements come row by row, so that XLA pads them to change their order."""

    def f(x: Any) -> Any:
        rows = x.reshape(-1, 8, 3)
        return jnp.tanh(jnp.einsum("nki,nkj->nij", rows, rows)).reshape(-1)

    return f, (of((1 << 18) * 24),), ()


def factors(_: bool) -> Compiled:
    """A trap: a decomposition of small matrices has a layout of its own."""
    return jnp.linalg.cholesky, (of(1 << 18, 4, 4),), ()


def wide_rows(_: bool) -> Compiled:
    """A trap: the rows of a table have too many columns to gather one by one."""

    def f(table: Any, indices: Any, weights: Any) -> Any:
        return jax.nn.relu(table[indices] @ weights)

    return f, (of(100000, 64), of(POINTS, dtype=jnp.int32), of(64, 64)), ()


def joined_rows(_: bool) -> Compiled:
    """A trap: rows are joined in this order."""

    def f(x: Any, v: Any, m: Any) -> Any:
        return jnp.concatenate([x, v, m[:, None]], -1).reshape(-1)[:POINTS].cumsum()

    return f, (of(POINTS, 3), of(POINTS, 3), of(POINTS)), ()


ALL, CPU, TPU = ("cpu", "tpu", "gpu"), ("cpu",), ("tpu",)

# ---------------------------------------------------------------- batches


def in_parts(is_changed: bool, function: Callable[..., Any], *batch: Any) -> Any:
    """What a function computes of a batch: at once, or of eighths one after another."""
    if not is_changed:
        return function(*batch)
    parts = lax.map(lambda part: function(*part), tuple(array.reshape(8, -1, *array.shape[1:]) for array in batch))
    return jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:]), parts)


def nearest(is_changed: bool, queries: int = 2048, points: int = 32768) -> Compiled:
    """The nearest points of each query."""

    def search(queries: Any, points: Any) -> Any:
        def near(queries: Any) -> Any:
            distances = (queries**2).sum(1)[:, None] - 2 * queries @ points.T + (points**2).sum(1)
            return lax.top_k(-distances, 10)

        return in_parts(is_changed, near, queries)

    return search, (of(queries, 64), of(points, 64)), ()


def judged(is_changed: bool, batch: int = 16384, width: int = 1024) -> Compiled:
    """The mean loss of a net on a batch, without its gradient."""

    def f(params: Any, x: Any, labels: Any) -> Any:
        def losses(x: Any, labels: Any) -> Any:
            logits = jax.nn.gelu(x @ params[0]) @ params[1]
            picked = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
            return jax.nn.logsumexp(logits, 1) - picked

        return in_parts(is_changed, losses, x, labels).mean()

    return f, ([of(256, 4 * width), of(4 * width, width)], of(batch, 256), of(batch, dtype=jnp.int32)), ()


def spread(is_changed: bool, steps: int = 128, points: int = 16384, width: int = 16) -> Compiled:
    """Points that move. The deviation of those of each step is computed from their mean."""

    def f(x: Any, move: Any) -> Any:
        def body(x: Any, _: Any) -> Any:
            x = jnp.tanh(x @ move)
            return x, (x.mean(0), x.std(0)) if is_changed else x

        xs = lax.scan(body, x, None, length=steps)[1]
        return xs if is_changed else (xs.mean(1), xs.std(1))

    return f, (of(points, width), of(width, width)), ()


def deviations(_: bool, batch: int = 16384, width: int = 1024) -> Compiled:
    """A trap: the variance of what a net computes of a batch needs the mean first."""

    def f(params: Any, x: Any) -> Any:
        y = jax.nn.gelu(x @ params[0]) @ params[1]
        return jnp.mean((y - y.mean(0)) ** 2)

    return f, ([of(256, 4 * width), of(4 * width, width)], of(batch, 256)), ()


def rays(is_changed: bool, count: int = 16384, samples: int = 32, width: int = 128) -> Compiled:
    """The colors along rays, as a radiance field has them."""

    def render(params: Any, origins: Any, directions: Any) -> Any:
        def colors(origins: Any, directions: Any) -> Any:
            x = origins[:, None] + directions[:, None] * jnp.linspace(0, 1, samples)[:, None]
            x = jnp.concatenate([jnp.sin(x), jnp.cos(x)], -1)
            for weights in params[:-1]:
                x = jax.nn.relu(x @ weights)
            x = x @ params[-1]
            opacity = 1 - jnp.exp(-jax.nn.relu(x[..., 3]) / samples)
            return (opacity[..., None] * jax.nn.sigmoid(x[..., :3])).sum(1)

        return in_parts(is_changed, colors, origins, directions)

    params = [of(6, width), of(width, width), of(width, width), of(width, 4)]
    return render, (params, of(count, 3), of(count, 3)), ()


def trained_models(is_changed: bool, models: int = 16, batch: int = 8192) -> Compiled:
    """Models that are trained side by side, each with a batch of its own."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        for weights in params:
            x = jax.nn.swish(x @ weights)
        return jnp.mean((x - y) ** 2)

    def trained(params: Any, moments: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradients)
        return jax.tree.map(lambda p, m: p - 1e-3 * m, params, moments), moments, value

    def step(params: Any, moments: Any, x: Any, y: Any) -> Any:
        if is_changed:
            return lax.map(lambda one: trained(*one), (params, moments, x, y), batch_size=2)
        return jax.vmap(trained)(params, moments, x, y)

    params = [of(models, 32, 256), of(models, 256, 256), of(models, 256, 256), of(models, 256, 8)]
    return step, (params, params, of(models, batch, 32), of(models, batch, 8)), (0, 1)


CASES: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "decode_layers": ("loop-state", decode_layers, ALL),
    "decode_without_donation": ("loop-state", partial(decode_layers, is_donated=False), ALL),
    "generate": ("loop-state", generate, ALL),
    "generate_full": ("loop-state", partial(generate, dtype=FULL), ALL),
    "recurrent_layers": ("loop-state", recurrent_layers, ALL),
    "relaxed_blocks": ("loop-state", relaxed_blocks, ALL),
    "beams": ("loop-state", beams, CPU),
    "spread": ("loop-outputs", spread, ALL),
    "recurrent_last": ("loop-outputs", recurrent_last, ALL),
    "recurrent_mean": ("loop-outputs", recurrent_mean, ALL),
    "chain_energies": ("loop-outputs", chain_energies, ALL),
    "paths": ("loop-outputs", paths, ALL),
    "loops_summed": ("loop-outputs", loops_summed, ALL),
    "similarities": ("unrolled-loop", similarities, ALL),
    "propagated": ("unrolled-loop", propagated, CPU),
    "kernels": ("unrolled-loop", kernels, ALL),
    "ensemble": ("unrolled-loop", ensemble, ALL),
    "exposures": ("unrolled-loop", exposures, ALL),
    "scales": ("unrolled-loop", scales, ALL),
    "chunks": ("unrolled-loop", chunks, ALL),
    "nearest": ("mapped-batch", nearest, CPU),
    "rays": ("mapped-batch", rays, ALL),
    "judged": ("mapped-batch", judged, ALL),
    "trained_models": ("mapped-batch", trained_models, ALL),
    "particles": ("padded-dimension", particles, TPU),
    "neighbors": ("padded-dimension", neighbors, TPU),
    "edges": ("padded-dimension", edges, TPU),
    "matrices": ("padded-dimension", matrices, TPU),
    "scattered": ("padded-dimension", scattered, TPU),
}
"""What advises a change, the program, and where it is compiled."""

TRAPS: dict[str, tuple[str, Callable[[bool], Compiled], tuple[str, ...]]] = {
    "decode_and_keep": ("loop-state", decode_and_keep, ALL),
    "beams_in_vmem": ("loop-state", beams, TPU),
    "adam_layers": ("loop-state", adam_layers, ALL),
    "trained_through": ("loop-state", trained_through, ALL),
    "recurrent_pairs": ("loop-outputs", recurrent_pairs, ALL),
    "recurrent_spread": ("loop-outputs", recurrent_spread, ALL),
    "chained_layers": ("unrolled-loop", chained_layers, ALL),
    "heads_of_columns": ("unrolled-loop", heads_of_columns, ALL),
    "kept_results": ("unrolled-loop", kept_results, ALL),
    "deviations": ("mapped-batch", deviations, ALL),
    "rows_from_flat": ("padded-dimension", rows_from_flat, TPU),
    "factors": ("padded-dimension", factors, TPU),
    "wide_rows": ("padded-dimension", wide_rows, TPU),
    "joined_rows": ("padded-dimension", joined_rows, TPU),
}
"""What must not be advised, the program, and where it is compiled."""
