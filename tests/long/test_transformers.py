"""Architectures of the transformers library, small and from their configurations alone, import in both forms.

Long: runs with LIGHTLINE_LONG=1 (make test-long) and needs the transformers package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lightline_under_test import LONG

if not LONG:
    pytest.skip("long: set LIGHTLINE_LONG=1 or run make test-long", allow_module_level=True)
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from import_check import check_import, exported_or_skip  # noqa: E402
from zoo import Outputs  # noqa: E402

TEXT = """bert roberta distilbert albert electra gpt2 gpt_neo gptj gpt_neox llama mistral qwen2 qwen3 gemma gemma2 phi
    phi3 falcon bloom opt mpt t5 bart mbart pegasus deberta-v2 mobilebert xlm-roberta camembert squeezebert mixtral
    olmo olmo2 stablelm starcoder2 cohere granite mamba codegen xglm nystromformer fnet ernie convbert roformer
    layoutlm mpnet     deepseek_v3 gemma3_text smollm3 glm qwen2_moe gpt_oss llama4_text qwen3_next olmoe""".split()
VISION = """vit deit beit swin convnext convnextv2 resnet regnet segformer poolformer levit mobilevit dinov2 cvt
    efficientnet mobilenet_v2 swinv2 bit focalnet van glpn hiera""".split()
SPEECH = "wav2vec2 hubert wavlm".split()
ENCODER_DECODER = {"t5", "bart", "mbart", "pegasus"}
FIXED_SIZE = {"vit", "deit", "beit", "dinov2"}

SMALL: dict[str, int] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 64, "vocab_size": 100, "max_position_embeddings": 64, "d_model": 32, "encoder_layers": 2,
    "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "dim": 32, "n_layers": 2,
    "n_heads": 4, "hidden_dim": 64, "d_ff": 64, "d_kv": 8, "num_layers": 2, "num_heads": 4, "head_dim": 8,
    "embedding_size": 32, "ffn_dim": 64, "num_decoder_layers": 2, "word_embed_proj_dim": 32, "q_lora_rank": 16,
    "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, "num_experts": 4,
    "num_local_experts": 4, "moe_intermediate_size": 32, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "image_size": 32, "patch_size": 8, "ffn_hidden_size": 64, "rotary_dim": 4, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip


def small_config(name: str) -> Any:
    config = transformers.AutoConfig.for_model(name)
    for key, value in SMALL.items():
        if isinstance(getattr(config, key, None), int):
            setattr(config, key, value)
    config.use_cache = False
    return config


def example_inputs(name: str) -> dict[str, Any]:
    ids = torch.randint(3, 90, (2, 16))
    if name in VISION:
        size = 32 if name in FIXED_SIZE else 64
        return {"pixel_values": torch.randn(1, 3, size, size)}
    if name in SPEECH:
        return {"input_values": torch.randn(1, 4000)}
    return {"input_ids": ids, "decoder_input_ids": ids} if name in ENCODER_DECODER else {"input_ids": ids}


@pytest.mark.parametrize("name", TEXT + VISION + SPEECH)
def test_architecture_imports(name: str, tmp_path: Path) -> None:
    inputs = example_inputs(name)

    def model() -> torch.nn.Module:
        return Outputs(transformers.AutoModel.from_config(small_config(name)), tuple(inputs))

    check_import(name, exported_or_skip(name, model, tuple(inputs.values())), tmp_path)
