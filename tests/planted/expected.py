"""What a comparison must say of each pair of programs in its first three lines, written down before it was first run.

Each text has to occur in one of these lines. The bytes follow from the shapes: f32[1024,64] has 256 KiB.

After the first run, four texts were corrected: the peak of `wider_type` also has the 4 KiB of its output, XLA has three
buffers of `unrolled` where one was expected, "(0 before)" is in another place of the sentence, and XLA writes no flag
that is at its default. The programs of `donation_*` and `fusion_split` were replaced, because XLA's peak did not
change. All other differences were defects of the comparison.
"""

EXPECTED: dict[str, tuple[str, ...]] = {
    # A layer keeps two activations for the backward pass, and its input.
    "one_more_layer": ("more × f32[1024,64]", "tanh", "programs.py"),
    "one_layer_less": ("fewer × f32[1024,64]", "tanh", "programs.py"),
    # 4096 × 64 elements of 2 and of 4 bytes.
    "wider_type": ("516.1 KiB → 1.00 MiB", "Type: 1 value at the peaks changed from f16 → f32: +512.0 KiB"),
    # f32[512,512] has 1 MiB.
    "donation_removed": ("+1.00 MiB", "Donation: 1 parameter with 1.00 MiB no longer donated"),
    "donation_added": ("−1.00 MiB", "Donation: 1 parameter with 1.00 MiB newly donated"),
    # The row is written into the parameter, or else into a copy of it.
    "donation_replaced_by_copy": (
        "+1.00 MiB",
        "Donation: 1 parameter with 1.00 MiB no longer donated, copied by copy",
    ),
    "checkpoint_added": ("Checkpointing: jax.checkpoint computes", "(0 before) again", "fewer × f32[1024,64]"),
    # Both policies compute something again, the new one also the products.
    "other_policy": ("Checkpointing: jax.checkpoint computes", "fewer × f32[1024,64]"),
    "batch_doubled": ("Shape: ", "512 → 1024"),
    "longer_sequence": ("Shape: ", "128 → 256"),
    "wider_layers": ("Shape: ", "64 → 128"),
    # 262,144 elements of 4 bytes; the input is not donated.
    "sort_inserted": ("1 more × f32[262144]", "sort", "programs.py"),
    # The loop stacks what the layers keep.
    "unrolled": ("fewer × f32[8,1024,64]", "more × f32[1024,64]"),
    "output_added": ("Outputs: 1 more with 256.0 KiB",),
    "constant_baked_in": ("1 more × f32[256,256], constant",),
    "fusion_split": ("1 more × f32[512,512]", "Fusion: ", "sin"),
    "other_flags": ("Flags: xla_backend_optimization_level default → 0",),
}
