"""Programs in other styles than those of the other tests: `programs/` has the dumps, small and compressed.

- `nearest`, `paths`, `judged`, `deviations`, `spread`, `recurrent_spread`, `beams_in_vmem`, `trained_models`,
  `decode_without_donation` and `decode_and_keep` are of `proving/forward.py`.
- `clustered_by_products`, `convolved`, `values_first`, `masked_layers`, `pulled`, `twins`, `physics`,
  `baseline`, `history` and `memory_bank` are of `proving/parts.py`.
- `blocks`, `residuals`, `residuals_of_few_words`, `triplets`, `views`, `crops`, `learned_rates`, `selective` and
  `experts_two` are of `proving/compared.py`.
- `checkpointed`, `wrapped`, `adversarial`, `strided`, `translation`, `sharpness`, `private`, `linked`,
  `private_sequences`, `with_policy`, `denoised`, `smoothed`, `every_fourth`, `keyed`, `with_rate`, `plain_net`,
  `balanced`, `advantages` and `adapted` are of `proving/traps.py`.
- `adapters_of_frozen_layers`, `skips_in_images`, `one_hot_labels`, `cached_decoding` and `mixed_up` are `adapters`,
  `skips`, `one_hot_labels`, `cached` and `mixed_up` of `proving/parts.py`, and `experts_in_scanned_layers` and
  `message_layers` are `experts_scanned` and `message_layers` of `proving/compared.py`.
- `recommended_by_tables`: a step of Adagrad for four tables of embeddings and a net of clicks, for a TPU.
- `states`: the step of a module of Flax NNX with dropout, which also has counts and keys of random numbers.
- `agreement`: a step of a recurrent net of Haiku for what people hear in speech.
- `accumulated`: a step that adds gradients to those of others.
- `adapters_in_parts`: a step of LoRA in four parts, for 4 TPUs.
- `as_wide`: a step of attention whose layers in between have as many elements as its scores.
- `averaged_clients`: federated learning, where each of 64 clients trains weights for 8 steps.
- `centred`: a step of two encoders by what kernels of their outputs have in common, less the means of rows and columns.
- `chains`: Markov chains that `jax.vmap` maps over, with their mean and their ends.
- `codebook`: a step of a model with a table of codes, which are means of what it makes of the batch.
- `coils`: a step for one image of eight coils, whose sum goes through a net.
- `compared_queries`: attention whose weights are a softmax over the queries.
- `cells`: a step of an LSTM for a part of long sequences, whose states are a tuple.
- `consensus`: simulations of 64 fields that each iteration moves towards their mean.
- `convolved_plainly`: a step of SGD for four convolutions, whose weights are most of the memory.
- `coverage`: attention whose scores have what all queries before have looked at.
- `degrees`: a step whose similarities are divided by their sums along rows and columns.
- `dual_averaging` and `importance`: a step by the sum of all gradients, and one with a mean of their squares.
- `dequantized`: layers, one after the other, whose weights are integers.
- `dropped`: a step with attention whose weights have a dropout.
- `gates`: the gradient of the mean of a quantum circuit, whose layers are in a loop, each with several gates.
- `gathered_table`: a step of SGD for 8 devices that gather each weight, with as many words as a layer is wide.
- `halves`: three layers in bfloat16 for a batch of 48 sequences of 50 words.
- `evaluated` and `scored`: the loss of a language model without gradients, and its logits.
- `hazards`: a step of a net of Flax whose layers are the lines of a loop, for a TPU.
- `heated`: the gradient of 256 steps of a simulation, for a TPU.
- `images`: three convolutions of 128 images, for a TPU.
- `inducing`: a step of a Gaussian process with inducing points.
- `in_line`: a step for two batches through a net whose layers are the lines of a loop, for a TPU.
- `judged_answers`: a step that prefers chosen answers to rejected ones, beside a frozen model, for a TPU.
- `labelled`: a step for a small batch with labels and two larger ones without, which go through a net together.
- `lone_sequence`: a step on a batch of one sequence, for whose products XLA keeps no op_names.
- `neighbors_by_gather`: molecular dynamics with lists of neighbors, for a TPU.
- `sparse_codes`: a step of a sparse autoencoder that keeps the 32 greatest of 8,192 numbers, for a TPU.
- `squares`: a step that divides by the roots of a mean of squares of gradients, which is called `m`.
- `transported_by_steps`: the gradient of ten iterations of Sinkhorn.
- `observed_over_time`: a step of a differential equation, whose observations have the time before the examples.
- `one_sequence`: a step for a sequence whose elements see the one four places on.
- `over_time`: a simulation that returns the deviation of its steps.
- `prefixed`: attention to a learned prefix and the words.
- `prioritized`: a step of Q-learning that returns an error for each example.
- `patches`: a step of a net that cuts images into patches with a convolution, for a TPU.
- `relative`: attention of Transformer-XL, whose scores of relative positions are shifted.
- `rolled_scores`: a step with attention whose scores of each query are averaged with those of the query before.
- `standardized_logits`: a step of a language model whose logits are divided by the deviation of all of them.
- `centred_squares`: a step of RMSProp that divides by the deviation of the gradients.
- `posterior_mean`: a step that updates the mean and the precision of a distribution of weights.
- `several_models` and `coupled_models`: steps for models with the same examples; the latter have a mean in common.
- `particles`: a step of a simulation of particles that attract each other.
- `averaged_words`: a step for images and texts, whose words are averaged before a net compares them.
- `perturbed`: a step for examples that are moved along the gradient of their mean loss.
- `replicas`: local steps of eight replicas, whose weights are averaged after them.
- `rows_of_codes`: a step of a decoder that learns a code of each example.
- `quantized`: a step of a net of convolutions whose factors are quantized, with derivatives of its own, for a TPU.
- `reference_in_state` and `data_parallel`: steps of transformers, for 4 TPUs and for 8 devices of a CPU.
- `second_derivatives`: a step of Levenberg and Marquardt.
- `shifted_cache`: a step of decoding whose caches are shifted by a token, for a TPU.
- `replay`: a step for a batch whose examples have weights, divided by the greatest of these.
- `sequences`: a transformer that recommends the next of a sequence of items, for a TPU.
- `slow_weights`: a step of `optax.lookahead`, whose arguments are not donated.
- `truncated_in_time`: a step of a recurrent net for a part of long sequences.
- `stencil`: what is left of an equation, which has the shape of one of its sides.
- `sure`: a step of a language model whose loss has the entropy of the mean of all predictions.
- `target_net`: a net that predicts what a moving average of itself makes of another view, for a TPU.
- `looked_up`: a step of momentum for six tables of embeddings and a net, for a TPU. Four parts need 121 MiB more.
- `tokens_ahead`: a step of a language model that predicts three tokens.
- `old_weights`: a step that returns the weights from before it, too, for a TPU.
- `dice`: a step for images whose loss is a quotient of sums over all of them.
- `examples_last`: a step of a recurrent net for images whose last dimension is that of the examples.
- `exchanged`: a step on eight devices, each of which has a part of the table of words.
- `frames`: a step for films with time as the first dimension, over which attention goes.
- `drawn_samples`: the mean of what a net with dropout predicts with several keys.
- `carried_states`: a step of a recurrent net that continues from the state of the step before.
- `unused_features`: a step of a sparse autoencoder that counts for how long each feature has not been used.
- `updates_of_clients`: weighted means of what 16 clients changed in four weights.
- `valued`: a step of Adam without donation for a net of values.
- `volumes`: a step of Adam for a small U-Net for four volumes, for a TPU.
- `weighted_edges`: a step of a graph net with attention, for a TPU, which computes products for each edge as sums.
- `windows`: a step of Adam for two layers that attend within windows of images, for a TPU.
- `words_by_time`: a step of a recurrent net for an array of words whose first dimension is time.
- `unmarked`: a step of Adam for a net with GELU, with jaxlib 0.4.34.
- `transformed`: a scan over layers in a function that Haiku transforms.
"""

