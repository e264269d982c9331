"""The engines that bench.py measures: ggml by its C interface, ONNX Runtime, PyTorch. Each maker returns a function
without arguments that does the work once; what it works on is made beforehand, and kept."""

import ctypes
import os
import pathlib

import numpy as np

HEADS = 32  # of a rotation
BASE = 10000.0

# ---- ggml

F32, F16, I32 = 0, 1, 26  # enum ggml_type
NORMAL, NEOX = 0, 2  # GGML_ROPE_TYPE_*
PREC_F32 = 10  # enum ggml_prec


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


class Plan(ctypes.Structure):
    _fields_ = [("work_size", ctypes.c_size_t), ("work_data", ctypes.c_void_p), ("n_threads", ctypes.c_int),
                ("threadpool", ctypes.c_void_p), ("abort_callback", ctypes.c_void_p),
                ("abort_callback_data", ctypes.c_void_p), ("use_ref", ctypes.c_bool)]


class Ggml:
    """The libraries that node-llama-cpp brings, the variant of ggml's CPU part that this machine suits best."""

    def __init__(self):
        libraries = pathlib.Path(os.environ["ROPEWALK_PEERS_LIBRARIES"])
        flags = set(pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[1].splitlines()[0].split())
        self.variant = ("zen4" if "avx512_bf16" in flags else "skylakex" if "avx512f" in flags else
                        "haswell" if "avx2" in flags else "x64")
        self.base = ctypes.CDLL(str(libraries / "libggml-base.so"), mode=ctypes.RTLD_GLOBAL)
        self.cpu = ctypes.CDLL(str(libraries / f"libggml-cpu-{self.variant}.so"))
        pointer, integer, real = ctypes.c_void_p, ctypes.c_int, ctypes.c_float
        for name, result, arguments in (
                ("ggml_init", pointer, [InitParams]),
                ("ggml_new_tensor_1d", pointer, [pointer, integer, ctypes.c_int64]),
                ("ggml_new_tensor_4d", pointer, [pointer, integer] + [ctypes.c_int64] * 4),
                ("ggml_get_data", pointer, [pointer]),
                ("ggml_nbytes", ctypes.c_size_t, [pointer]),
                ("ggml_rope_ext", pointer, [pointer] * 4 + [integer] * 3 + [real] * 6),
                ("ggml_rope_ext_inplace", pointer, [pointer] * 4 + [integer] * 3 + [real] * 6),
                ("ggml_flash_attn_ext", pointer, [pointer] * 5 + [real] * 3),
                ("ggml_flash_attn_ext_set_prec", None, [pointer, integer]),
                ("ggml_new_graph", pointer, [pointer]),
                ("ggml_build_forward_expand", None, [pointer, pointer])):
            function = getattr(self.base, name)
            function.restype, function.argtypes = result, arguments
        self.cpu.ggml_graph_plan.restype, self.cpu.ggml_graph_plan.argtypes = Plan, [pointer, integer, pointer]
        self.cpu.ggml_graph_compute.restype = integer
        self.cpu.ggml_graph_compute.argtypes = [pointer, ctypes.POINTER(Plan)]
        self.cpu.ggml_cpu_init()

    def context(self, bytes_):
        context = self.base.ggml_init(InitParams(bytes_ + (1 << 24), None, False))
        if not context:
            raise MemoryError("ggml_init")
        return context

    def fill(self, tensor, values):
        values = np.ascontiguousarray(values)
        assert values.nbytes == self.base.ggml_nbytes(tensor)
        ctypes.memmove(self.base.ggml_get_data(tensor), values.ctypes.data, values.nbytes)

    def runner(self, context, result, threads):
        graph = self.base.ggml_new_graph(context)
        self.base.ggml_build_forward_expand(graph, result)
        plan = self.cpu.ggml_graph_plan(graph, threads, None)
        work = ctypes.create_string_buffer(max(plan.work_size, 1))
        plan.work_data = ctypes.addressof(work)

        def run(kept=(work, plan)):
            if self.cpu.ggml_graph_compute(graph, ctypes.byref(kept[1])) != 0:
                raise RuntimeError("ggml_graph_compute")

        return run

    def rope(self, layout, dim, tokens, in_place=False, threads=1):
        """q (tokens, HEADS, dim) float32; ggml makes its table of angles in every call."""
        context = self.context(2 * 4 * tokens * HEADS * dim)
        q = self.base.ggml_new_tensor_4d(context, F32, dim, HEADS, tokens, 1)
        positions = self.base.ggml_new_tensor_1d(context, I32, tokens)
        self.fill(q, np.random.default_rng(1).standard_normal((tokens, HEADS, dim), dtype=np.float32))
        self.fill(positions, np.arange(tokens, dtype=np.int32))
        rope = self.base.ggml_rope_ext_inplace if in_place else self.base.ggml_rope_ext
        mode = NORMAL if layout == "interleaved" else NEOX
        return self.runner(context, rope(context, q, positions, None, dim, mode, 0, BASE, 1, 0, 1, 32, 1), threads)

    def flash_attention(self, tokens, heads=8, dim=128, threads=1):
        """Causal, keys and values and mask in float16, sums in float32: its own choice in llama.cpp."""
        context = self.context(tokens * heads * dim * (4 + 2 + 2 + 4) + 2 * tokens * tokens)
        random = np.random.default_rng(2)
        q = self.base.ggml_new_tensor_4d(context, F32, dim, tokens, heads, 1)
        k = self.base.ggml_new_tensor_4d(context, F16, dim, tokens, heads, 1)
        v = self.base.ggml_new_tensor_4d(context, F16, dim, tokens, heads, 1)
        mask = self.base.ggml_new_tensor_4d(context, F16, tokens, tokens, 1, 1)
        self.fill(q, random.standard_normal((heads, tokens, dim), dtype=np.float32))
        for tensor in (k, v):
            self.fill(tensor, random.standard_normal((heads, tokens, dim), dtype=np.float32).astype(np.float16))
        self.fill(mask, np.triu(np.full((tokens, tokens), -np.inf, dtype=np.float16), 1))
        result = self.base.ggml_flash_attn_ext(context, q, k, v, mask, dim ** -0.5, 0, 0)
        self.base.ggml_flash_attn_ext_set_prec(result, PREC_F32)
        return self.runner(context, result, threads)


