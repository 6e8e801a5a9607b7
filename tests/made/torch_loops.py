"""Training loops as people write them in PyTorch; `python torch_loops.py FOLDER` profiles each on the CPU.

`NAME.marked` has a `prof.step()` after each call of the loop's body, `NAME.plain` has none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cosine_similarity, cross_entropy
from torch.nn.functional import softplus as loss_of
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.checkpoint import checkpoint

#: The body of a loop; it gets the number of the step.
Body = Callable[[int], None]


def network(classes: int = 10) -> nn.Sequential:
    first = (nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU())
    return nn.Sequential(*first, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, classes))


def generator() -> nn.Sequential:
    first = (nn.ConvTranspose2d(16, 16, 4, 2, 1), nn.BatchNorm2d(16), nn.ReLU())
    return nn.Sequential(*first, nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh())


def discriminator() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 4, 2, 1))


def translator() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.InstanceNorm2d(8), nn.ReLU(), nn.Conv2d(8, 3, 3, 1, 1), nn.Tanh())


class ThreeBranches(nn.Module):
    """Three convolutions get the images."""

    def __init__(self) -> None:
        super().__init__()
        self.branches = nn.ModuleList(nn.Conv2d(3, 4, size, padding=size // 2) for size in (1, 3, 5))
        self.head = nn.Sequential(
            nn.ReLU(), nn.Conv2d(12, 16, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)
        )

    def forward(self, images):
        return self.head(torch.cat([branch(images) for branch in self.branches], 1))


def images(batch: int = 8, pixels: int = 32) -> torch.Tensor:
    return torch.randn(batch, 3, pixels, pixels)


def noise() -> torch.Tensor:
    return torch.randn(8, 16, 8, 8)


def loss(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return cross_entropy(model(batch), torch.zeros(len(batch), dtype=torch.long))


def sgd(*models: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(chain(*(model.parameters() for model in models)), lr=0.01)


def adam(*models: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(chain(*(model.parameters() for model in models)), lr=0.01)


def update(optimizer: torch.optim.Optimizer, value: torch.Tensor) -> None:
    optimizer.zero_grad()
    value.backward()
    optimizer.step()


def plain(batch_of: Callable[[int], torch.Tensor], model: nn.Module, *, amp: bool = False) -> Body:
    optimizer = sgd(model)

    def body(number: int) -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
            value = loss(model, batch_of(number))
        update(optimizer, value)

    return body


def validating() -> Body:
    """The second step ends with a test pass."""
    model = network()
    train = plain(lambda _: images(), model)

    def body(number: int) -> None:
        train(number)
        if number == 1:
            with torch.no_grad():
                for _ in range(3):
                    loss(model, images(16))

    return body


def accumulating(batches: int, *, amp: bool = False, per_call: int = 1) -> Body:
    """An update follows so many backward passes, `per_call` of them in one call."""
    model = network()
    optimizer, passes = sgd(model), 0

    def body(number: int) -> None:
        nonlocal passes
        for _ in range(per_call):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
                value = loss(model, images(4))
            value.backward()
            passes += 1
            if passes % batches == 0:
                optimizer.step()
                optimizer.zero_grad()

    return body


def checkpointed(*, reentrant: bool) -> Body:
    model = network()
    optimizer = sgd(model)

    def body(number: int) -> None:
        batch = images().requires_grad_()
        output = model[5:](checkpoint(model[:5], batch, use_reentrant=reentrant))
        update(optimizer, output.square().mean())

    return body


def epochs(*, validate: bool = False) -> Body:
    """Each call is an epoch of five batches, the last one smaller."""
    model = network()
    optimizer = adam(model)

    def body(number: int) -> None:
        for batch in (8, 8, 8, 8, 2):
            update(optimizer, loss(model, images(batch)))
        with torch.no_grad():
            for _ in range(3 * validate):
                loss(model, images())

    return body


def gan(*, amp: bool = False, critic_updates: int = 1, rounds: int = 1) -> Body:
    """Its networks have optimizers of one class; the discriminator's is called for real and generated images."""
    first, second = generator(), discriminator()
    optimizers = adam(first), adam(second)

    def turn() -> None:
        for _ in range(critic_updates):
            optimizers[1].zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
                value = loss_of(-second(images())).mean()
            value.backward()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
                value = loss_of(second(first(noise()).detach())).mean()
            value.backward()
            optimizers[1].step()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=amp):
            value = loss_of(-second(first(noise()))).mean()
        update(optimizers[0], value)

    return lambda number: [turn() for _ in range(rounds)] and None


def critic_first() -> Body:
    """A call is an update of the critic; every third one the generator's follows."""
    first, second = generator(), discriminator()
    optimizers = adam(first), adam(second)

    def body(number: int) -> None:
        update(optimizers[1], second(first(noise()).detach()).mean() - second(images()).mean())
        if number % 3 == 2:
            update(optimizers[0], -second(first(noise())).mean())

    return body


