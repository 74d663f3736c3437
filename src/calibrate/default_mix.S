// SPDX-License-Identifier: Apache-2.0
// The calibration text that travels inside the program, between two symbols.
    .section .rodata.ingot_default_mix, "a", %progbits
    .globl ingot_default_mix_begin
    .type ingot_default_mix_begin, %object
ingot_default_mix_begin:
    .incbin INGOT_DEFAULT_MIX
    .globl ingot_default_mix_end
    .type ingot_default_mix_end, %object
ingot_default_mix_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
