// For a build with STATIC=1: what libcurl calls of other libraries, each of which is loaded when something of it is first
// called. A function stands here under its own name and goes on to where its library has it, with the arguments as they
// came. Which they are, and of which libraries, tools/curl_needs.sh asks the installed archive.
#ifdef TRANSFER_RUN_IS_STATIC

#if defined(__x86_64__)
// r11 is nobody's between a call and the first line of what was called.
.macro FUNCTION name, library
    .text
    .globl \name
    .hidden \name
    .type \name, @function
    .balign 16
\name:
    mov known_\name(%rip), %r11
    test %r11, %r11
    jz 1f
    jmp *%r11
1:  lea needed_\name(%rip), %r11
    jmp find
    .size \name, . - \name
    NEED \name, \library
.endm

find:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    push %rax
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    sub $136, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    mov %r11, %rdi
    call tr_curl_need
    mov %rax, %r11
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    add $136, %rsp
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    pop %rax
    pop %rbp
    .cfi_def_cfa %rsp, 8
    jmp *%r11
    .cfi_endproc

#elif defined(__aarch64__)
// x16 and x17 are nobody's between a call and the first line of what was called.
.macro FUNCTION name, library
    .text
    .globl \name
    .hidden \name
    .type \name, %function
    .balign 16
\name:
    adrp x16, known_\name
    ldr x16, [x16, :lo12:known_\name]
    cbz x16, 1f
    br x16
1:  adrp x17, needed_\name
    add x17, x17, :lo12:needed_\name
    b find
    .size \name, . - \name
    NEED \name, \library
.endm

find:
    .cfi_startproc
    stp x29, x30, [sp, #-208]!
    .cfi_def_cfa_offset 208
    .cfi_offset x29, -208
    .cfi_offset x30, -200
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    str x8, [sp, #80]
    stp q0, q1, [sp, #80 + 16]
    stp q2, q3, [sp, #80 + 48]
    str q4, [sp, #80 + 80]
    str q5, [sp, #80 + 96]
    mov x0, x17
    bl tr_curl_need
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x8, [sp, #80]
    ldp q0, q1, [sp, #80 + 16]
    ldp q2, q3, [sp, #80 + 48]
    ldr q4, [sp, #80 + 80]
    ldr q5, [sp, #80 + 96]
    ldp x29, x30, [sp], #208
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
#endif

// Three places, told by how far they are from here, so that nothing must be put right at the start: where the address is
// kept, the library's name, the function's.
.macro NEED name, library
    .local known_\name
    .comm known_\name, 8, 8
    .section .rodata
    .balign 4
needed_\name:
    .long known_\name - .
    .long \library - .
    .asciz "\name"
.endm

.macro NAMED name, label
    .section .rodata
\label:
    .asciz "\name"
.endm

// Of a library for protocols that are not spoken here: libssh2 (0: it is ready), librtmp, libldap (-1: it has nothing to tell).
.macro ANSWER name, value
    .text
    .globl \name
    .hidden \name
    .type \name, %function
    .balign 16
\name:
#if defined(__x86_64__)
    mov $\value, %rax
#elif defined(__aarch64__)
    mov x0, #\value
#endif
    ret
    .size \name, . - \name
.endm

#define LIBRARY(name, label) NAMED name, label
#define LATE(name, library) FUNCTION name, library
#define DATA(name, library)
#define ANSWERED(name, value) ANSWER name, value
#include "needs_table.h"
#endif
.section .note.GNU-stack, "", %progbits
