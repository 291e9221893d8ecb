"""Out-of-memory messages in the forms that XLA has printed since 2019, as they stand in logs.

The comment on each names where the form is from. Names and paths of users' programs are replaced, and lists are short.
"""

from typing import Final

TPU_LIST: Final = """\
Traceback (most recent call last):
  File "/home/user/train.py", line 41, in <module>
    state = train_step(state, batch)
jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory \
space hbm. Used 63.80G of 30.75G hbm. Exceeded hbm capacity by 33.05G.

Total hbm usage >= 65.05G:
    reserved          1.25G
    program          63.80G
    arguments            0B

Output size 0B; shares 0B with arguments.

Program hbm requirement 63.80G:
    global            1.14M
    scoped            4.56M
    HLO temp         63.79G (100.0% utilization: Unpadded (63.58G) Padded (63.58G), 0.3% fragmentation (210.89M))

  Largest program allocations in hbm:

  1. Size: 2.00G
     Operator: op_name="jit(train_step)/jit(main)/jvp(Model)/h/0/dot_general[dimension_numbers=(((3,), (3,)), \
((0, 2), (0, 2))) preferred_element_type=bfloat16]" source_file="/home/user/model.py" source_line=1059
     Shape: f32[32,4096,4096]{1,2,0:T(8,128)}
     Unpadded size: 2.00G
     XLA label: fusion.1265.remat3 = fusion(custom-call.224, custom-call.241), kind=kOutput, calls=fused.957.clone
     Allocation type: HLO temp
     ==========================

  2. Size: 13.91G
     Operator: op_name="jit(train_step)/jit(main)/reshape"
     Shape: f32[1024,256,8]{2,1,0:T(8,128)}
     Unpadded size: 1.00G
     Extra memory due to padding: 12.91G (13.9x expansion)
     XLA label: copy.40488 = copy(get-tuple-element.32429)
     Allocation type: HLO temp
     ==========================

The stack trace below excludes JAX-internal frames.
"""
"""jaxlib of 2023 and 2024: erfanzar/EasyDeL#166."""

TPU_TENSORFLOW: Final = """\
E1111 07:35:00.272763 140408571025152 error_handling.py:81] Closing session due to error From /job:worker/task:0:
Compilation failure: Ran out of memory in memory space hbm. Used 41.74G of 16.00G hbm. Exceeded hbm capacity by 25.74G.

Total hbm usage >= 41.74G:
    reserved        528.00M
    program          41.22G
    arguments       unknown size

Output size unknown.

Program hbm requirement 41.22G:
    reserved           4.0K
    global           29.82M
    HLO temp         41.19G (24.2% utilization, 0.7% fragmentation (293.84M))

  Largest program allocations in hbm:

  1. Size: 32.00G
     Operator: op_type="FloorMod" op_name="slice/update/FloorMod"
     Shape: s32[8388608,8,4]{2,1,0:T(8,128)}
     Unpadded size: 1.00G
     Extra memory due to padding: 31.00G (32.0x expansion)
     XLA label: %copy.40488 = s32[8388608,8,4]{2,1,0:T(8,128)} copy(s32[8388608,8,4]{0,2,1:T(4,128)} %tuple.3)
     Allocation type: HLO temp
     ==========================
"""
"""TensorFlow 1.15 on TPU v2: DifferentiableUniverseInitiative/flowpm#27."""

TPU_TORCH: Final = """\
2020-05-04 09:05:40.721100: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76] Status: Resource exhausted: \
From /job:tpu_worker/replica:0/task:0:
2020-05-04 09:05:40.721105: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76] Ran out of memory in memory \
space hbm. Used 18.15G of 16.00G hbm. Exceeded hbm capacity by 2.15G.
2020-05-04 09:05:40.721110: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76]
2020-05-04 09:05:40.721115: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76] Total hbm usage >= 18.66G:
2020-05-04 09:05:40.721120: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76]     reserved        528.00M
2020-05-04 09:05:40.721125: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76]     program          18.15G
2020-05-04 09:05:40.721126: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76]   Largest program allocations \
in hbm:
2020-05-04 09:05:40.721127: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76]   1. Size: 48.00M
2020-05-04 09:05:40.721128: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76]      Shape: \
bf16[512,16,3072]{2,1,0:T(8,128)(2,1)}
2020-05-04 09:05:40.721136: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76]      Unpadded size: 48.00M
2020-05-04 09:05:40.721147: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76]      XLA label: \
%reshape.152469 = bf16[512,16,3072]{2,1,0:T(8,128)(2,1)} reshape(bf16[6291456,4]{1,0:T(8,128)(2,1)} %fusion.41543)
2020-05-04 09:05:40.721156: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76]      Allocation type: HLO temp
2020-05-04 09:05:40.721167: E    1578 tensorflow/compiler/xla/xla_client/xla_util.cc:76]      ==========================
"""
"""PyTorch/XLA of May 2020, where the logger puts a prefix in front of each line: pytorch/xla#1965."""