from pathlib import Path

import pytest

from samples import analysis_of, extracted, module_of
from xla_lens.advice.actions import Action, Advice, Cost
from xla_lens.advice.advise import advise
from xla_lens.blocks.blocks import plain_text


def _advice(program: str, folder: Path) -> Advice:
    path = extracted(program, folder)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    return advice


def _action(program: str, rule: str, folder: Path) -> Action:
    """The only action of a rule for a program."""
    (action,) = (action for action in _advice(program, folder).actions if action.rule == rule)
    return action


def _text(advice: Advice, rule: str) -> str:
    """What a rule advises, with its code; empty if it advises nothing."""
    actions = [action for action in advice.actions if action.rule == rule]
    return " ".join(f"{plain_text(action.what)} {action.snippet}" for action in actions)


@pytest.mark.parametrize(
    ("program", "rule", "text"),
    [
        # No `vmap`: the module shows that each result is computed from one row.
        ("nearest", "mapped-batch", "Map over 8 examples (queries) at a time instead of all"),
        # The mean loss is a sum over the examples.
        (
            "judged",
            "mapped-batch",
            "Map over 2,048 examples (x and labels) at a time instead of all, and compute the sums over",
        ),
        # The function is named though the loop around it stacks what it computes.
        ("selective", "rematerialize", "Wrap step"),
        # Points with a coordinate and a time have no features.
        ("physics", "microbatches", "Split the batch (t and x)"),
        (
            "physics",
            "microbatches",
            "microbatches)[0]  # before anything is computed from them; those of means over the batch are divided by 4",
        ),
        # The loss has the gradient of a mean with respect to the examples in it.
        ("perturbed", "microbatches", "means over the batch and gradients of means within the loss are divided by 4"),
        # Windows of images are tokens of their own, which a TPU copies in another order.
        ("windows", "microbatches", "Split the batch (batch[0] and batch[1])"),
        # The weights of the step before begin as the weights, which the program returns, too.
        ("old_weights", "donate", "Donate params and momentum (prev must not be params itself)"),
        # The function is mapped over keys: the examples are those of another argument.
        ("drawn_samples", "mapped-batch", "Map over 64 examples (x) at a time"),
        ("drawn_samples", "mapped-batch", "because other random numbers are drawn"),
        # The hidden state of each sequence comes in and goes out.
        ("carried_states", "microbatches", "Split the batch (x, y and state)"),
        # The module with the loop over the layers is the whole net, in whose loop XLA finds all products.
        ("hazards", "rematerialize", "Wrap the layers that contain /home/user/programs/fx16.py:12 in flax.linen.remat"),
        # The loop writes into buffers that it begins with.
        ("agreement", "rematerialize", "Wrap the step of the loop at /home/user/programs/b1.py:44 in haiku.remat"),
        # The step is computed from products of gradients of examples.
        (
            "second_derivatives",
            "microbatches",
            "add up their sums over the examples: gradients, and sums of products",
        ),
        # Each column of the solution of a triangular system is that of an example.
        ("inducing", "microbatches", "Split the batch (x and y)"),
        # There are more keys than queries, but both are words.
        ("tokens_ahead", "logits", "Compute logits and loss in 8 chunks in loss"),
        # Around each gate, it would keep what the gate gets.
        ("gates", "rematerialize", "Wrap layer (called at"),
        ("examples_last", "microbatches", "Split the batch (dimension 1 of b[1] and dimension 3 of b[0]) into 4"),
        # XLA divides what devices exchange by the number of the device, which is no part of the batch.
        ("exchanged", "microbatches", "Split the batch (t) into 2 microbatches"),
        ("frames", "microbatches", "Split the batch (dimension 1 of x and y) into 4 microbatches"),
        ("lone_sequence", "attention-scores", "Compute attention in blocks of queries in at"),
        ("prefixed", "attention-scores", "Compute attention in blocks of queries in at"),
        # A feature is used if a part of the batch uses it.
        ("unused_features", "microbatches", "add up their gradients, and compute since_used from all parts"),
        # One of the two states has the shape of the table of words.
        ("cells", "microbatches", "Split the batch (words, cell[0] and cell[1])"),
        # What is observed has the time first.
        ("observed_over_time", "microbatches", "Split the batch (start and dimension 1 of y)"),
        # The mean that the deviations of a step need is that of the step.
        ("spread", "loop-outputs", "Reduce or slice f32[128,16384,16]"),
        # The mean that is subtracted from the returns is that of a microbatch.
        (
            "baseline",
            "microbatches",
            "because sums over the batch, such as those of normalization, are those of a part",
        ),
        # Slow weights, which the fast ones are set back to, begin as these. Moments begin as zeros.
        ("slow_weights", "donate", "Donate params and state (params.slow must not be params.fast itself) "),
        # Each average of weights must be an array of its own.
        ("twins", "donate", "(average must not be critic itself, twin_average must not be twin itself) "),
        ("twins", "donate", "if twin_average begins as twin, let it be jax.tree.map(jnp.copy, twin)"),
        # A frozen model is returned with the state, and has the same arrays as the one that is trained.
        ("reference_in_state", "donate", "Donate state (state[1] must not be state[0] itself)"),
        # The state of a recurrent net is an argument and a result, with an element for each sequence.
        ("truncated_in_time", "microbatches", "gradients, and join what it returns for each example"),
        # Loops take over the bytes of two arguments, one after another: the dump does not contradict itself.
        ("adapters_in_parts", "rematerialize", "Wrap block (called at"),
        # Each device would compute all of a part that has only its own examples.
        ("data_parallel", "microbatches", "x.reshape(-1, 4, *x.shape[1:]).swapaxes(0, 1)"),
        # The helper returns what is saved: fusions of its caller read it.
        ("crops", "rematerialize", "Wrap block"),
        # `jax.checkpoint` does not know the parameters of Haiku, also where its functions are in no module.
        ("transformed", "rematerialize", "layer = haiku.remat(layer)"),
        # What the loop makes of noise is no new version of it.
        ("paths", "loop-outputs", "Reduce or slice f32[16,512]"),
        # The second model is differentiated with the first one as updated.
        ("adversarial", "microbatches", "gradients, one model after the other. This changes the numbers slightly"),
        ("adversarial", "microbatches", "because other random numbers are drawn"),
        # An average that keeps one half of an argument is its update.
        ("adversarial", "donate", "donate_argnames=('maker', 'judge', 'judge_state', 'maker_state')"),
        # `nnx.jit` returns all states of a module, also those that it does not change.
        ("states", "donate", "states = nnx.jit(states, donate_argnames=('model',))"),
        # Of each sequence, the first word is no target, and the last one no input.
        ("words_by_time", "logits", "Compute logits and loss in 8 chunks"),
        ("strided", "microbatches", "because sums over the batch, such as those of normalization, are those of"),
        (
            "translation",
            "microbatches",
            "Compute from all examples first what they are normalized by, such as a mean and a deviation",
        ),
        # Two tables and what computes the logits, each with two moments.
        ("translation", "logits", "Compute logits and loss in 8 chunks"),
        # In each iteration, the centres are complete. The next ones are sums over the points.
        (
            "clustered_by_products",
            "mapped-batch",
            "Compute f32[65536,1024] in sums_of (called at parts.py:71) for 8,192 examples at a time instead of all, "
            "and add up the sums sums, _ = jax.lax.scan(add_part",
        ),
        # Nothing that is differentiated reads what the values are computed from.
        ("values_first", "mapped-batch", "Compute f32[32768,1024] in value (called at parts.py:128) for 16 examples"),
        # The bits of each number of a mask are examples.
        ("masked_layers", "microbatches", "Split the batch (y and x) into 4 microbatches"),
        # Nothing mixes the models, which are trained side by side: each with examples of its own, or all with the same.
        ("trained_models", "mapped-batch", "Train 2 models at a time instead of all"),
        ("several_models", "mapped-batch", "Train 2 models at a time instead of all"),
        # A step returns the particles that it compares: 1.25 GiB less are measured.
        ("particles", "similarity", "Compare the examples in f32[8192,8192,3] in 8 chunks of rows"),
        # A second `jax.checkpoint` around the one that is there would save nothing.
        ("with_policy", "rematerialize", "Wrap layer (called at traps.py:797) in jax.checkpoint without the policy"),
        ("with_policy", "rematerialize", "jax.checkpoint(layer)  # not in addition to the one with a policy"),
        # A number for each example may be a bias, but no layer is as wide as the batch is long.
        (
            "advantages",
            "microbatches",
            "Compute from all examples first what they are normalized by, such as a mean and a deviation, a maximum or "
            "the number of targets: else the numbers change",
        ),
        # The layers are in a Python loop within a net, which is called once.
        ("plain_net", "rematerialize", "Wrap the layers that contain traps.py:861 in jax.checkpoint"),
        # All that matters is computed in layers, and all else in the loss around them. The module also has a call of
        # another function of this name.
        ("experts_two", "rematerialize", "Wrap layer of compared.py:179 (called at compared.py:190)"),
        # More than the new count depends on the count, which starts anew.
        ("every_fourth", "donate", "donate_argnames=('params', 'state'))"),
        # Beside the weights, the state has a key, which is drawn anew, and a rate, which stays as it is.
        ("keyed", "donate", "keyed = jax.jit(keyed, donate_argnames=('state',))"),
        # A rate that is not returned has the place of the loss.
        ("with_rate", "donate", "Donate state['params'][0]['down'], state['params'][1]['down']"),
        # The caches are arguments that are not donated: to carry them alone would save nothing.
        ("decode_without_donation", "loop-state", "and donate cache['keys'] and cache['values']"),
        # The new slices are shifted ones.
        ("shifted_cache", "loop-state", "and donate v and k"),
        # Each client trains weights of its own, and the result is their mean.
        ("averaged_clients", "microbatches", "add up their results"),
        ("dropped", "attention-scores", "because other random numbers are drawn"),
        # The views of the batch are larger than the weights, of which a TPU copies slices to VMEM.
        ("target_net", "donate", "Donate t, p and m (t must not be p itself)"),
        # XLA for CPUs rounds each sum to bfloat16.
        ("halves", "microbatches", "Split the batch (x and y)"),
        # The numbers of neighbors are padded, too, and XLA reshapes them.
        ("neighbors_by_gather", "padded-dimension", "Gather and scatter the 3 columns of f32[8388608,3]"),
        # Both stacks are made on one line, and are as large as what the loop of the backward pass adds up.
        ("transported_by_steps", "rematerialize", "Wrap it (called at"),
        # XLA for TPUs scatters the gradients of labels into one dimension. Two batches go through the model end to end.
        ("judged_answers", "microbatches", "Split the batch (b)"),
        # XLA for TPUs gathers 3,200 tokens with a padding to 4,096.
        ("sequences", "microbatches", "Split the batch (seq and nxt)"),
        # Logits take as much without gradients.
        ("evaluated", "logits", "results = jax.lax.map(results_of, chunks)  # of sequences, or of positions if no"),
        # The sums of all parts are added up before they become means.
        ("codebook", "microbatches", "add up their gradients and what they add to codes, sums and counts"),
        # Each part would be divided by its own maximum.
        # A model that does not learn has as many layers as the batch has examples.
        ("reference_of_layers", "microbatches", "Split the batch (rejected and chosen) into 4 microbatches"),
        # The nearest of each query are searched among all rows of a database.
        ("nearest_on_gpu", "mapped-batch", "Map over 2,500 examples (q) at a time"),
        ("replay", "microbatches", "Compute from all examples first what they are normalized by"),
        # A TPU convolves six images at a time, but only to cut them into patches.
        ("patches", "microbatches", "Split the batch (x and y) into 4 microbatches"),
        # All batches that go through the net together are split.
        ("labelled", "microbatches", "Split the batch (batch[0], batch[2], batch[3] and batch[1])"),
        # No function is a layer, and to wrap the net would save nothing.
        ("in_line", "rematerialize", "Wrap the layers that contain /home/user/programs/fx6.py:7 in jax.checkpoint"),
        # XLA sorts the rows of a gradient of tables together with what is computed from the labels: nothing is divided.
        (
            "recommended_by_tables",
            "microbatches",
            "Split the batch (dense, ids, hist and clicks) into 4 microbatches and add up their gradients gradients =",
        ),
        # The result is the batch plus something. Only the caller knows whether the batch is needed afterwards.
        ("denoised", "donate", "donate_argnames=('x',))  # if nothing uses x after the call"),
    ],
)
def test_advice(program: str, rule: str, text: str, tmp_path: Path) -> None:
    assert text in _text(_advice(program, tmp_path), rule)


