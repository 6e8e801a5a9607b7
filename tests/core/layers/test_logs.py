"""Logs of finished runs, as frameworks write them: the median step or epoch, and what they say of its size."""

# ruff: noqa: E501 (lines as they are written)
from __future__ import annotations

import gzip
import json

import pytest

from profet_core import InputError
from profet_core.layers.logs import TASK, read_log, read_log_guarded
from profet_core.layers.measured import TrainingLog

KERAS = """Epoch 1/3
391/391 [==============================] - 95s 231ms/step - loss: 2.31 - accuracy: 0.21 - val_loss: 2.0 - val_accuracy: 0.3
Epoch 2/3
391/391 [==============================] - 57s 146ms/step - loss: 1.81 - accuracy: 0.41 - val_loss: 1.7 - val_accuracy: 0.4
Epoch 3/3
391/391 [==============================] - 58s 148ms/step - loss: 1.51 - accuracy: 0.51 - val_loss: 1.6 - val_accuracy: 0.5
"""
KERAS_3 = "Epoch 1/2\n" + "".join(
    f"\r\x1b[1m{step}/391\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m{left}\x1b[0m {ms}ms/step - loss: 2.1"
    for step, left, ms in ((1, "2:11", 337), (200, "28s", 150), (391, "57s", 147))
)
LIGHTNING = (
    "Sanity Checking DataLoader 0: 100%|██████████| 2/2 [00:00<00:00,  2.00it/s]\n"
    "Epoch 0: 100%|██████████| 391/391 [01:10<00:00,  5.53it/s, v_num=3]\n"
    "Validation DataLoader 0: 100%|██████████| 40/40 [00:02<00:00, 16.00it/s]\n"
    "Epoch 1: 100%|██████████| 391/391 [00:52<00:00,  7.43it/s, v_num=3]\n"
    "Epoch 2: 100%|██████████| 391/391 [00:53<00:00,  7.33it/s, v_num=3]\n"
)
THROUGHPUT = """epoch,step,train/device/batches_per_sec,train/device/samples_per_sec,train_loss
0,50,6.0,384.0,2.1
0,100,8.0,512.0,1.9
0,150,8.0,512.0,1.7
0,199,,,1.6
"""
ULTRALYTICS = """                  epoch,                   time,         train/box_loss,    metrics/mAP50(B),                 lr/pg0
1,68.5,1.21,0.41,0.0033
2,126.5,1.11,0.52,0.0066
3,185.5,1.01,0.55,0.0099
4,243.5,0.98,0.56,0.0099
"""
YOLO = (
    "Ultralytics 8.3.40 🚀 Python-3.11.9 torch-2.5.1+cu124 CUDA:0 (NVIDIA GeForce RTX 4090, 24210MiB)\n"
    "engine/trainer: task=detect, mode=train, model=yolov8n.pt, epochs=2, batch=16, imgsz=640, save=True\n"
    "Image sizes 640 train, 640 val\n"
    "      1/2      2.23G      1.341      2.811      1.312        128        640: 100%|██████████| 500/500 [01:02<00:00,  8.01it/s]\n"
    "                 Class     Images  Instances      Box(P          R      mAP50: 100%|██████████| 79/79 [00:10<00:00,  7.60it/s]\n"
    "      2/2      2.31G      1.240      1.911      1.212        101        640: 100%|██████████| 500/500 [00:50<00:00, 10.0it/s]\n"
)
TIMM = """Training with a single process on 1 device (cuda:0).
Train: 0 [   0/1251 (  0%)]  Loss: 6.942 (6.94)  Time: 4.163s,   61.49/s  (4.163s,   61.49/s)  LR: 1.000e-05  Data: 1.421 (1.421)
Train: 0 [  50/1251 (  4%)]  Loss: 6.938 (6.94)  Time: 0.320s,  800.00/s  (0.396s,  646.46/s)  LR: 1.000e-05  Data: 0.011 (0.040)
Train: 0 [ 100/1251 (  8%)]  Loss: 6.931 (6.94)  Time: 0.322s,  795.03/s  (0.359s,  713.09/s)  LR: 1.000e-05  Data: 0.011 (0.026)
Test: [   0/195]  Time: 1.630 (1.630)  Loss:   6.93 ( 6.93)  Acc@1:   0.39 (  0.39)  Acc@5:   1.17 (  1.17)
"""
SCALARS = "".join(
    json.dumps(row) + "\n"
    for row in (
        {"lr": 0.002, "data_time": 0.21, "loss": 1.4, "time": 0.61, "iter": 50, "memory": 3812, "step": 50},
        {"lr": 0.004, "data_time": 0.01, "loss": 1.1, "time": 0.34, "iter": 100, "memory": 3812, "step": 100},
        {"lr": 0.006, "data_time": 0.01, "loss": 0.9, "time": 0.35, "iter": 150, "memory": 3812, "step": 150},
        {"coco/bbox_mAP": 0.31, "data_time": 0.002, "time": 0.041, "step": 1},
    )
)
MMENGINE = """System environment:
    GPU 0: NVIDIA A100-SXM4-40GB
train_dataloader = dict(
    batch_size=32,
    num_workers=5)
2025/03/01 10:11:12 - mmengine - INFO - Epoch(train)   [1][ 100/1563]  lr: 1.0e-01  eta: 1 day, 0:00:01  time: 0.7121  data_time: 0.21  memory: 3919  loss: 6.9
2025/03/01 10:11:32 - mmengine - INFO - Epoch(train)   [1][ 200/1563]  lr: 1.0e-01  eta: 12:00:01  time: 0.2021  data_time: 0.01  memory: 3919  loss: 6.8
2025/03/01 10:11:52 - mmengine - INFO - Epoch(train)   [1][ 300/1563]  lr: 1.0e-01  eta: 11:00:01  time: 0.2041  data_time: 0.01  memory: 3919  loss: 6.7
2025/03/01 10:12:52 - mmengine - INFO - Epoch(val) [1][100/1563]    eta: 0:00:10  time: 0.0500  data_time: 0.01  memory: 919  loss: 0
"""
METRICS = "".join(
    json.dumps({"data_time": 0.004, "eta_seconds": 900.0, "iteration": at, "lr": 0.01, "time": time, "total_loss": 1.9})
    + "\n"
    for at, time in ((19, 0.52), (39, 0.334), (59, 0.336))
)
DETECTRON = """[03/01 10:00:00 detectron2]: Environment info:
GPU 0                            Tesla V100-SXM2-16GB (arch=7.0)
SOLVER:
  IMS_PER_BATCH: 16
[03/01 10:01:00 d2.utils.events]:  eta: 1:23:45  iter: 19  total_loss: 1.91  loss_cls: 0.9  time: 0.5221  last_time: 0.40  data_time: 0.12  last_data_time: 0.01   lr: 0.0004  max_mem: 6400M
[03/01 10:01:20 d2.utils.events]:  eta: 1:03:45  iter: 39  total_loss: 1.81  loss_cls: 0.8  time: 0.4401  last_time: 0.43  data_time: 0.02  last_data_time: 0.01   lr: 0.0008  max_mem: 6400M
"""
TRAINER = json.dumps(
    {
        "global_step": 1500,
        "train_batch_size": 32,
        "log_history": [
            {"epoch": 1.0, "learning_rate": 3e-5, "loss": 0.9, "step": 500},
            {"epoch": 1.0, "eval_loss": 0.8, "eval_runtime": 9.0, "eval_steps_per_second": 17.0, "step": 500},
            {
                "epoch": 3.0,
                "step": 1500,
                "train_runtime": 300.0,
                "train_samples_per_second": 160.0,
                "train_steps_per_second": 5.0,
            },
        ],
    },
    indent=2,
)
TORCHVISION = """| distributed init; Namespace(batch_size=64, device='cuda', epochs=90, model='resnet50', train_crop_size=224)
Epoch: [0]  [   0/5005]  eta: 5:00:00  lr: 0.1  img/s: 25.1  loss: 7.01 (7.01)  acc1: 0.0 (0.0)  time: 3.6000  data: 1.0  max mem: 6800
Epoch: [0]  [  10/5005]  eta: 0:41:05  lr: 0.1  img/s: 400.0  loss: 6.91 (6.95)  acc1: 0.0 (0.0)  time: 0.1600  data: 0.0  max mem: 6900
Epoch: [0]  [  20/5005]  eta: 0:41:05  lr: 0.1  img/s: 400.0  loss: 6.81 (6.91)  acc1: 0.0 (0.0)  time: 0.1620  data: 0.0  max mem: 6900
Test:   [  0/782]  eta: 0:10:00  loss: 1.1 (1.1)  acc1: 70.0 (70.0)  time: 0.7000  data: 0.5  max mem: 6900
"""
IMAGENET = """=> creating model 'resnet50'
Epoch: [0][   1/5005]\tTime  5.221 ( 5.221)\tData  2.1 ( 2.1)\tLoss 7.0e+00 (7.0e+00)\tAcc@1   0.00 (  0.00)
Epoch: [0][  11/5005]\tTime  0.312 ( 0.934)\tData  0.0 ( 0.2)\tLoss 6.9e+00 (7.0e+00)\tAcc@1   0.00 (  0.14)
Epoch: [0][  21/5005]\tTime  0.314 ( 0.634)\tData  0.0 ( 0.1)\tLoss 6.9e+00 (6.9e+00)\tAcc@1   0.00 (  0.11)
"""
#: Log -> its time, count, batch size, pixels and GPU.
LOGS = {
    KERAS: ("147 ms", 2, None, None, None),
    LIGHTNING: ("135.508 ms", 2, None, None, None),
    THROUGHPUT: ("125 ms", 2, 64, None, None),
    ULTRALYTICS: ("58 s/epoch", 3, None, None, None),
    YOLO: ("100 ms", 1, 16, 640, "GeForce RTX 4090"),
    TIMM: ("321 ms", 2, 256, None, None),
    SCALARS: ("345 ms", 2, None, None, None),
    MMENGINE: ("203.1 ms", 2, 32, None, "A100-SXM4-40GB"),
    METRICS: ("335 ms", 2, None, None, None),
    DETECTRON: ("440.1 ms", 1, 16, None, "Tesla V100-SXM2-16GB"),
    TRAINER: ("200 ms", 1500, 32, None, None),
    TORCHVISION: ("161 ms", 2, 64, None, None),
    IMAGENET: ("313 ms", 2, None, None, None),
    KERAS_3: ("147 ms", 1, None, None, None),
    # With validation: the line before it, else the one after it.
    KERAS_3 + "\r391/391 ━━━━ 61s 157ms/step - loss: 2.1 - val_loss: 2.0\n": ("147 ms", 1, None, None, None),
    "391/391 ━━━━ 61s 157ms/step - loss: 2.1 - val_loss: 2.0\n": ("157 ms", 1, None, None, None),
    # Whose lines are their own.
    "Starting\nEpoch took 14 min.\n": ("840 s/epoch", 1, None, None, None),
    "2026-11-01 10:00:00,1 Epoch 1 finished in 0:14:03, loss 1.2\n": ("843 s/epoch", 1, None, None, None),
    "[epoch 1] loss 2.1 | 199.4 s\n[epoch 2] loss 1.7 | 182.0 s\n": ("182 s/epoch", 1, None, None, None),
    "Epoch 1 elapsed 182 s\nEpoch 2 elapsed 363 s\n": ("181 s/epoch", 1, None, None, None),
    "epoch     train_loss  valid_loss  time \n0         1.2123      0.3123      01:42\n": (
        "102 s/epoch",
        1,
        None,
        None,
        None,
    ),
    "step 1: loss=2.1 1210.4 images/sec\nstep 2: loss=1.9 1,232.9 images/sec\n": (
        "1232.9 images/s",
        1,
        None,
        None,
        None,
    ),
    "[100] loss=6.9, steps_per_second=2.5\n": ("400 ms", 1, None, None, None),
    "iter 100: loss 3.1, time 339.5ms, mfu 12.0%\n": ("339.5 ms", 1, None, None, None),
    "{'eval_steps_per_second': 9.5}\n{'train_samples_per_second': 80.0, 'train_steps_per_second': 2.5, 'epoch': 3.0}\n": (
        "400 ms",
        1,
        32,
        None,
        None,
    ),
    " 45%|### | 352/782 [00:42<00:51,  8,25it/s]\n": ("121.212 ms", 1, None, None, None),
    "epoch,accuracy,loss,epoch_time\n0,0.2,2.1,70\n1,0.3,1.9,60\n2,0.4,1.8,61\n": ("60.5 s/epoch", 2, None, None, None),
}


