"""Create small, untrained checkpoints of transformers, such as a Llama of about 100 KB."""

from __future__ import annotations

import re
import string
from importlib import import_module
from pathlib import Path
from typing import Any

# A chat template that shows in the tokens: every role and turn is spelt out.
TEMPLATE = (
    "{% for message in messages %}[{{ message.role }}]{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[{{ voice | default('assistant') }}]{% endif %}"
)
POSITIONS = 2048
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
TOKENS = ("<pad>", *SPECIAL.values(), *string.printable)


def write(
    folder: Path,
    *,
    template: str | None = TEMPLATE,
    seed: int = 0,
    tokens: tuple[str, ...] = TOKENS,
    kind: str = "Llama",
) -> Path:
    """Write a text checkpoint: a token per printable character, two layers, random weights.

    ``tokens`` of several characters are used wherever they occur. GPT2 is a kind with absolute positions.
    """
    torch, transformers = import_module("torch"), import_module("transformers")
    tokenizer = character_tokenizer(transformers, tokens)
    if template:
        tokenizer.chat_template = template
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=POSITIONS,
        bos_token_id=1,
        eos_token_id=2,
        initializer_range=0.5,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_config(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_speaking(folder: Path, reply: str, *, special: tuple[str, ...], after: str) -> None:
    """Write a checkpoint that continues the text ``after`` with ``reply``; ``special`` are its special tokens.

    Its layers do nothing, so that the position alone decides the next token.
    """
    torch, transformers = import_module("torch"), import_module("transformers")
    tokenizer = character_tokenizer(transformers, (*TOKENS, *special))
    tokenizer.add_special_tokens({"additional_special_tokens": list(special)})
    tokenizer.chat_template = TEMPLATE
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=len(tokenizer),
        n_layer=1,
        n_head=1,
        n_positions=POSITIONS,
        bos_token_id=1,
        eos_token_id=2,
        tie_word_embeddings=False,
    )
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        model.transformer.ln_f.weight.fill_(1)
        model.lm_head.weight.copy_(torch.eye(len(tokenizer)))
        first = len(tokenizer(after)["input_ids"]) - 1
        for position, token in enumerate([*tokenizer(reply)["input_ids"], 2], first):
            model.transformer.wpe.weight[position, token] = 1
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


SEES = (
    "{% for message in messages %}[{{ message.role }}]{% for part in message.content %}"
    "{{ '<image>' if part.type == 'image' else part.text }}{% endfor %}\n{% endfor %}[assistant]"
)


def write_vision(folder: Path, *, seed: int = 0) -> Path:
    """Write a vision-language checkpoint: an untrained Llava with 16 patches per picture."""
    torch, transformers = import_module("torch"), import_module("transformers")
    tokenizer = character_tokenizer(transformers, (*TOKENS, "<image>"))
    image = tokenizer.convert_tokens_to_ids("<image>")
    layers = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(image_size=32, patch_size=8, **layers),
        text_config=transformers.LlamaConfig(
            vocab_size=len(tokenizer), max_position_embeddings=POSITIONS, initializer_range=0.5, **layers
        ),
        image_token_index=image,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.LlavaForConditionalGeneration(config)
    model.save_pretrained(folder)
    pixels = transformers.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}, do_center_crop=True
    )
    transformers.LlavaProcessor(
        image_processor=pixels,
        tokenizer=tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=SEES,
    ).save_pretrained(folder)
    return folder


def write_clip(folder: Path, *, seed: int = 0) -> Path:
    """Write an untrained CLIP: two layers, 32 wide, pictures of 32 x 32."""
    torch, transformers = import_module("torch"), import_module("transformers")
    tokenizer = character_tokenizer(transformers)
    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    # CLIP's embedding of a sentence is that of its last token.
    ending = import_module("tokenizers.processors").TemplateProcessing("$A <s>", special_tokens=[("<s>", 1)])
    tokenizer.backend_tokenizer.post_processor = ending
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    ends = {"eos_token_id": 1, "bos_token_id": 1, "pad_token_id": 0}
    text = {**small, **ends, "vocab_size": len(tokenizer), "max_position_embeddings": 80}
    vision = {**small, "image_size": 32, "patch_size": 8}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformers.CLIPModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def character_tokenizer(transformers: Any, tokens: tuple[str, ...] = TOKENS) -> Any:
    tokenizers = import_module("tokenizers")
    words = tokenizers.models.WordLevel(
        {token: number for number, token in enumerate(tokens)}, SPECIAL["unk_token"]
    )
    tokenizer = tokenizers.Tokenizer(words)
    merged = "|".join(re.escape(token) for token in tokens[len(SPECIAL) + 1 :] if len(token) > 1)
    pattern = tokenizers.Regex(f"{merged}|[\\s\\S]") if merged else ""
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(pattern, "isolated")
    tokenizer.decoder = tokenizers.decoders.Fuse()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL)