@pytest.mark.parametrize(
    ("program", "rule"),
    [
        ("checkpointed", "rematerialize"),
        ("wrapped", "rematerialize"),
        ("sharpness", "microbatches"),
        # Around each layer, its inputs would be stored in place of what it computes.
        ("quantized", "rematerialize"),
        # A sequence has no examples: what is padded moves its elements.
        ("one_sequence", "microbatches"),
        # The rows of a field are no examples.
        ("fitted_field", "microbatches"),
        ("fitted_field", "encoded-batch"),
        # Where a shot is depends on its number.
        ("shots", "microbatches"),
        # Each replica has weights of its own.
        ("replicas", "microbatches"),
        # Each example trains a row of a table.
        ("rows_of_codes", "microbatches"),
        # The scores of a query need those of all queries before.
        ("coverage", "attention-scores"),
        # The shift moves scores of a query to others.
        ("relative", "attention-scores"),
        # Scores of a query are averaged with those of the query before.
        ("rolled_scores", "attention-scores"),
        # The logits of each token are divided by the deviation of all.
        ("standardized_logits", "logits"),
        # Whatever their names are, these need the precision.
        ("accumulated", "optimizer-state"),
        ("squares", "optimizer-state"),
        # The square of a mean is subtracted from a mean of squares: the difference is negative in bfloat16.
        ("centred_squares", "optimizer-state"),
        # Nothing is updated with it: it has the weights themselves.
        ("posterior_mean", "optimizer-state"),
        # The loss of each model depends on the mean of what all predict.
        ("coupled_models", "mapped-batch"),
        # The caches would be copied: their examples are the second dimension.
        ("cached_decoding", "mapped-batch"),
        # All examples have the mean of all in common, which `jax.lax.pmean` computes for `jax.vmap`.
        ("consensus", "mapped-batch"),
        # A loop over the weights of clients would copy them into one array first.
        ("updates_of_clients", "unrolled-loop"),
        # A net gets the sum over what look like examples.
        ("coils", "microbatches"),
        ("averaged_words", "microbatches"),
        # The layers that read the weights depend on each other.
        ("dequantized", "unrolled-loop"),
        # A quotient of sums over the batch is no sum of those of parts.
        ("dice", "microbatches"),
        ("sure", "microbatches"),
        # What is in the buffer of the result before needs another place.
        ("stencil", "donate"),
        # The weights of the classes depend on how often the batch has them.
        ("balanced", "microbatches"),
        ("paths", "loop-state"),
        # Edges look up the nodes of a graph, whose features are no logits.
        ("nodes_of_graph", "logits"),
        # The old caches are a part of the result, too.
        ("decode_and_keep", "loop-state"),
        # The gradients of layers below need the weights, so that XLA for CPUs copies them before it writes new ones.
        ("convolved_plainly", "donate"),
        # A TPU has the 128 images in the minor dimension, where 32 take as much.
        ("images", "microbatches"),
        # XLA chooses the order of the dimensions of products.
        ("windows", "padded-dimension"),
        # A TPU would hold padded copies of six tables, and of their gradients, while it takes the parts.
        ("looked_up", "microbatches"),
        # Each query needs what all others have of a key.
        ("compared_queries", "attention-scores"),
        # The mean of all chains is no weight.
        ("chains", "microbatches"),
        # A row of a kernel that is centred needs the means of all columns.
        ("centred", "similarity"),
        # Some rows of similarities need the sums of all others.
        ("degrees", "similarity"),
        # The program returns them.
        ("scored", "logits"),
        # A sum of all gradients grows, and means of squares need their precision.
        ("dual_averaging", "optimizer-state"),
        ("importance", "optimizer-state"),
        # The entropy of a mean is not the mean of those of parts.
        ("sure", "logits"),
        # A fusion computes the mean of all steps, and then the deviations from it.
        ("over_time", "loop-outputs"),
        # The variance of what is computed of the examples needs the mean first.
        ("deviations", "mapped-batch"),
        # No op_name tells what the step differentiates, as in old releases.
        ("unmarked", "mapped-batch"),
        # The batch are pairs of nodes of a graph that goes through the model as a whole.
        ("linked", "microbatches"),
        # An average of the weights has the name of a moment, but the new weights are not computed from it.
        ("smoothed", "optimizer-state"),
        # Each example has a gradient of the table, as large as the logits of sequences that are as long as it is wide.
        ("private_sequences", "logits"),
        # The gradient of the logarithm of a sum over all others.
        ("pulled", "microbatches"),
        # The deviations need the mean of all steps.
        ("recurrent_spread", "loop-outputs"),
        # XLA for CPUs copies what is shifted, and what is read after a part of it is written.
        ("history", "donate"),
        ("memory_bank", "donate"),
        # The net is computed within a derivative in the loss.
        ("adapted", "rematerialize"),
        # After the loop over layers, the caches are held twice as well. One of them is in VMEM.
        ("beams_in_vmem", "loop-state"),
    ],
)
def test_what_is_not_advised(program: str, rule: str, tmp_path: Path) -> None:
    advice = _advice(program, tmp_path)
    without = (
        "one_sequence",
        "relative",
        "replicas",
        "rows_of_codes",
        "balanced",
        "beams_in_vmem",
        "centred_squares",
        "coils",
        "convolved_plainly",
        "decode_and_keep",
        "degrees",
        "dequantized",
        "deviations",
        "dice",
        "dual_averaging",
        "history",
        "images",
        "importance",
        "linked",
        "looked_up",
        "over_time",
        "posterior_mean",
        "pulled",
        "recurrent_spread",
        "scored",
        "sharpness",
        "shots",
        "smoothed",
        "stencil",
        "sure",
        "unmarked",
        "updates_of_clients",
    )
    assert advice.actions or program in without
    assert not _text(advice, rule)