@pytest.mark.parametrize("text", LOGS)
def test_a_log_says_its_median_step_and_what_it_states(text):
    log = read_log(text.encode(), "run.log")
    assert (log.time, log.count, log.batch_size, log.pixels, log.gpu) == LOGS[text]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 100,
        b"hello\n" * 100,
        b"{" * 100_000,
        b'{"time": NaN, "loss": 1}\n' * 3,
        b'{"log_history": [{"train_steps_per_second": 1e999}]}',
        b"epoch,accuracy,loss\n0,0.2,2.1\n",
        b"epoch,train_loss,eval_top1,lr\n0,6.9,0.1,0.1\n",
        b"epoch,time,train/loss\n1,-5,1\n2,-6,1\n",
        b'{"train_loss": 3.2, "epoch": 1}\n',
        b"Epoch 1 loss 3.1 0.35 s\nEpoch 1 loss 3.1 0.36 s\n",  # of steps, perhaps of several
        b"epoch 1, step 100, 0.35 s\n",
        b"10:00:01 epoch 1 started\n10:14:03 epoch 2 started\n",
        b"ResNet50 25.6M parameters, epoch 1\n| 0   Tesla T4 | 66C P0 68W / 70W | 9123MiB / 15360MiB | 98% |\n",
    ],
)
def test_what_has_no_time_is_refused_in_one_line(content):
    for read in (read_log, read_log_guarded):
        with pytest.raises(InputError) as refused:
            read(content, "<b>run</b>.csv")
        assert str(refused.value).isprintable() and "run" in str(refused.value)


def test_a_large_or_packed_log_is_read_in_a_process_of_its_own_and_what_that_says_is_checked():
    large = (TIMM + TIMM.splitlines()[2] + "\n" * 2) + TIMM.splitlines(keepends=True)[2] * 2_000
    assert read_log_guarded(large.encode()).step_ms == 320.0
    assert read_log_guarded(gzip.compress(TIMM.encode())) == read_log(TIMM.encode())
    made = {"source_format": "timm", "count": 2, "step_ms": 5.0}
    assert TASK.read(made) == TrainingLog("timm", 2, 5.0)
    for wrong in ({"step_ms": -1.0}, {"epoch_s": 3.0}, {"gpu": "a\nb"}, {"count": "x"}, {"step_ms": 1e300}):
        with pytest.raises(ValueError):
            TASK.read({**made, **wrong})
