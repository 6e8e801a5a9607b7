"""Traces of PyTorch on a V100 of a transformer's step: shapes of a forward pass, and its gradients."""

import json

GPU = "Tesla V100-SXM2-16GB"
#: Microseconds of a kernel, and from one to the next.
US, EVERY_US = 150.0, 155.0


def transformer_trace(
    *, batch=32, width=192, heads=3, depth=12, patch=16, pixels=224, fused=True, shapes=True, words=0, waits=1
):
    """A ViT of images, or with `words` a language model of as many; 1,000 classes."""
    tokens, events = (pixels // patch) ** 2 + 1, []
    rows, hidden = batch * tokens, [batch, tokens, width]

    def add(name, dims, kernel, concrete=(), inside=""):
        start = waits * EVERY_US * (1 + sum(event["cat"] == "kernel" for event in events))
        spans = [(inside, [])] if inside else []
        for number, (called, sizes) in enumerate([*spans, (name, dims)]):
            args = {"Input Dims": sizes, "Concrete Inputs": list(concrete)} if shapes else {}
            place = {"ts": start + number, "dur": 60.0 - 2 * number}
            events.append({"ph": "X", "cat": "cpu_op", "name": called, "pid": 1, "tid": 1, **place, "args": args})
        if kernel:
            args = {"correlation": len(events), "device": 0}
            launch = {
                "name": "cudaLaunchKernel",
                "cat": "cuda_runtime",
                "pid": 1,
                "tid": 1,
                "ts": start + 5,
                "dur": 4.0,
            }
            events.append({"ph": "X", **launch, "args": args})
            run = {"name": kernel, "cat": "kernel", "pid": 0, "tid": 7, "ts": start + 20, "dur": US}
            events.append({"ph": "X", **run, "args": args})

    def product(size, taken, put):
        add("aten::addmm", [[put], [size, taken], [taken, put], [], []], "volta_sgemm_128x64_tn")

    image, filters = [batch, 3, pixels, pixels], [width, 3, patch, patch]
    if words:
        add("aten::embedding", [[words, width], [batch, tokens]], "indexSelectLargeIndex")
    else:
        concrete = ["", "", "", f"[{patch}, {patch}]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]
        add("aten::convolution", [image, filters, [width]], "implicit_convolve_sgemm", concrete)
    split = [batch, heads, tokens, width // heads]
    for _ in range(depth):
        for is_attention in (True, False):
            add("aten::native_layer_norm", [hidden, [], [width], [width], []], "vectorized_layer_norm_kernel")
            product(rows, width, (3 if is_attention else 4) * width)
            if is_attention and fused:
                add("aten::_scaled_dot_product_efficient_attention", [split] * 3, "fmha_cutlassF_f32_aligned_64x64")
            elif is_attention:
                folded = [batch * heads, tokens, width // heads]
                add("aten::bmm", [folded, [folded[0], folded[2], tokens]], "volta_sgemm_64x64_nn")
                add("aten::_softmax", [[batch, heads, tokens, tokens], [], []], "softmax_warp_forward")
                add("aten::bmm", [[folded[0], tokens, tokens], folded], "volta_sgemm_64x64_nn")
            else:
                add("aten::gelu", [[batch, tokens, 4 * width], []], "vectorized_elementwise_kernel")
            product(rows, (1 if is_attention else 4) * width, width)
            add("aten::add", [hidden, hidden, []], "vectorized_elementwise_kernel")
    product(batch, width, words or 1_000)
    inside = "autograd::engine::evaluate_function: AddmmBackward0"
    for _ in range(4 * depth + 1):
        add("aten::mm", [[rows, width], [width, width]], "volta_sgemm_128x64_nt", inside=inside)
    matrices = [[width, outputs] for outputs in (3 * width, width, 4 * width, 4 * width) * depth] + [[1_000, width]]
    for size in [*matrices, [width]]:
        add("torch::autograd::AccumulateGrad", [size], "")
    if words:
        add("aten::embedding_dense_backward", [hidden, [batch, tokens]], "embedding_backward_kernel", inside=inside)
    else:
        add("aten::convolution_backward", [hidden, image, filters], "wgrad_alg0_engine", inside=inside)
    device = {"id": 0, "name": GPU, "computeMajor": 7, "computeMinor": 0}
    return json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events}).encode()
