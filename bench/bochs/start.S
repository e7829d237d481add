# From the first sector of a disk to long mode: the whole image is read to where this sector lies, every
# vector and tile register is switched on, and main runs with 2 MiB pages of which some are left out.
        .code16
        .section .boot, "ax"
        .globl start
start:  cli
        xorw %ax, %ax
        movw %ax, %ds
        movw %ax, %es
        movw %ax, %ss
        movw $0x7c00, %sp
        movw $image_chunks, %cx
# The BIOS reads 32 sectors at a time.
read:   pushw %cx
        movb $0x80, %dl
        movw $packet, %si
        movb $0x42, %ah
        int $0x13
        jc stop
        popw %cx
        addl $32, packet_block
        addw $0x400, packet_segment
        loop read
# The BIOS has turned interrupts on; nobody is there to serve them.
        cli
        movb $2, %al
        outb %al, $0x92

# Page tables at 0x1000: one entry each to the table of 2 MiB pages, present where the mask has a bit.
        cld
        movw $0x1000, %di
        movw $0xc00, %cx
        xorl %eax, %eax
        rep stosl
        movw $0x2003, 0x1000
        movw $0x3003, 0x2000
        movl $MAPPED, %ebx
        movl $0x83, %eax
        movw $0x3000, %di
page:   testb $1, %bl
        jz next
        movl %eax, (%di)
next:   addl $0x200000, %eax
        addw $8, %di
        shrl $1, %ebx
        jnz page

# PAE, FXSR, exceptions of vectors, XSAVE; long mode; paging.
        movl $0x40620, %eax
        movl %eax, %cr4
        movl $0x1000, %eax
        movl %eax, %cr3
        movl $0xc0000080, %ecx
        rdmsr
        orw $0x100, %ax
        wrmsr
        lgdt table
        movl $0x80000013, %eax
        movl %eax, %cr0
        ljmp $8, $long_mode
stop:   hlt
        jmp stop

        .balign 8
gdt:    .quad 0
        .quad 0x00af9a000000ffff
        .quad 0x00cf92000000ffff
table:  .word . - gdt - 1
        .long gdt
        .balign 4
packet: .word 16, 32, 0
packet_segment:
        .word 0x7c0
packet_block:
        .quad 0
        .org 510
        .word 0xaa55

        .code64
        .text
long_mode:
        movw $16, %ax
        movw %ax, %ds
        movw %ax, %es
        movw %ax, %ss
        movl $STACK, %esp
# x87, SSE, AVX, the three parts of AVX-512, and the two of AMX.
        xorl %ecx, %ecx
        xorl %edx, %edx
        movl $0x600e7, %eax
        xsetbv
        fninit
        movl $bss_start, %edi
        movl $bss_end, %ecx
        subl %edi, %ecx
        xorl %eax, %eax
        rep stosb
# An exception ends the run: each has an entry of 8 bytes that says its number.
        movl $interrupts, %edi
        movl $32, %ecx
        movl $entries, %eax
gate:   movw %ax, (%rdi)
        movw $8, 2(%rdi)
        movw $0x8e00, 4(%rdi)
        movl %eax, %edx
        shrl $16, %edx
        movl %edx, 6(%rdi)
        addl $16, %edi
        addl $8, %eax
        loop gate
        lidt interrupt_table
        call main
# Bochs ends at this word on its own port.
farewell:
        movw $0x8900, %dx
        movl $word, %esi
        movl $8, %ecx
        cld
        rep outsb
halt:   hlt
        jmp halt
        .balign 8
entries:
        .set number, 0
        .rept 32
        movb $number, %cl
        jmp exception
        .balign 8
        .set number, number + 1
        .endr
exception:
        movzbl %cl, %edi
        movq %cr2, %rsi
        movl $STACK, %esp
        call stopped
        jmp farewell
        .section .rodata
word:   .ascii "Shutdown"
interrupt_table:
        .word 32 * 16 - 1
        .quad interrupts
        .local interrupts
        .comm interrupts, 512, 16
        .section .note.GNU-stack, "", @progbits