def test_noise_on_the_gradients_does_not_depend_on_the_batch(tmp_path: Path) -> None:
    text = _text(_advice("private", tmp_path), "microbatches")
    assert "Split the batch (x and y) into 4 microbatches and add up their sums over the examples. " in text
    assert (
        "such as clipping, stays before these sums, and what is done to the sums, such as adding noise, comes once"
        in text
    )
    assert "random" not in text


def test_a_wrapped_step_still_saves_what_the_loop_carries(tmp_path: Path) -> None:
    """Of three stacks of 256 KiB on one line, one has the state at the start of each step."""
    action = _action("selective", "rematerialize", tmp_path)
    assert action.saved_needed_bytes // 1024 == 608


def test_no_policy_is_offered_that_keeps_all_that_is_kept(tmp_path: Path) -> None:
    action = _action("with_policy", "rematerialize", tmp_path)
    assert action.policy is None


def test_blocks_of_attention_draw_their_own_random_numbers(tmp_path: Path) -> None:
    """The changed program needs 19 MiB less, of which only 8 are scores. The rest are random bits and masks."""
    action = _action("dropped", "attention-scores", tmp_path)
    assert action.saved_needed_bytes >> 20 == 21


def test_logits_in_one_dimension_are_logits(tmp_path: Path) -> None:
    """The changed program needs 576 MiB less, of which 256 are in `f32[67108864]`."""
    action = _action("judged_answers", "logits", tmp_path)
    assert action.saved_needed_bytes >> 20 == 560


