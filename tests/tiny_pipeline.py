"""Create a small, untrained Stable Diffusion pipeline of about 350 KB, which draws noise."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

SIDE = 64
LENGTH = 77


def write(folder: Path, *, seed: int = 0) -> Path:
    """Write the pipeline: a byte-level tokenizer, a text encoder, a U-Net and an autoencoder of random weights."""
    torch, diffusers, transformers = map(import_module, ("torch", "diffusers", "transformers"))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        pipeline = diffusers.StableDiffusionPipeline(
            vae=_autoencoder(diffusers),
            text_encoder=_text_encoder(transformers),
            tokenizer=_tokenizer(transformers),
            unet=_unet(diffusers),
            scheduler=diffusers.DDIMScheduler(clip_sample=False, steps_offset=1),
            safety_checker=None,
            feature_extractor=None,
            requires_safety_checker=False,
        )
    pipeline.save_pretrained(folder)
    return folder


def _autoencoder(diffusers: Any) -> Any:
    return diffusers.AutoencoderKL(
        block_out_channels=(4, 8),
        norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        sample_size=SIDE,
    )


def _unet(diffusers: Any) -> Any:
    return diffusers.UNet2DConditionModel(
        block_out_channels=(4, 8),
        norm_num_groups=4,
        layers_per_block=1,
        sample_size=SIDE // 2,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        attention_head_dim=2,
    )


def _text_encoder(transformers: Any) -> Any:
    return transformers.CLIPTextModel(
        transformers.CLIPTextConfig(
            vocab_size=514,
            hidden_size=32,
            intermediate_size=37,
            num_attention_heads=4,
            num_hidden_layers=2,
            max_position_embeddings=LENGTH,
            bos_token_id=512,
            eos_token_id=513,
            pad_token_id=513,
        )
    )


def _tokenizer(transformers: Any) -> Any:
    """A tokenizer with each byte as a token, inside a word and at its end, without merges."""
    alphabet = sorted(import_module("tokenizers").pre_tokenizers.ByteLevel.alphabet())
    words = [*alphabet, *(f"{letter}</w>" for letter in alphabet), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {word: number for number, word in enumerate(words)}
    return transformers.CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=LENGTH)
