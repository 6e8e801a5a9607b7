# expect: batch=8 pixels=32 parameters=314 precision=fp32
# operations: Conv2D Conv2DBackpropFilter MatMul ResourceApplyAdam
import torch
import torch.nn as nn
import torch.nn.functional as F


def small(width):
    return nn.Sequential(nn.Conv2d(3, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


teacher, student = small(32), small(8)
for p in teacher.parameters():
    p.requires_grad = False
teacher.eval()
student.train()
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
T = 2
for step in range(15):
    inputs, labels = torch.rand(8, 3, 32, 32), torch.randint(10, (8,))
    optimizer.zero_grad()
    with torch.no_grad():
        teacher_logits = teacher(inputs)
    student_logits = student(inputs)
    soft = F.kl_div(F.log_softmax(student_logits / T, -1), F.softmax(teacher_logits / T, -1), reduction="batchmean")
    loss = 0.5 * soft * T**2 + 0.5 * F.cross_entropy(student_logits, labels)
    loss.backward()
    optimizer.step()