def test_what_a_loop_carries_in_vmem_stays_saved(tmp_path: Path) -> None:
    """Of six stacks of 256 MiB, one is left: the changed program needs 1,280 MiB less."""
    action = _action("heated", "rematerialize", tmp_path)
    assert action.saved_needed_bytes >> 20 == 1275


def test_models_that_are_trained_in_turn_are_held_twice(tmp_path: Path) -> None:
    """Of 324 MiB of values of 16 models, an eighth is left. The loop writes 17 MiB of weights and moments anew."""
    action = _action("trained_models", "mapped-batch", tmp_path)
    assert action.saved_needed_bytes >> 20 == 266


@pytest.mark.parametrize(("program", "saved_mib"), [("residuals", 512), ("blocks", 1280)])
def test_a_wrapped_layer_of_a_python_loop_still_saves_its_inputs(program: str, saved_mib: int, tmp_path: Path) -> None:
    """Four products of 128 MiB and no residuals of 64 MiB; ten products of 128 MiB and no results of layers."""
    action = _action(program, "rematerialize", tmp_path)
    assert action.saved_needed_bytes >> 20 == saved_mib


def test_parts_of_what_has_no_gradients_are_not_computed_again(tmp_path: Path) -> None:
    assert _action("evaluated", "logits", tmp_path).cost is Cost.TIME


