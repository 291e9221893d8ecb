"""The names of the rules that find actions. Imports nothing of the model, so that the command line can list them."""

from enum import StrEnum


class Rule(StrEnum):
    """A rule that finds actions. `xla-lens explain RULE` explains it."""

    DONATE = "donate"
    REMATERIALIZE = "rematerialize"
    OPTIMIZER_STATE = "optimizer-state"
    ATTENTION_SCORES = "attention-scores"
    LOGITS = "logits"
    MICROBATCHES = "microbatches"
    LOOP_STATE = "loop-state"
    PADDED_DIMENSION = "padded-dimension"
    LOOP_OUTPUTS = "loop-outputs"
    UNROLLED_LOOP = "unrolled-loop"
    SEGMENTS = "segments"
    ASSOCIATIVE_SCAN = "associative-scan"
    MAPPED_BATCH = "mapped-batch"
    ENCODED_BATCH = "encoded-batch"
    CONVERTED_ARGUMENTS = "converted-arguments"
    MESSAGES = "messages"
    SIMILARITY = "similarity"
    ONE_HOT = "one-hot"
    REPLICATED_STATE = "replicated-state"
    GATHERED_WEIGHTS = "gathered-weights"
    CPU_SCHEDULER = "cpu-scheduler"
    OFFLOADED_VALUES = "offloaded-values"
