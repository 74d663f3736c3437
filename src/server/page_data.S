// SPDX-License-Identifier: Apache-2.0
// The packed page and its Content-Security-Policy, byte for byte, each between two symbols.
    .section .rodata.ingot_page, "a", %progbits
    .globl ingot_page_begin
    .type ingot_page_begin, %object
ingot_page_begin:
    .incbin INGOT_PAGE
    .globl ingot_page_end
    .type ingot_page_end, %object
ingot_page_end:
    .byte 0
    .globl ingot_page_policy_begin
    .type ingot_page_policy_begin, %object
ingot_page_policy_begin:
    .incbin INGOT_PAGE_POLICY
    .globl ingot_page_policy_end
    .type ingot_page_policy_end, %object
ingot_page_policy_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