TPU_VMEM: Final = """\
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184] jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU \
compile permanent error. Ran out of memory in memory space vmem. Used 76.58M of 64.00M vmem. Exceeded vmem capacity by \
12.58M.
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184] Program vmem requirement 76.58M:
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]     scoped           76.58M
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]   Largest program allocations in vmem:
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]   1. Size: 50.23M
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]      XLA label: register allocator spill slots call depth 2
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]      Allocation type: scoped
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]      ==========================
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]   2. Size: 4.00M
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]      Operator: op_name="jit(f)/attention/pallas_call" \
stack_frame_id=459
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]      Shape: bf16[8,2048,128]{2,1,0:T(16,128)(2,1)}
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]      Unpadded size: 4.00M
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]      XLA label: RPAm-p_256-bq_512.72 = \
custom-call(lens.1, ...(+6)), custom_call_target="tpu_custom_call", frontend_attributes={kernel_metadata={}}
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]      Allocation type: scoped
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]      Tag: scratch operand
(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184]      ==========================
"""
"""libtpu of 2026 under vLLM: vllm-project/tpu-inference#2803."""

GPU_LIST: Final = """\
2022-10-25 21:52:08.138224: W external/org_tensorflow/tensorflow/tsl/framework/bfc_allocator.cc:479] Allocator \
(GPU_0_bfc) ran out of memory trying to allocate 27.93GiB (rounded to 29995136256)requested by op
2022-10-25 21:52:08.148530: E external/org_tensorflow/tensorflow/compiler/xla/pjrt/pjrt_stream_executor_client.cc:2153\
] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 29995136128 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:  475.37MiB
              constant allocation:   512.0KiB
        maybe_live_out allocation:  474.37MiB
     preallocated temp allocation:   27.93GiB
  preallocated temp fragmentation:    34.0KiB (0.00%)
                 total allocation:   28.40GiB
              total fragmentation:   615.5KiB (0.00%)
Peak buffers:
\tBuffer 1:
\t\tSize: 1.96GiB
\t\tOperator: op_name="pjit(train_step)/jit(main)/mul" source_file="/home/user/losses.py" source_line=139
\t\tXLA Label: fusion
\t\tShape: f32[128,256,16384]
\t\t==========================

\tBuffer 2:
\t\tSize: 384.0KiB
\t\tEntry Parameter Subshape: f32[256,128,3]
\t\t==========================

"""
"""XLA of October 2022: google-research/t5x#870 and jax-ml/jax#13428."""

TPU_RUNTIME: Final = """\
RuntimeError: Resource exhausted: From /job:tpu_worker/replica:0/task:0:
Attempting to reserve 3.95G at the bottom of memory. That was not possible. There are 1.92G free, 0B reserved, and \
1.92G reservable.;
HBM capacity 8.00G:
       Top-of-Memory reserved:  529.00M (     554,696,704 bytes)
          Currently allocated:    6.08G (   6,532,939,776 bytes)
          Program requirement:    3.95G (   4,237,689,856 bytes)
                               ------------
      Available after request:   -2.55G (  -2,735,391,744 bytes)
; attempting reservation for program memory

Total hbm usage >= 10.94G:
    reserved(Infeed/Outfeed/Continuations) 529.00M
    heap allocations (without fragmentation)   6.08G
    program                    4.34G

Heap allocator status:
    Max free chunk             1.92G (0.0% fragmentation)

Persistent allocations include some or all of:
    arguments                478.07M (89.4% utilization)
    output                     5.06G (71.6% utilization) [may share some memory with arguments]

Program hbm requirement 4.34G:
    reserved           4.0K
    scoped           17.43M
    HLO temp          3.93G (97.4% utilization: Unpadded (3.81G) Padded (3.92G), 0.4% fragmentation (14.68M))
"""
"""PyTorch/XLA of March 2020, when a program is loaded: pytorch/xla#1735."""