# ---- ONNX Runtime

def onnx_rotary(layout, dim, tokens, threads=1):
    """com.microsoft RotaryEmbedding on x (1, HEADS, tokens, dim), its table ready."""
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    half = dim // 2
    node = helper.make_node("RotaryEmbedding", ["x", "positions", "cos", "sin"], ["y"], domain="com.microsoft",
                            interleaved=int(layout == "interleaved"))
    value = helper.make_tensor_value_info
    graph = helper.make_graph([node], "rotary", [value("x", TensorProto.FLOAT, [1, HEADS, tokens, dim]),
                                                 value("positions", TensorProto.INT64, [1, tokens]),
                                                 value("cos", TensorProto.FLOAT, [tokens, half]),
                                                 value("sin", TensorProto.FLOAT, [tokens, half])],
                              [value("y", TensorProto.FLOAT, [1, HEADS, tokens, dim])])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                  helper.make_opsetid("com.microsoft", 1)])
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Its threads would spin between calls, on the cores of whoever is measured next.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    angles = np.arange(tokens)[:, None] * BASE ** (-2.0 * np.arange(half) / dim)
    feed = {"x": np.random.default_rng(3).standard_normal((1, HEADS, tokens, dim), dtype=np.float32),
            "positions": np.arange(tokens, dtype=np.int64)[None],
            "cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    binding.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_numpy(np.empty_like(feed["x"])))
    return lambda: session.run_with_iobinding(binding)


# ---- PyTorch

def torch_rotate_half(dim, tokens, compiled=False, threads=1):
    """transformers' apply_rotary_pos_emb on q (1, HEADS, tokens, dim), its table ready."""
    import torch

    def rotate(q, cos, sin):
        low, high = q.chunk(2, dim=-1)
        return q * cos + torch.cat((-high, low), dim=-1) * sin

    angles = torch.arange(tokens)[:, None] * BASE ** (-2.0 * torch.arange(dim // 2) / dim)
    cos, sin = (torch.cat((part, part), -1).float() for part in (angles.cos(), angles.sin()))
    q = torch.randn(1, HEADS, tokens, dim)
    function = torch.compile(rotate) if compiled else rotate

    def run():
        torch.set_num_threads(threads)
        with torch.inference_mode():
            function(q, cos, sin)

    run()  # compiles
    return run


def torch_attention(tokens, heads=8, dim=128, bf16=False, threads=1):
    """scaled_dot_product_attention, causal."""
    import torch

    kind = torch.bfloat16 if bf16 else torch.float32
    q, k, v = (torch.randn(1, heads, tokens, dim, dtype=kind) for _ in range(3))

    def run():
        torch.set_num_threads(threads)
        with torch.inference_mode():
            torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    return run


def versions() -> dict:
    import onnxruntime
    import torch

    return {"torch": torch.__version__, "onnxruntime": onnxruntime.__version__, "ggml": Ggml().variant}