def test_layers_in_the_loop_of_a_module_store_their_inputs(tmp_path: Path) -> None:
    """The changed program needs 160 MiB less. Of five layers, 32 MiB each are stored in place of 64."""
    action = _action("hazards", "rematerialize", tmp_path)
    assert round(action.saved_needed_bytes / 2**20) == 97


def test_masks_that_xla_adds_to_convolutions_are_no_inputs(tmp_path: Path) -> None:
    """The changed program needs 470 MiB less. The results of convolutions, masked where XLA pads them, are not kept."""
    action = _action("volumes", "rematerialize", tmp_path)
    assert round(action.saved_needed_bytes / 2**20) == 414


def test_what_a_product_becomes_is_not_taken_for_another_of_its_factors(tmp_path: Path) -> None:
    """The changed program needs 544 MiB less. XLA multiplies what is gathered for each edge with weights, and sums."""
    action = _action("weighted_edges", "rematerialize", tmp_path)
    assert round(action.saved_needed_bytes / 2**20) == 677


def test_a_wrapped_layer_stores_the_inputs_that_fusions_made_of_products(tmp_path: Path) -> None:
    """Of five products of 128 MiB, `jax.checkpoint` keeps in bf16 what `relu` makes of them."""
    action = _action("convolved", "rematerialize", tmp_path)
    assert round(action.saved_needed_bytes / 2**20) == 320


