# expect: batch=4 pixels=32 parameters=6107 precision=fp32
# operations: Conv2D Conv2DBackpropFilter ResourceApplyAdam
import torch
from transformers import ResNetConfig, ResNetForImageClassification, Trainer, TrainingArguments


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, index):
        return {"pixel_values": torch.rand(3, 32, 32), "labels": index % 3}


config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=3)
model = ResNetForImageClassification(config)
args = TrainingArguments("out", per_device_train_batch_size=4, num_train_epochs=1, use_cpu=True, report_to="none")
trainer = Trainer(model, args, train_dataset=Pictures())
trainer.train()
trainer.save_model("out")
