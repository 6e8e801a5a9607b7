# expect: batch=4 pixels=None parameters=1418 precision=fp32
# operations: MatMul
# silent: --pixels
import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 8)
        self.encoder = nn.TransformerEncoderLayer(8, nhead=2, dim_feedforward=16, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, input_ids, attention_mask=None):
        hidden = self.encoder(self.embedding(input_ids), src_key_padding_mask=attention_mask)
        return self.head(hidden.mean(1))


model = Classifier()
optimizer = torch.optim.AdamW(model.parameters())
model.train()
for step in range(14):
    batch = {"input_ids": torch.randint(100, (4, 12)), "attention_mask": torch.zeros(4, 12, dtype=torch.bool)}
    loss = nn.functional.cross_entropy(model(**batch), torch.randint(2, (4,)))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