@pytest.mark.parametrize(("program", "saved_mib"), [("triplets", 512), ("views", 320), ("crops", 360)])
def test_a_wrapped_layer_of_a_net_for_several_batches_stores_its_inputs(
    program: str, saved_mib: int, tmp_path: Path
) -> None:
    """Measured: 643, 231 and 314 MiB. Of the twelve inputs that layers of three nets make for others, six are in no
    buffer. Those of two nets are read for products alone, so that they take half of what a product takes.
    """
    action = _action(program, "rematerialize", tmp_path)
    assert action.saved_needed_bytes >> 20 == saved_mib


def test_sums_of_gradients_take_the_buffers_of_outputs(tmp_path: Path) -> None:
    """Measured: 1.86 MiB. XLA for CPUs updates the weights of 2.25 MiB before the backward pass is done, and has the
    values of the forward pass in buffers of outputs.
    """
    action = _action("valued", "microbatches", tmp_path)
    assert round(action.saved_needed_bytes / 2**20, 2) == 1.69


def test_a_small_part_of_the_batch_is_not_donated(tmp_path: Path) -> None:
    """The rewards have the shape of the errors that the step returns."""
    actions = [action for action in _advice("prioritized", tmp_path).actions if str(action.rule) == "donate"]
    assert not any("reward" in plain_text(action.what) for action in actions)