def cycle_gan() -> Body:
    there, back, first, second = translator(), translator(), discriminator(), discriminator()
    optimizers = adam(there, back), adam(first), adam(second)

    def body(number: int) -> None:
        one, other = images(), images()
        made, made_back = there(one), back(other)
        cycles = (back(made) - one).abs().mean() + (there(made_back) - other).abs().mean()
        same = (there(other) - other).abs().mean() + (back(one) - one).abs().mean()
        update(optimizers[0], cycles + same + loss_of(-first(made_back)).mean() + loss_of(-second(made)).mean())
        for judge, optimizer, real, false in (
            (first, optimizers[1], one, made_back),
            (second, optimizers[2], other, made),
        ):
            update(optimizer, loss_of(-judge(real)).mean() + loss_of(judge(false.detach())).mean())

    return body


def taught(*, student_crops: int = 0) -> Body:
    """A teacher without gradients: distillation, MoCo; DINO where the student also gets small crops."""
    student, teacher = network(), network()
    optimizer = sgd(student)

    def body(number: int) -> None:
        batch = images()
        with torch.no_grad():
            target = teacher(batch.flip(3)).softmax(1)
        value = cross_entropy(student(batch), target)
        for _ in range(student_crops):
            value = value + cross_entropy(student(images(8, 16)), target)
        update(optimizer, value)

    return body


def siamese() -> Body:
    model = network()
    optimizer = sgd(model)

    def body(number: int) -> None:
        batch = images()
        update(optimizer, -cosine_similarity(model(batch), model(batch.flip(3)).detach()).mean())

    return body


def sharpness_aware() -> Body:
    """Two passes on one batch, as gradients are cleared in between."""
    model = network()
    optimizer = sgd(model)

    def body(number: int) -> None:
        batch = images()
        loss(model, batch).backward()
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(weight.grad, alpha=0.01)
        update(optimizer, loss(model, batch))

    return body


def with_closure(*, evaluations: int) -> Body:
    model = network()
    optimizer = sgd(model)
    if evaluations > 1:
        options = {"max_iter": evaluations, "tolerance_grad": 0.0, "tolerance_change": 0.0}
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.01, **options)

    def body(number: int) -> None:
        batch = images()

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            value = loss(model, batch)
            value.backward()
            return value

        optimizer.step(closure)

    return body


def two_losses() -> Body:
    model, head = network(), nn.Linear(10, 4)
    optimizer = sgd(model, head)

    def body(number: int) -> None:
        output = model(images())
        optimizer.zero_grad()
        output.square().mean().backward(retain_graph=True)
        head(output).square().mean().backward()
        optimizer.step()

    return body


def two_optimizers() -> Body:
    """Both update after one backward pass."""
    model = network()
    optimizers = sgd(model[:5]), sgd(model[5:])

    def body(number: int) -> None:
        loss(model, images()).backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()

    return body


LOOPS: dict[str, Callable[[], Body]] = {
    "amp": lambda: plain(lambda _: images(), network(), amp=True),
    "three branches, amp": lambda: plain(lambda _: images(), ThreeBranches(), amp=True),
    "last batch": lambda: plain(lambda number: images(2 if number == 5 else 8), network()),
    "growing images": lambda: plain(lambda number: images(8, 48 if number > 1 else 32), network()),
    "other sizes": lambda: plain(lambda number: images(8, 32 + 8 * number), network()),
    "validation": validating,
    "accumulation": lambda: accumulating(4, per_call=4),
    "accumulation, amp": lambda: accumulating(4, per_call=4, amp=True),
    "marks within accumulation": lambda: accumulating(3),
    "checkpoints": lambda: checkpointed(reentrant=False),
    "reentrant checkpoints": lambda: checkpointed(reentrant=True),
    "epochs": epochs,
    "epochs with validation": lambda: epochs(validate=True),
    "gan": gan,
    "gan, amp": lambda: gan(amp=True),
    "gan, two rounds": lambda: gan(rounds=2),
    "wgan": lambda: gan(critic_updates=3),
    "wgan, marks within": critic_first,
    "cycle gan": cycle_gan,
    "teacher": taught,
    "crops": lambda: taught(student_crops=4),
    "siamese": siamese,
    "sam": sharpness_aware,
    "closure": lambda: with_closure(evaluations=1),
    "lbfgs": lambda: with_closure(evaluations=3),
    "two losses": two_losses,
    "two optimizers": two_optimizers,
}
STEPS = 6


def write_traces(folder: Path) -> None:
    """Profile each loop with and without marks, six calls of its body behind a first one."""
    torch.set_num_threads(1)
    for name, make in LOOPS.items():
        for marked in (True, False):
            torch.manual_seed(1)
            body = make()
            steps = schedule(wait=0, warmup=1, active=STEPS, repeat=1) if marked else None
            path = str(folder / f"{name}.{'marked' if marked else 'plain'}")
            with profile(activities=[ProfilerActivity.CPU], record_shapes=True, schedule=steps) as profiler:
                profiler.on_trace_ready = lambda done, path=path: done.export_chrome_trace(path)
                for number in range(-marked, STEPS):
                    body(number)
                    if marked:
                        profiler.step()


if __name__ == "__main__":
    write_traces(Path(sys.argv[1]))
