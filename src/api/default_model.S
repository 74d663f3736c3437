// SPDX-License-Identifier: Apache-2.0
// The default model's GGUF file, byte for byte, between two symbols; empty when the build had none.
// On a page boundary, as a mapped file would be: tensors inside keep the alignment of the format.
    .section .rodata.ingot_default_model, "a", %progbits
    .balign 4096
    .globl ingot_default_model_begin
    .type ingot_default_model_begin, %object
ingot_default_model_begin:
#ifdef INGOT_DEFAULT_MODEL
    .incbin INGOT_DEFAULT_MODEL
#endif
    .globl ingot_default_model_end
    .type ingot_default_model_end, %object
ingot_default_model_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