def test_xla_sorts_the_places_of_what_a_scatter_replaces(tmp_path: Path) -> None:
    """Measured: 374 MiB. Libtpu sorts them without a name. 128 MiB of what the program needs are gaps."""
    action = _action("sparse_codes", "microbatches", tmp_path)
    assert round(action.saved_needed_bytes / 2**20) == 267


def test_gathered_tables_are_none_of_the_logits(tmp_path: Path) -> None:
    """Measured: 5.45 MiB. A table of 4,000 words and its gradient are as large as the logits of 256 positions."""
    action = _action("gathered_table", "logits", tmp_path)
    assert round(action.saved_needed_bytes / 2**20, 2) == 5.86


def test_each_step_of_a_loop_is_wrapped_around_the_derivative_in_it(tmp_path: Path) -> None:
    """Measured: 831 MiB."""
    action = _action("learned_rates", "rematerialize", tmp_path)
    assert plain_text(action.what).startswith("Wrap descend")
    assert action.saved_needed_bytes >> 20 == 845


def test_a_layer_as_wide_as_the_vocabulary_is_long_is_none_of_the_logits(tmp_path: Path) -> None:
    """Four products of the layers and the logits have the same dimensions, and take 128 MiB each."""
    saved = {
        str(action.rule): round(action.saved_needed_bytes / 2**20)
        for action in _advice("residuals_of_few_words", tmp_path).actions
    }
    assert (saved["logits"], saved["rematerialize"]) == (64, 448)


def test_a_layer_of_as_many_elements_as_scores_is_no_attention(tmp_path: Path) -> None:
    """Measured: 0.63 MiB. Layers of 256 positions and 256 features have as many elements as the scores of two heads."""
    action = _action("as_wide", "attention-scores", tmp_path)
    assert round(action.saved_needed_bytes / 2**20, 2) == 1.00


def test_both_caches_of_a_loop_are_carried(tmp_path: Path) -> None:
    """A TPU copies the new slice of one of them back from VMEM. The program then needed 640 MiB less."""
    action = _action("decoded_layers", "loop-state", tmp_path)
    assert action
    assert action.saved_needed_bytes == 512 << 20


def test_caches_that_a_beam_search_reorders_are_not_carried(tmp_path: Path) -> None:
    """Measured: 0. A TPU takes their rows as slices, and makes an array of them in any case."""
    assert "loop-state" not in {action.rule for action in _advice("reordered_caches", tmp_path).actions}


def test_examples_may_be_mixed_before_a_net_gets_them(tmp_path: Path) -> None:
    """The parts are of what mixup makes of all examples. Weights of classes by their counts are nothing like it."""
    (action,) = (each for each in _advice("mixed_up", tmp_path).actions if each.rule == "microbatches")
    assert plain_text(action.what).endswith(
        ". Compute first, of the whole batch, what depends on several examples, such as returns of rewards or what "
        "mixup makes, and split that"
    )
    assert "normalized" not in plain_text(action.what)


def test_frozen_layers_are_no_examples(tmp_path: Path) -> None:
    """Measured: 1,179 MiB. There are as many layers, whose adapters are trained, as sequences."""
    action = _action("adapters_of_frozen_layers", "microbatches", tmp_path)
    assert plain_text(action.what).startswith("Split the batch (wanted and words)")
    assert action.saved_needed_bytes >> 20 == 1205


def test_one_hot_arrays_of_all_layers_are_gone(tmp_path: Path) -> None:
    """Measured: 7,066 MiB. The loop over the layers stacks them for the backward pass."""
    action = _action("experts_in_scanned_layers", "one-hot", tmp_path)
    assert action.saved_needed_bytes >> 20 == 7015


@pytest.mark.parametrize(
    ("program", "rule", "actual_mib"),
    [
        # A TPU concatenates by padding, also dimensions without examples that a reshape has made of several.
        ("skips_in_images", "microbatches", 229),
        # The labels have their places in the sequence, which the logits behind a recurrent net have not.
        ("one_hot_labels", "logits", 249),
        ("mixed_up", "microbatches", 487),
        # A layer puts what it computes and what the layer before returns end to end.
        ("message_layers", "rematerialize", 665),
    ],
)
def test_savings_that_were_measured(program: str, rule: str, actual_mib: int, tmp_path: Path) -> None:
    action = _action(program, rule, tmp_path)
    assert actual_mib / 1.5 <= action.saved_needed_bytes / 2**20 <= actual_mib * 1.5
