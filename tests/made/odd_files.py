"""Files that people take for a profile, as the tools write them."""

from __future__ import annotations


def _kernel_record(name: bytes) -> bytes:
    """One of TensorFlow's KernelStatsDb: name, registers, block and grid, nanoseconds, operation, occurrences."""
    sizes = b"\x10\x20\x2a\x03\x40\x01\x01\x32\x03\x02\x01\x01"
    record = b"\x0a" + bytes([len(name)]) + name + sizes + b"\x38\xe8\x07\x62\x04conv\x68\x03"
    return b"\x0a" + bytes([len(record)]) + record


KERNEL_STATISTICS = (
    _kernel_record(b"volta_scudnn_128x64_relu_interior_nn_v1") + _kernel_record(b"void cudnn::bn_fw_tr_1C11<float>"),
    b"Rank,Kernel Name,Registers per thread,Shared Mem bytes,Block dim,Grid dim,Total Duration (us)\n1,a,2,0,1,1,5\n",
)

NVIDIA_TABLES = (
    b"Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n9.1,1,2,3,4,5,6,7,k\n",
    b'"Time(%)","Total Time (ns)","Instances","Average","Minimum","Maximum","Name"\n1,2,3,4,5,6,k\n',
    b"Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Ctx,Strm,Name\n1,2,3,1,1,1,1,1,1,T4,1,7,k\n",
    b"Processing [report1.sqlite] with [/opt/nsys/reports/cuda_gpu_kern_sum.py]...\n\n"
    b" ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n\n"
    b" Time (%)  Total Time (ns)  Instances  Avg (ns)  Name\n --------  ---------------  ----\n     52.3  1  2  3  k\n",
    b"==1234== NVPROF is profiling process 1234, command: python train.py\n==1234== Profiling result:\n",
    b'"ID","Process ID","Process Name","Host Name","Kernel Name","Context"\n"0","1","python","h","k","1"\n',
)

KEY_AVERAGES = (
    # Rows without their head.
    b"   ProfilerStep*   8.31%   66.600ms   99.92%   800.909ms   400.454ms   0.000us   0.00%   180.600ms   2\n"
    b"   aten::cudnn_convolution   1.34%   15.480ms   2.34%   20.615ms   125.908us   46.800ms   25.90%   18\n",
    b"------------  ------------  ------------\n"
    b"        Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls\n"
    b"------------  ------------  ------------\naten::conv2d         0.10%       1.200ms\n",
    b"Epoch 0, loss 2.3\n----------  ----------\n"
    b"Name        Self CPU total %   Self CPU total   CPU total %   CPU total\n----------  ----------\n",
)

MEMORY_TIMELINES = (
    b"[[1700000000.1, 1700000000.2], [[0, 5], [1, 6]]]",
    b"[[-1, 0, 512, 3], [1700000000123, 1, 4096, 0]]",
)

#: What each is, and its first bytes.
OTHERS = {
    "a list of stacks for a flame graph": b"train.py(10): <module>;torch/nn/functional.py(1): conv2d 12345\n" * 3,
    "MXNet's printed table": b"\nProfile Statistics.\n\tNote that counter items are counter values.\noperator\n",
    "a printed summary of a network": b"=========\nLayer (type:depth-idx)     Output Shape     Param #\n=========\n",
    "a TensorFlow.js graph model": b'{"format": "graph-model", "modelTopology": {"node": []}}',
    "a trace of an Ascend NPU": b'[{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": "5.1", "dur": 3},\n'
    b'{"name": "process_name", "ph": "M", "pid": 31, "args": {"name": "Ascend Hardware"}}]',
    "a converted trace of NVIDIA's Nsight": b'[{"ph": "X", "cat": "cuda", "name": "sgemm", "ts": 1, "dur": 2}]',
    "MXNet's trace": b'{"traceEvents": [{"ph": "M", "args": {"name": "gpu/0"}, "pid": 1, "name": "process_name"}]}',
    "nvidia-smi's output": b"| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |\n",
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "a trace of ONNX Runtime": b'[{"cat": "Session", "pid": 1, "dur": 5, "ts": 1, "ph": "X", "name": "run"}]',
}

#: Text that begins as JSON may.
LOGS = (
    b"[07/21 15:02:14 d2.utils.events]:  eta: 5:12:40  iter: 1999  total_loss: 0.61  time: 0.2095\n",
    b"[2026-07-21 15:02:14,123][INFO] epoch 1, loss 2.3\n",
    b"[1/100] loss 2.3\n",
    b"{'loss': 2.3, 'learning_rate': 0.1}\n",
    b'{"log_history": [], "global_step": 9}',
    "391/391 \u2501\u2501 57s 147ms/step\n".encode(),
    b"epoch,time,train/box_loss\n1,68.5,1.2\n",
    b"epoch 3 took 14 min\n",
)
