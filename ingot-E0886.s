	.file	"LLVMDialectModule"
	.section	.rodata.cst32,"aM",@progbits,32
	.p2align	5, 0x0
.LCPI0_0:
	.long	24
	.long	25
	.long	26
	.long	27
	.long	28
	.long	29
	.long	30
	.long	31
.LCPI0_1:
	.long	16
	.long	17
	.long	18
	.long	19
	.long	20
	.long	21
	.long	22
	.long	23
.LCPI0_2:
	.long	8
	.long	9
	.long	10
	.long	11
	.long	12
	.long	13
	.long	14
	.long	15
.LCPI0_3:
	.long	0
	.long	1
	.long	2
	.long	3
	.long	4
	.long	5
	.long	6
	.long	7
.LCPI0_5:
	.zero	32,128
.LCPI0_6:
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.short	1
	.section	.rodata.cst4,"aM",@progbits,4
	.p2align	2, 0x0
.LCPI0_4:
	.long	2147483648
.LCPI0_7:
	.long	0x3b800000
.LCPI0_8:
	.long	0x36000000
.LCPI0_9:
	.long	0x5f800000
.LCPI0_10:
	.long	0x21800000
.LCPI0_11:
	.long	0x43000000
.LCPI0_12:
	.long	0x7f800000
.LCPI0_13:
	.zero	4,128
.LCPI0_14:
	.short	1
	.short	1
	.text
	.globl	linear_0_keys
	.p2align	4
	.type	linear_0_keys,@function
linear_0_keys:
	pushq	%rbp
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	subq	$584, %rsp
	movq	%r8, 80(%rsp)
	movq	%rcx, 504(%rsp)
	movq	%rdx, 40(%rsp)
	movq	(%rdi), %rax
	movq	%rax, -96(%rsp)
	movq	8(%rdi), %rax
	movq	%rax, 72(%rsp)
	movq	16(%rdi), %rdx
	movq	16(%rsi), %rsi
	movq	%r9, -120(%rsp)
	leaq	224(%r9), %rax
	xorl	%ecx, %ecx
	vbroadcastss	.LCPI0_4(%rip), %ymm0
	vmovups	%ymm0, 192(%rsp)
	vpxor	%xmm1, %xmm1, %xmm1
	vmovdqu	192(%rsp), %ymm0
	cmpq	%rsi, %rcx
	jge	.LBB0_3
	.p2align	4
.LBB0_2:
	vmovdqa	%ymm0, -224(%rax)
	vmovdqa	%ymm1, -96(%rax)
	vmovdqa	%ymm0, -192(%rax)
	vmovdqa	%ymm1, -64(%rax)
	vmovdqa	%ymm0, -160(%rax)
	vmovdqa	%ymm1, -32(%rax)
	vmovdqa	%ymm0, -128(%rax)
	vmovdqa	%ymm1, (%rax)
	incq	%rcx
	addq	$256, %rax
	cmpq	%rsi, %rcx
	jl	.LBB0_2
.LBB0_3:
	movq	%rdx, 440(%rsp)
	movq	%rsi, -80(%rsp)
	movq	%rsi, %rax
	shlq	$6, %rax
	addq	$-64, %rax
	movq	-120(%rsp), %rcx
	movq	%rax, 16384(%rcx)
	leaq	16960(%rcx), %rdi
	movq	-96(%rsp), %rcx
	leaq	64(%rcx), %rax
	addq	$128, %rcx
	xorl	%edx, %edx
	movabsq	$-9223372034711486464, %rsi
	vpxor	%xmm1, %xmm1, %xmm1
	vmovd	.LCPI0_7(%rip), %xmm2
	vmovd	.LCPI0_8(%rip), %xmm3
	vmovd	.LCPI0_9(%rip), %xmm4
	vpxor	%xmm5, %xmm5, %xmm5
	vmovd	.LCPI0_10(%rip), %xmm6
	vmovd	.LCPI0_11(%rip), %xmm7
	vmovd	.LCPI0_12(%rip), %xmm8
	movq	%rdi, -40(%rsp)
	jmp	.LBB0_4
	.p2align	4
.LBB0_10:
	incq	%rdx
	addq	$256, %rax
	addq	$8, %rdi
	addq	$256, %rcx
.LBB0_4:
	cmpq	-80(%rsp), %rdx
	jge	.LBB0_11
	movq	-120(%rsp), %r8
	movq	%rsi, 16448(%r8,%rdx,8)
	movq	%rcx, %r8
	xorl	%r9d, %r9d
	jmp	.LBB0_6
	.p2align	4
.LBB0_9:
	vmovss	%xmm9, (%rdi,%r9,4)
	incq	%r9
	addq	$32, %r8
.LBB0_6:
	cmpq	$1, %r9
	jg	.LBB0_10
	vpabsb	(%r8), %ymm9
	vpsadbw	%ymm1, %ymm9, %ymm9
	vextracti128	$1, %ymm9, %xmm10
	vpaddq	%xmm10, %xmm9, %xmm9
	vmovq	%xmm9, %r10
	vpextrq	$1, %xmm9, %r11
	addl	%r11d, %r10d
	vmovd	%r10d, %xmm9
	vcvtdq2ps	%xmm9, %xmm9
	vpabsb	-128(%r8), %ymm10
	vmulss	%xmm2, %xmm9, %xmm9
	vpsadbw	%ymm1, %ymm10, %ymm10
	vextracti128	$1, %ymm10, %xmm11
	vpaddq	%xmm11, %xmm10, %xmm10
	vmovq	%xmm10, %r10
	vpextrq	$1, %xmm10, %r11
	addl	%r11d, %r10d
	vmovd	%r10d, %xmm10
	vcvtdq2ps	%xmm10, %xmm10
	vaddss	%xmm10, %xmm9, %xmm10
	vfmadd132ss	%xmm3, %xmm9, %xmm10
	vmovss	(%rax,%r9,4), %xmm9
	xorl	%r10d, %r10d
	vucomiss	%xmm9, %xmm4
	setae	%r10b
	xorl	%r11d, %r11d
	vucomiss	%xmm9, %xmm5
	setae	%r11b
	vucomiss	%xmm6, %xmm9
	cmovael	%r10d, %r11d
	vmulss	%xmm7, %xmm10, %xmm9
	testb	%r11b, %r11b
	jne	.LBB0_9
	vmovdqa	%xmm8, %xmm9
	jmp	.LBB0_9
.LBB0_11:
	imulq	$2176, 80(%rsp), %rax
	movq	%rax, 104(%rsp)
	movq	-96(%rsp), %rcx
	leaq	768(%rcx), %rax
	movq	%rax, 96(%rsp)
	imulq	$2176, 40(%rsp), %rax
	movq	72(%rsp), %rdx
	leaq	(%rdx,%rax), %rsi
	movq	%rsi, 432(%rsp)
	leaq	896(%rcx), %rsi
	movq	%rsi, 88(%rsp)
	leaq	256(%rcx), %rsi
	movq	%rsi, 64(%rsp)
	leaq	32(%rdx,%rax), %rsi
	movq	%rsi, 424(%rsp)
	leaq	384(%rcx), %rsi
	leaq	128(%rcx), %rdi
	movq	%rdi, 56(%rsp)
	leaq	544(%rdx,%rax), %rax
	movq	%rax, 416(%rsp)
	vpbroadcastd	.LCPI0_13(%rip), %ymm1
	vpbroadcastd	.LCPI0_14(%rip), %ymm2
	movq	$0, 48(%rsp)
	movq	%rcx, -48(%rsp)
	movq	%rsi, %rcx
	xorl	%esi, %esi
	movl	$120, %edx
	movq	-80(%rsp), %rax
	jmp	.LBB0_12
	.p2align	4
.LBB0_124:
	addq	$30720, 96(%rsp)
	addq	$30720, 88(%rsp)
	addq	$30720, -48(%rsp)
	addq	$30720, 64(%rsp)
	addq	$120, %rdx
	addq	$-120, 48(%rsp)
	movq	456(%rsp), %rcx
	addq	$30720, %rcx
	addq	$30720, 56(%rsp)
	movq	448(%rsp), %rsi
.LBB0_12:
	cmpq	%rdx, %rax
	movq	%rdx, %rdi
	cmovlq	%rax, %rdi
	cmpq	%rax, %rsi
	jge	.LBB0_125
	addq	48(%rsp), %rdi
	movq	%rdi, %r8
	andq	$-4, %r8
	shlq	$8, %r8
	andl	$2, %edi
	shll	$8, %edi
	orq	%r8, %rdi
	movq	%rsi, -72(%rsp)
	movq	-48(%rsp), %rsi
	addq	%rsi, %rdi
	movq	%rcx, 456(%rsp)
	addq	%r8, %rcx
	movq	%rcx, 480(%rsp)
	movq	56(%rsp), %rcx
	addq	%r8, %rcx
	movq	%rcx, 472(%rsp)
	movq	64(%rsp), %rcx
	addq	%r8, %rcx
	movq	%rcx, 464(%rsp)
	addq	%rsi, %r8
	movq	%r8, 488(%rsp)
	movq	-72(%rsp), %rcx
	leaq	120(%rcx), %rsi
	cmpq	%rax, %rsi
	movq	%rax, %r8
	movq	%rsi, 448(%rsp)
	cmovlq	%rsi, %r8
	movq	%r8, %rsi
	subq	%rcx, %rsi
	andq	$-4, %rsi
	addq	%rcx, %rsi
	movq	%r8, 512(%rsp)
	subq	%rsi, %r8
	andq	$-2, %r8
	movq	%rsi, 136(%rsp)
	addq	%rsi, %r8
	movq	%r8, 128(%rsp)
	movq	416(%rsp), %rsi
	movq	%rsi, -56(%rsp)
	movq	424(%rsp), %rsi
	movq	%rsi, 120(%rsp)
	movq	432(%rsp), %rsi
	movq	%rsi, 152(%rsp)
	movq	40(%rsp), %rsi
	movq	%rdi, -8(%rsp)
	movq	%rdx, 496(%rsp)
	jmp	.LBB0_14
	.p2align	4
.LBB0_123:
	movq	112(%rsp), %rsi
	addq	80(%rsp), %rsi
	movq	104(%rsp), %rax
	addq	%rax, 152(%rsp)
	addq	%rax, 120(%rsp)
	addq	%rax, -56(%rsp)
	movq	-80(%rsp), %rax
	movq	496(%rsp), %rdx
	movq	-72(%rsp), %rcx
.LBB0_14:
	cmpq	504(%rsp), %rsi
	jge	.LBB0_124
	movq	%rsi, %rdx
	imulq	$2176, %rsi, %rsi
	addq	72(%rsp), %rsi
	movq	104(%rsp), %rax
	addq	%rsi, %rax
	movq	%rax, 144(%rsp)
	vmovd	%edx, %xmm5
	vpbroadcastd	%xmm5, %ymm0
	vmovdqu	%ymm0, 544(%rsp)
	movq	%rdx, 112(%rsp)
	shlq	$5, %rdx
	movq	%rdx, 352(%rsp)
	movq	-48(%rsp), %rax
	movq	%rax, -112(%rsp)
	movq	88(%rsp), %rax
	movq	%rax, -88(%rsp)
	movq	96(%rsp), %rax
	movq	%rax, 160(%rsp)
	movq	%rcx, %r8
	jmp	.LBB0_16
	.p2align	4
.LBB0_51:
	addq	$4, %r8
	addq	$1024, 160(%rsp)
	addq	$1024, -88(%rsp)
	addq	$1024, -112(%rsp)
.LBB0_16:
	cmpq	136(%rsp), %r8
	jge	.LBB0_52
	movq	%r8, %rcx
	shlq	$8, %rcx
	movq	-96(%rsp), %rax
	leaq	(%rax,%rcx), %r11
	movq	%r8, %rbp
	subq	-72(%rsp), %rbp
	shlq	$8, %rbp
	cmpq	$2176, %rbp
	movl	$2176, %eax
	cmovgeq	%rax, %rbp
	addq	144(%rsp), %rbp
	movq	-120(%rsp), %rax
	addq	%rax, %rcx
	movq	%rcx, -64(%rsp)
	leaq	(,%r8,8), %rcx
	movq	%rcx, -104(%rsp)
	movq	%r8, %rcx
	orq	$1, %rcx
	movq	%rcx, -16(%rsp)
	shlq	$8, %rcx
	addq	%rax, %rcx
	movq	%rcx, -24(%rsp)
	movq	%r8, %rcx
	orq	$2, %rcx
	movq	%rcx, -32(%rsp)
	shlq	$8, %rcx
	addq	%rax, %rcx
	movq	%rcx, 536(%rsp)
	movq	%r8, %rcx
	orq	$3, %rcx
	movq	%rcx, 528(%rsp)
	shlq	$8, %rcx
	addq	%rax, %rcx
	movq	%rcx, 520(%rsp)
	movq	-40(%rsp), %rax
	leaq	(%rax,%r8,8), %rax
	movq	%rax, 256(%rsp)
	xorl	%ecx, %ecx
	movq	$0, 320(%rsp)
	xorl	%r10d, %r10d
	movq	%r8, 224(%rsp)
	jmp	.LBB0_18
	.p2align	4
.LBB0_49:
	vpxor	%xmm7, %xmm7, %xmm7
	vaddps	%ymm7, %ymm6, %ymm3
	vpsrad	$31, %ymm3, %ymm4
	vpsrld	$1, %ymm4, %ymm4
	vpxor	%ymm3, %ymm4, %ymm3
	vcmpordps	%ymm7, %ymm6, %ymm4
	movq	352(%rsp), %rax
	addl	%r10d, %eax
	movl	$97, %ecx
	subl	%eax, %ecx
	vmovd	%ecx, %xmm5
	vpbroadcastd	%xmm5, %ymm5
	vpcmpgtd	.LCPI0_3(%rip), %ymm5, %ymm6
	vpand	%ymm4, %ymm6, %ymm4
	vmovups	192(%rsp), %ymm0
	vblendvps	%ymm4, %ymm3, %ymm0, %ymm3
	movq	-64(%rsp), %rax
	vmovdqa	(%rax,%r10,4), %ymm4
	vpcmpgtd	%ymm4, %ymm3, %ymm5
	vpmaxsd	%ymm3, %ymm4, %ymm4
	vmovdqa	%ymm4, (%rax,%r10,4)
	vmovdqu	544(%rsp), %ymm8
	vpmaskmovd	%ymm8, %ymm5, 128(%rax,%r10,4)
	vextracti128	$1, %ymm3, %xmm4
	vpmaxsd	%xmm4, %xmm3, %xmm3
	vpshufd	$238, %xmm3, %xmm4
	vpmaxsd	%xmm4, %xmm3, %xmm3
	vmovd	%xmm3, %eax
	vpextrd	$1, %xmm3, %ecx
	cmpl	%ecx, %eax
	cmovgl	%eax, %ecx
	movq	-120(%rsp), %rdx
	movq	-104(%rsp), %rdi
	movl	16452(%rdx,%rdi), %eax
	cmpl	%eax, %ecx
	cmovlel	%eax, %ecx
	movl	%ecx, 16452(%rdx,%rdi)
	movl	%ecx, %eax
	sarl	$31, %eax
	andl	$2147483647, %eax
	xorl	%ecx, %eax
	movl	%eax, 16448(%rdx,%rdi)
	vaddps	%ymm7, %ymm11, %ymm3
	vpsrad	$31, %ymm3, %ymm4
	vpsrld	$1, %ymm4, %ymm4
	vpxor	%ymm3, %ymm4, %ymm3
	vcmpordps	%ymm7, %ymm11, %ymm4
	vpand	%ymm4, %ymm6, %ymm4
	vblendvps	%ymm4, %ymm3, %ymm0, %ymm3
	movq	-24(%rsp), %rax
	vmovdqa	(%rax,%r10,4), %ymm4
	vpcmpgtd	%ymm4, %ymm3, %ymm5
	vpmaxsd	%ymm3, %ymm4, %ymm4
	vmovdqa	%ymm4, (%rax,%r10,4)
	vpmaskmovd	%ymm8, %ymm5, 128(%rax,%r10,4)
	vextracti128	$1, %ymm3, %xmm4
	vpmaxsd	%xmm4, %xmm3, %xmm3
	vpshufd	$238, %xmm3, %xmm4
	vpmaxsd	%xmm4, %xmm3, %xmm3
	vmovd	%xmm3, %eax
	vpextrd	$1, %xmm3, %ecx
	cmpl	%ecx, %eax
	cmovgl	%eax, %ecx
	movq	-16(%rsp), %rdi
	movl	16452(%rdx,%rdi,8), %eax
	cmpl	%eax, %ecx
	cmovlel	%eax, %ecx
	movl	%ecx, 16452(%rdx,%rdi,8)
	movl	%ecx, %eax
	sarl	$31, %eax
	andl	$2147483647, %eax
	xorl	%ecx, %eax
	movl	%eax, 16448(%rdx,%rdi,8)
	vaddps	%ymm7, %ymm10, %ymm3
	vpsrad	$31, %ymm3, %ymm4
	vpsrld	$1, %ymm4, %ymm4
	vpxor	%ymm3, %ymm4, %ymm3
	vcmpordps	%ymm7, %ymm10, %ymm4
	vpand	%ymm4, %ymm6, %ymm4
	vblendvps	%ymm4, %ymm3, %ymm0, %ymm3
	movq	536(%rsp), %rax
	vmovdqa	(%rax,%r10,4), %ymm4
	vpcmpgtd	%ymm4, %ymm3, %ymm5
	vpmaxsd	%ymm3, %ymm4, %ymm4
	vmovdqa	%ymm4, (%rax,%r10,4)
	vpmaskmovd	%ymm8, %ymm5, 128(%rax,%r10,4)
	vextracti128	$1, %ymm3, %xmm4
	vpmaxsd	%xmm4, %xmm3, %xmm3
	vpshufd	$238, %xmm3, %xmm4
	vpmaxsd	%xmm4, %xmm3, %xmm3
	vmovd	%xmm3, %eax
	vpextrd	$1, %xmm3, %ecx
	cmpl	%ecx, %eax
	cmovgl	%eax, %ecx
	movq	-32(%rsp), %rdi
	movl	16452(%rdx,%rdi,8), %eax
	cmpl	%eax, %ecx
	cmovlel	%eax, %ecx
	movl	%ecx, 16452(%rdx,%rdi,8)
	movl	%ecx, %eax
	sarl	$31, %eax
	andl	$2147483647, %eax
	xorl	%ecx, %eax
	movl	%eax, 16448(%rdx,%rdi,8)
	vaddps	%ymm7, %ymm9, %ymm3
	vpsrad	$31, %ymm3, %ymm4
	vpsrld	$1, %ymm4, %ymm4
	vpxor	%ymm3, %ymm4, %ymm3
	vcmpordps	%ymm7, %ymm9, %ymm4
	vpand	%ymm4, %ymm6, %ymm4
	vblendvps	%ymm4, %ymm3, %ymm0, %ymm3
	movq	520(%rsp), %rax
	vmovdqa	(%rax,%r10,4), %ymm4
	vpcmpgtd	%ymm4, %ymm3, %ymm5
	vpmaxsd	%ymm3, %ymm4, %ymm4
	vmovdqa	%ymm4, (%rax,%r10,4)
	vpmaskmovd	%ymm8, %ymm5, 128(%rax,%r10,4)
	vextracti128	$1, %ymm3, %xmm4
	vpmaxsd	%xmm4, %xmm3, %xmm3
	vpshufd	$238, %xmm3, %xmm4
	vpmaxsd	%xmm4, %xmm3, %xmm3
	vmovd	%xmm3, %eax
	vpextrd	$1, %xmm3, %ecx
	cmpl	%ecx, %eax
	cmovgl	%eax, %ecx
	movq	528(%rsp), %rdi
	movl	16452(%rdx,%rdi,8), %eax
	cmpl	%eax, %ecx
	cmovlel	%eax, %ecx
	movl	%ecx, 16452(%rdx,%rdi,8)
	movl	%ecx, %eax
	sarl	$31, %eax
	andl	$2147483647, %eax
	xorl	%ecx, %eax
	movl	%eax, 16448(%rdx,%rdi,8)
.LBB0_50:
	addq	$8, %r10
	addq	$256, 320(%rsp)
	movq	384(%rsp), %rcx
	xorb	$1, %cl
	movq	-8(%rsp), %rdi
.LBB0_18:
	cmpq	$31, %r10
	jg	.LBB0_51
	movq	320(%rsp), %rax
	andq	$-512, %rax
	movq	%rcx, 384(%rsp)
	movzbl	%cl, %r14d
	andl	$1, %r14d
	shll	$5, %r14d
	orq	%rax, %r14
	addq	152(%rsp), %r14
	movq	-120(%rsp), %rax
	cmpq	$0, 16384(%rax)
	jle	.LBB0_40
	vxorps	%xmm10, %xmm10, %xmm10
	movq	%r14, %rcx
	movq	160(%rsp), %rdx
	xorl	%ebx, %ebx
	vxorps	%xmm9, %xmm9, %xmm9
	vpxor	%xmm7, %xmm7, %xmm7
	vpxor	%xmm6, %xmm6, %xmm6
	jmp	.LBB0_21
	.p2align	4
.LBB0_25:
	vcvtph2ps	1024(%rax,%r10,2), %ymm3
	vbroadcastss	64(%r11,%rbx,4), %ymm5
	vmulps	%ymm3, %ymm5, %ymm5
	vcvtdq2ps	%ymm14, %ymm14
	vandps	192(%rsp), %ymm3, %ymm15
	movq	256(%rsp), %rax
	vbroadcastss	(%rax,%rbx,4), %ymm4
	vxorps	%ymm4, %ymm15, %ymm4
	vaddps	%ymm4, %ymm14, %ymm4
	vfmadd231ps	%ymm4, %ymm5, %ymm10
	vbroadcastss	320(%r11,%rbx,4), %ymm4
	vmulps	%ymm3, %ymm4, %ymm4
	vcvtdq2ps	%ymm13, %ymm5
	vbroadcastss	8(%rax,%rbx,4), %ymm13
	vxorps	%ymm15, %ymm13, %ymm13
	vaddps	%ymm5, %ymm13, %ymm5
	vfmadd231ps	%ymm5, %ymm4, %ymm9
	vbroadcastss	576(%r11,%rbx,4), %ymm4
	vmulps	%ymm3, %ymm4, %ymm4
	vcvtdq2ps	%ymm12, %ymm5
	vbroadcastss	16(%rax,%rbx,4), %ymm12
	vxorps	%ymm15, %ymm12, %ymm12
	vaddps	%ymm5, %ymm12, %ymm5
	vfmadd231ps	%ymm5, %ymm4, %ymm7
	vbroadcastss	832(%r11,%rbx,4), %ymm4
	vmulps	%ymm3, %ymm4, %ymm3
	vcvtdq2ps	%ymm11, %ymm4
	vbroadcastss	24(%rax,%rbx,4), %ymm5
	vxorps	%ymm5, %ymm15, %ymm5
	vaddps	%ymm5, %ymm4, %ymm4
	vfmadd231ps	%ymm4, %ymm3, %ymm6
	incq	%rbx
	addq	$32, %rdx
	addq	$1088, %rcx
.LBB0_21:
	cmpq	$1, %rbx
	jg	.LBB0_26
	imulq	$1088, %rbx, %rdi
	leaq	(%rsi,%rdi), %rax
	prefetcht0	4096(%rsi,%rdi)
	prefetcht0	4160(%rsi,%rdi)
	prefetcht0	4224(%rsi,%rdi)
	prefetcht0	4288(%rsi,%rdi)
	prefetcht0	4352(%rsi,%rdi)
	prefetcht0	4416(%rsi,%rdi)
	prefetcht0	4480(%rsi,%rdi)
	prefetcht0	4544(%rsi,%rdi)
	prefetcht0	4608(%rsi,%rdi)
	prefetcht0	4672(%rsi,%rdi)
	prefetcht0	4736(%rsi,%rdi)
	prefetcht0	4800(%rsi,%rdi)
	prefetcht0	4864(%rsi,%rdi)
	prefetcht0	4928(%rsi,%rdi)
	prefetcht0	4992(%rsi,%rdi)
	prefetcht0	5056(%rsi,%rdi)
	prefetcht0	5120(%rsi,%rdi)
	leaq	(%rbx,%rbx,8), %rdi
	shlq	$6, %rdi
	prefetcht1	(%rbp,%rdi)
	prefetcht1	64(%rbp,%rdi)
	prefetcht1	128(%rbp,%rdi)
	prefetcht1	192(%rbp,%rdi)
	prefetcht1	256(%rbp,%rdi)
	prefetcht1	320(%rbp,%rdi)
	prefetcht1	384(%rbp,%rdi)
	prefetcht1	448(%rbp,%rdi)
	prefetcht1	512(%rbp,%rdi)
	vpxor	%xmm14, %xmm14, %xmm14
	movq	%rcx, %rdi
	xorl	%r9d, %r9d
	vpxor	%xmm13, %xmm13, %xmm13
	vpxor	%xmm12, %xmm12, %xmm12
	vpxor	%xmm11, %xmm11, %xmm11
	cmpq	$7, %r9
	jg	.LBB0_25
	.p2align	4
.LBB0_24:
	vpxor	(%rdi), %ymm1, %ymm5
	vpabsb	%ymm5, %ymm15
	vpbroadcastd	-768(%rdx,%r9,4), %ymm3
	vpsignb	%ymm5, %ymm3, %ymm3
	vpmaddubsw	%ymm3, %ymm15, %ymm3
	vpmaddwd	%ymm2, %ymm3, %ymm3
	vpaddd	%ymm3, %ymm14, %ymm14
	vpbroadcastd	-512(%rdx,%r9,4), %ymm3
	vpsignb	%ymm5, %ymm3, %ymm3
	vpmaddubsw	%ymm3, %ymm15, %ymm3
	vpmaddwd	%ymm2, %ymm3, %ymm3
	vpaddd	%ymm3, %ymm13, %ymm13
	vpbroadcastd	-256(%rdx,%r9,4), %ymm3
	vpsignb	%ymm5, %ymm3, %ymm3
	vpmaddubsw	%ymm3, %ymm15, %ymm3
	vpmaddwd	%ymm2, %ymm3, %ymm3
	vpaddd	%ymm3, %ymm12, %ymm12
	vpbroadcastd	(%rdx,%r9,4), %ymm3
	vpsignb	%ymm5, %ymm3, %ymm3
	vpmaddubsw	%ymm3, %ymm15, %ymm3
	vpmaddwd	%ymm2, %ymm3, %ymm3
	vpaddd	%ymm3, %ymm11, %ymm11
	incq	%r9
	addq	$64, %rdi
	cmpq	$7, %r9
	jle	.LBB0_24
	jmp	.LBB0_25
	.p2align	4
.LBB0_26:
	movq	-120(%rsp), %rdx
	movq	-104(%rsp), %rdi
	vbroadcastss	16448(%rdx,%rdi), %ymm3
	vcmpnleps	%ymm3, %ymm10, %ymm3
	xorl	%eax, %eax
	vtestps	%ymm3, %ymm3
	setne	%al
	vbroadcastss	16456(%rdx,%rdi), %ymm3
	vcmpnleps	%ymm3, %ymm9, %ymm3
	xorl	%ecx, %ecx
	vtestps	%ymm3, %ymm3
	setne	%cl
	leaq	(%rax,%rcx,2), %rax
	vbroadcastss	16464(%rdx,%rdi), %ymm3
	vcmpnleps	%ymm3, %ymm7, %ymm3
	xorl	%ecx, %ecx
	vtestps	%ymm3, %ymm3
	setne	%cl
	leaq	(%rax,%rcx,4), %rax
	vbroadcastss	16472(%rdx,%rdi), %ymm3
	vcmpnleps	%ymm3, %ymm6, %ymm3
	xorl	%ecx, %ecx
	vtestps	%ymm3, %ymm3
	setne	%cl
	leaq	(%rax,%rcx,8), %rax
	xorl	%edi, %edi
	testq	%rax, %rax
	setne	%dil
	movq	%rax, 288(%rsp)
	popcntl	%eax, %eax
	leaq	(%rax,%rax,2), %rax
	movq	16384(%rdx), %rcx
	negq	%rax
	addq	%rcx, %rax
	addq	$4, %rax
	movq	%rax, 16384(%rdx)
	shll	$2, %edi
	movq	%rdi, (%rsp)
	movq	352(%rsp), %rax
	addl	%r10d, %eax
	movl	$97, %ecx
	subl	%eax, %ecx
	vmovd	%ecx, %xmm3
	vpbroadcastd	%xmm3, %ymm6
	movq	-112(%rsp), %rdi
	xorl	%ecx, %ecx
	jmp	.LBB0_27
	.p2align	4
.LBB0_38:
	vpcmpgtd	.LCPI0_3(%rip), %ymm6, %ymm3
	movq	%r15, %rax
	shlq	$8, %rax
	movq	-120(%rsp), %r8
	addq	%r8, %rax
	vpxor	%xmm0, %xmm0, %xmm0
	vaddps	%ymm0, %ymm7, %ymm4
	vpsrad	$31, %ymm4, %ymm5
	vpsrld	$1, %ymm5, %ymm5
	vpxor	%ymm4, %ymm5, %ymm4
	vcmpordps	%ymm0, %ymm7, %ymm5
	vpand	%ymm5, %ymm3, %ymm3
	vmovups	192(%rsp), %ymm0
	vblendvps	%ymm3, %ymm4, %ymm0, %ymm3
	vmovdqa	(%rax,%r10,4), %ymm4
	vpcmpgtd	%ymm4, %ymm3, %ymm5
	vpmaxsd	%ymm3, %ymm4, %ymm4
	vmovdqa	%ymm4, (%rax,%r10,4)
	vmovdqu	544(%rsp), %ymm0
	vpmaskmovd	%ymm0, %ymm5, 128(%rax,%r10,4)
	vextracti128	$1, %ymm3, %xmm4
	vpmaxsd	%xmm4, %xmm3, %xmm3
	vpshufd	$238, %xmm3, %xmm4
	vpmaxsd	%xmm4, %xmm3, %xmm3
	vmovd	%xmm3, %eax
	vpextrd	$1, %xmm3, %edx
	cmpl	%edx, %eax
	cmovgl	%eax, %edx
	movl	16452(%r8,%r15,8), %eax
	cmpl	%eax, %edx
	cmovlel	%eax, %edx
	movl	%edx, 16452(%r8,%r15,8)
	movl	%edx, %eax
	sarl	$31, %eax
	andl	$2147483647, %eax
	xorl	%edx, %eax
	movl	%eax, 16448(%r8,%r15,8)
	movq	224(%rsp), %r8
	movq	%rbx, %r14
.LBB0_39:
	incq	%rcx
	addq	$256, %rdi
.LBB0_27:
	cmpq	(%rsp), %rcx
	jge	.LBB0_50
	movl	$1, %eax
	shlxq	%rcx, %rax, %rax
	testl	%eax, 288(%rsp)
	je	.LBB0_39
	movq	%rcx, %rax
	shlq	$8, %rax
	leaq	(%r8,%rcx), %r15
	leaq	(%r11,%rax), %r9
	addq	$128, %r9
	vxorps	%xmm7, %xmm7, %xmm7
	movq	%r14, %rbx
	movq	%r14, %r8
	movq	%rdi, %r13
	xorl	%r12d, %r12d
	jmp	.LBB0_30
	.p2align	4
.LBB0_37:
	vcvtph2ps	1024(%r14,%r10,2), %ymm3
	vbroadcastss	64(%r9,%r12,4), %ymm4
	vmulps	%ymm3, %ymm4, %ymm3
	vcvtdq2ps	%ymm5, %ymm4
	vfmadd231ps	%ymm4, %ymm3, %ymm7
	incq	%r12
	addq	$32, %r13
	addq	$1088, %r8
.LBB0_30:
	cmpq	$1, %r12
	jg	.LBB0_38
	imulq	$1088, %r12, %r14
	addq	%rsi, %r14
	vpxor	%xmm5, %xmm5, %xmm5
	movq	%r8, %rax
	xorl	%edx, %edx
	cmpq	$7, %rdx
	jg	.LBB0_34
	.p2align	4
.LBB0_33:
	vpxor	(%rax), %ymm1, %ymm3
	vpabsb	%ymm3, %ymm4
	vpbroadcastd	(%r13,%rdx,4), %ymm9
	vpsignb	%ymm3, %ymm9, %ymm3
	vpmaddubsw	%ymm3, %ymm4, %ymm3
	vpmaddwd	%ymm2, %ymm3, %ymm3
	vpaddd	%ymm3, %ymm5, %ymm5
	incq	%rdx
	addq	$64, %rax
	cmpq	$7, %rdx
	jle	.LBB0_33
.LBB0_34:
	vpslld	$8, %ymm5, %ymm5
	movq	%r8, %rax
	xorl	%edx, %edx
	cmpq	$7, %rdx
	jg	.LBB0_37
	.p2align	4
.LBB0_36:
	vpxor	(%rax), %ymm1, %ymm3
	vpabsb	%ymm3, %ymm4
	vpbroadcastd	128(%r13,%rdx,4), %ymm9
	vpsignb	%ymm3, %ymm9, %ymm3
	vpmaddubsw	%ymm3, %ymm4, %ymm3
	vpmaddwd	%ymm2, %ymm3, %ymm3
	vpaddd	%ymm3, %ymm5, %ymm5
	incq	%rdx
	addq	$64, %rax
	cmpq	$7, %rdx
	jle	.LBB0_36
	jmp	.LBB0_37
	.p2align	4
.LBB0_40:
	vpxor	%xmm6, %xmm6, %xmm6
	movq	-88(%rsp), %rbx
	movq	160(%rsp), %rdx
	xorl	%r13d, %r13d
	vxorps	%xmm11, %xmm11, %xmm11
	vxorps	%xmm10, %xmm10, %xmm10
	vxorps	%xmm9, %xmm9, %xmm9
	jmp	.LBB0_41
	.p2align	4
.LBB0_48:
	vcvtph2ps	1024(%rcx,%r10,2), %ymm3
	vbroadcastss	192(%r11,%r13,4), %ymm4
	vmulps	%ymm3, %ymm4, %ymm4
	vcvtdq2ps	%ymm14, %ymm5
	vfmadd231ps	%ymm5, %ymm4, %ymm6
	vbroadcastss	448(%r11,%r13,4), %ymm4
	vmulps	%ymm3, %ymm4, %ymm4
	vcvtdq2ps	%ymm13, %ymm5
	vfmadd231ps	%ymm5, %ymm4, %ymm11
	vbroadcastss	704(%r11,%r13,4), %ymm4
	vmulps	%ymm3, %ymm4, %ymm4
	vcvtdq2ps	%ymm12, %ymm5
	vfmadd231ps	%ymm5, %ymm4, %ymm10
	vbroadcastss	960(%r11,%r13,4), %ymm4
	vmulps	%ymm3, %ymm4, %ymm3
	vcvtdq2ps	%ymm7, %ymm4
	vfmadd231ps	%ymm4, %ymm3, %ymm9
	incq	%r13
	addq	$32, %rdx
	addq	$1088, %r14
	addq	$32, %rbx
.LBB0_41:
	cmpq	$1, %r13
	jg	.LBB0_49
	imulq	$1088, %r13, %rax
	leaq	(%rsi,%rax), %rcx
	prefetcht0	4096(%rsi,%rax)
	prefetcht0	4160(%rsi,%rax)
	prefetcht0	4224(%rsi,%rax)
	prefetcht0	4288(%rsi,%rax)
	prefetcht0	4352(%rsi,%rax)
	prefetcht0	4416(%rsi,%rax)
	prefetcht0	4480(%rsi,%rax)
	prefetcht0	4544(%rsi,%rax)
	prefetcht0	4608(%rsi,%rax)
	prefetcht0	4672(%rsi,%rax)
	prefetcht0	4736(%rsi,%rax)
	prefetcht0	4800(%rsi,%rax)
	prefetcht0	4864(%rsi,%rax)
	prefetcht0	4928(%rsi,%rax)
	prefetcht0	4992(%rsi,%rax)
	prefetcht0	5056(%rsi,%rax)
	prefetcht0	5120(%rsi,%rax)
	leaq	(,%r13,8), %rax
	addq	%r13, %rax
	shlq	$6, %rax
	prefetcht1	(%rbp,%rax)
	prefetcht1	64(%rbp,%rax)
	prefetcht1	128(%rbp,%rax)
	prefetcht1	192(%rbp,%rax)
	prefetcht1	256(%rbp,%rax)
	prefetcht1	320(%rbp,%rax)
	prefetcht1	384(%rbp,%rax)
	prefetcht1	448(%rbp,%rax)
	prefetcht1	512(%rbp,%rax)
	vpxor	%xmm7, %xmm7, %xmm7
	movq	%r14, %rax
	xorl	%edi, %edi
	vpxor	%xmm5, %xmm5, %xmm5
	vpxor	%xmm12, %xmm12, %xmm12
	vpxor	%xmm15, %xmm15, %xmm15
	cmpq	$7, %rdi
	jg	.LBB0_45
	.p2align	4
.LBB0_44:
	vpxor	(%rax), %ymm1, %ymm3
	vpabsb	%ymm3, %ymm4
	vpbroadcastd	-768(%rdx,%rdi,4), %ymm13
	vpsignb	%ymm3, %ymm13, %ymm13
	vpmaddubsw	%ymm13, %ymm4, %ymm13
	vpmaddwd	%ymm2, %ymm13, %ymm13
	vpaddd	%ymm7, %ymm13, %ymm7
	vpbroadcastd	-512(%rdx,%rdi,4), %ymm13
	vpsignb	%ymm3, %ymm13, %ymm13
	vpmaddubsw	%ymm13, %ymm4, %ymm13
	vpmaddwd	%ymm2, %ymm13, %ymm13
	vpaddd	%ymm5, %ymm13, %ymm5
	vpbroadcastd	-256(%rdx,%rdi,4), %ymm13
	vpsignb	%ymm3, %ymm13, %ymm13
	vpmaddubsw	%ymm13, %ymm4, %ymm13
	vpmaddwd	%ymm2, %ymm13, %ymm13
	vpaddd	%ymm13, %ymm12, %ymm12
	vpbroadcastd	(%rdx,%rdi,4), %ymm13
	vpsignb	%ymm3, %ymm13, %ymm3
	vpmaddubsw	%ymm3, %ymm4, %ymm3
	vpmaddwd	%ymm2, %ymm3, %ymm3
	vpaddd	%ymm3, %ymm15, %ymm15
	incq	%rdi
	addq	$64, %rax
	cmpq	$7, %rdi
	jle	.LBB0_44
.LBB0_45:
	vpslld	$8, %ymm7, %ymm14
	vpslld	$8, %ymm5, %ymm13
	vpslld	$8, %ymm12, %ymm12
	vpslld	$8, %ymm15, %ymm7
	movq	%r14, %rax
	xorl	%edi, %edi
	cmpq	$7, %rdi
	jg	.LBB0_48
	.p2align	4
.LBB0_47:
	vpxor	(%rax), %ymm1, %ymm3
	vpabsb	%ymm3, %ymm4
	vpbroadcastd	-768(%rbx,%rdi,4), %ymm5
	vpsignb	%ymm3, %ymm5, %ymm5
	vpmaddubsw	%ymm5, %ymm4, %ymm5
	vpmaddwd	%ymm2, %ymm5, %ymm5
	vpaddd	%ymm5, %ymm14, %ymm14
	vpbroadcastd	-512(%rbx,%rdi,4), %ymm5
	vpsignb	%ymm3, %ymm5, %ymm5
	vpmaddubsw	%ymm5, %ymm4, %ymm5
	vpmaddwd	%ymm2, %ymm5, %ymm5
	vpaddd	%ymm5, %ymm13, %ymm13
	vpbroadcastd	-256(%rbx,%rdi,4), %ymm5
	vpsignb	%ymm3, %ymm5, %ymm5
	vpmaddubsw	%ymm5, %ymm4, %ymm5
	vpmaddwd	%ymm2, %ymm5, %ymm5
	vpaddd	%ymm5, %ymm12, %ymm12
	vpbroadcastd	(%rbx,%rdi,4), %ymm5
	vpsignb	%ymm3, %ymm5, %ymm3
	vpmaddubsw	%ymm3, %ymm4, %ymm3
	vpmaddwd	%ymm2, %ymm3, %ymm3
	vpaddd	%ymm3, %ymm7, %ymm7
	incq	%rdi
	addq	$64, %rax
	cmpq	$7, %rdi
	jle	.LBB0_47
	jmp	.LBB0_48
	.p2align	4
.LBB0_52:
	movq	472(%rsp), %rax
	movq	%rax, -104(%rsp)
	movq	480(%rsp), %rax
	movq	%rax, -64(%rsp)
	movq	488(%rsp), %rax
	movq	%rax, 160(%rsp)
	movq	464(%rsp), %rax
	movq	%rax, -112(%rsp)
	movq	136(%rsp), %rcx
	jmp	.LBB0_53
	.p2align	4
.LBB0_88:
	movq	384(%rsp), %rcx
	addq	$2, %rcx
	addq	$512, -112(%rsp)
	addq	$512, 160(%rsp)
	addq	$512, -64(%rsp)
	addq	$512, -104(%rsp)
	movq	-8(%rsp), %rdi
.LBB0_53:
	cmpq	128(%rsp), %rcx
	jge	.LBB0_89
	movq	%rcx, %rdi
	shlq	$8, %rdi
	movq	-96(%rsp), %rax
	leaq	(%rax,%rdi), %r12
	movq	%rcx, %rdx
	subq	-72(%rsp), %rdx
	shlq	$8, %rdx
	cmpq	$2176, %rdx
	movl	$2176, %eax
	cmovgeq	%rax, %rdx
	addq	144(%rsp), %rdx
	movq	-120(%rsp), %rax
	addq	%rax, %rdi
	movq	%rdi, -16(%rsp)
	leaq	(,%rcx,8), %rdi
	movq	%rdi, -88(%rsp)
	movq	%rcx, %rdi
	orq	$1, %rdi
	movq	%rdi, -24(%rsp)
	shlq	$8, %rdi
	addq	%rax, %rdi
	movq	%rdi, -32(%rsp)
	movq	-40(%rsp), %rax
	movq	%rcx, 384(%rsp)
	leaq	(%rax,%rcx,8), %rax
	movq	%rax, 256(%rsp)
	movq	120(%rsp), %rax
	movq	%rax, 224(%rsp)
	xorl	%edi, %edi
	movq	%r12, 320(%rsp)
	jmp	.LBB0_55
	.p2align	4
.LBB0_86:
	vxorps	%xmm13, %xmm13, %xmm13
	vaddps	%ymm13, %ymm12, %ymm0
	vpsrad	$31, %ymm0, %ymm3
	vpsrld	$1, %ymm3, %ymm3
	vpxor	%ymm0, %ymm3, %ymm0
	vcmpordps	%ymm13, %ymm12, %ymm3
	movq	352(%rsp), %rax
	addl	%edi, %eax
	movl	$97, %ecx
	subl	%eax, %ecx
	vmovd	%ecx, %xmm4
	vpbroadcastd	%xmm4, %ymm4
	vpcmpgtd	.LCPI0_3(%rip), %ymm4, %ymm5
	vpand	%ymm3, %ymm5, %ymm3
	vmovups	192(%rsp), %ymm12
	vblendvps	%ymm3, %ymm0, %ymm12, %ymm0
	movq	-16(%rsp), %rax
	vmovdqa	(%rax,%rdi,4), %ymm3
	vmovdqa	32(%rax,%rdi,4), %ymm7
	vpcmpgtd	%ymm3, %ymm0, %ymm6
	vpmaxsd	%ymm0, %ymm3, %ymm3
	vmovdqa	%ymm3, (%rax,%rdi,4)
	vmovdqu	544(%rsp), %ymm14
	vpmaskmovd	%ymm14, %ymm6, 128(%rax,%rdi,4)
	vaddps	%ymm13, %ymm11, %ymm3
	vpsrad	$31, %ymm3, %ymm6
	vpsrld	$1, %ymm6, %ymm6
	vpxor	%ymm3, %ymm6, %ymm3
	vcmpordps	%ymm13, %ymm11, %ymm8
	vpcmpgtd	.LCPI0_2(%rip), %ymm4, %ymm6
	vpand	%ymm6, %ymm8, %ymm4
	vblendvps	%ymm4, %ymm3, %ymm12, %ymm3
	vpcmpgtd	%ymm7, %ymm3, %ymm4
	vpmaxsd	%ymm3, %ymm7, %ymm7
	vmovdqa	%ymm7, 32(%rax,%rdi,4)
	vpmaskmovd	%ymm14, %ymm4, 160(%rax,%rdi,4)
	vpmaxsd	%ymm3, %ymm0, %ymm0
	vextracti128	$1, %ymm0, %xmm3
	vpmaxsd	%xmm3, %xmm0, %xmm0
	vpshufd	$238, %xmm0, %xmm3
	vpmaxsd	%xmm3, %xmm0, %xmm0
	vpextrd	$1, %xmm0, %eax
	vmovd	%xmm0, %ecx
	cmpl	%eax, %ecx
	cmovgl	%ecx, %eax
	movq	-120(%rsp), %r8
	movq	-88(%rsp), %r9
	movl	16452(%r8,%r9), %ecx
	cmpl	%ecx, %eax
	cmovlel	%ecx, %eax
	movl	%eax, 16452(%r8,%r9)
	movl	%eax, %ecx
	sarl	$31, %ecx
	andl	$2147483647, %ecx
	xorl	%eax, %ecx
	movl	%ecx, 16448(%r8,%r9)
	vaddps	%ymm13, %ymm10, %ymm0
	vpsrad	$31, %ymm0, %ymm3
	vpsrld	$1, %ymm3, %ymm3
	vpxor	%ymm0, %ymm3, %ymm0
	vcmpordps	%ymm13, %ymm10, %ymm3
	vpand	%ymm3, %ymm5, %ymm3
	vblendvps	%ymm3, %ymm0, %ymm12, %ymm0
	movq	-32(%rsp), %rax
	vmovdqa	(%rax,%rdi,4), %ymm3
	vmovdqa	32(%rax,%rdi,4), %ymm4
	vpcmpgtd	%ymm3, %ymm0, %ymm5
	vpmaxsd	%ymm0, %ymm3, %ymm3
	vmovdqa	%ymm3, (%rax,%rdi,4)
	vpmaskmovd	%ymm14, %ymm5, 128(%rax,%rdi,4)
	vaddps	%ymm13, %ymm9, %ymm3
	vpsrad	$31, %ymm3, %ymm5
	vpsrld	$1, %ymm5, %ymm5
	vpxor	%ymm3, %ymm5, %ymm3
	vcmpordps	%ymm13, %ymm9, %ymm5
	vpand	%ymm5, %ymm6, %ymm5
	vblendvps	%ymm5, %ymm3, %ymm12, %ymm3
	vpcmpgtd	%ymm4, %ymm3, %ymm5
	vpmaxsd	%ymm3, %ymm4, %ymm4
	vmovdqa	%ymm4, 32(%rax,%rdi,4)
	vpmaskmovd	%ymm14, %ymm5, 160(%rax,%rdi,4)
	vpmaxsd	%ymm3, %ymm0, %ymm0
	vextracti128	$1, %ymm0, %xmm3
	vpmaxsd	%xmm3, %xmm0, %xmm0
	vpshufd	$238, %xmm0, %xmm3
	vpmaxsd	%xmm3, %xmm0, %xmm0
	vmovd	%xmm0, %eax
	vpextrd	$1, %xmm0, %ecx
	cmpl	%ecx, %eax
	cmovgl	%eax, %ecx
	movq	-24(%rsp), %r9
	movl	16452(%r8,%r9,8), %eax
	cmpl	%eax, %ecx
	cmovlel	%eax, %ecx
	movl	%ecx, 16452(%r8,%r9,8)
	movl	%ecx, %eax
	sarl	$31, %eax
	andl	$2147483647, %eax
	xorl	%ecx, %eax
	movl	%eax, 16448(%r8,%r9,8)
.LBB0_87:
	addq	$16, %rdi
	addq	$512, 224(%rsp)
	movq	320(%rsp), %r12
.LBB0_55:
	cmpq	$31, %rdi
	jg	.LBB0_88
	movq	-120(%rsp), %rax
	cmpq	$0, 16384(%rax)
	jle	.LBB0_77
	vxorps	%xmm9, %xmm9, %xmm9
	movq	224(%rsp), %rax
	movq	160(%rsp), %r8
	movq	-112(%rsp), %r10
	xorl	%r11d, %r11d
	vpxor	%xmm6, %xmm6, %xmm6
	vpxor	%xmm7, %xmm7, %xmm7
	vxorps	%xmm10, %xmm10, %xmm10
	jmp	.LBB0_58
	.p2align	4
.LBB0_62:
	vcvtph2ps	1024(%r9,%rdi,2), %ymm0
	vbroadcastss	64(%r12,%r11,4), %ymm3
	vmulps	%ymm0, %ymm3, %ymm4
	vcvtdq2ps	%ymm14, %ymm5
	vmovaps	%ymm6, %ymm10
	vmovups	192(%rsp), %ymm6
	vandps	%ymm6, %ymm0, %ymm8
	movq	256(%rsp), %rcx
	vbroadcastss	(%rcx,%r11,4), %ymm14
	vxorps	%ymm8, %ymm14, %ymm15
	vaddps	%ymm5, %ymm15, %ymm5
	vfmadd231ps	%ymm5, %ymm4, %ymm9
	vbroadcastss	320(%r12,%r11,4), %ymm4
	vmulps	%ymm0, %ymm4, %ymm0
	vcvtdq2ps	%ymm13, %ymm5
	vbroadcastss	8(%rcx,%r11,4), %ymm13
	vxorps	%ymm8, %ymm13, %ymm8
	vaddps	%ymm5, %ymm8, %ymm5
	vcvtph2ps	1040(%r9,%rdi,2), %ymm8
	vfmadd231ps	%ymm5, %ymm0, %ymm7
	vmulps	%ymm3, %ymm8, %ymm0
	vcvtdq2ps	%ymm12, %ymm3
	vandps	%ymm6, %ymm8, %ymm5
	vmovaps	%ymm10, %ymm6
	vxorps	%ymm5, %ymm14, %ymm12
	vaddps	%ymm3, %ymm12, %ymm3
	vfmadd231ps	%ymm3, %ymm0, %ymm6
	vmulps	%ymm4, %ymm8, %ymm0
	vcvtdq2ps	%ymm11, %ymm3
	vxorps	%ymm5, %ymm13, %ymm4
	vaddps	%ymm4, %ymm3, %ymm3
	vmovups	(%rsp), %ymm10
	vfmadd231ps	%ymm3, %ymm0, %ymm10
	incq	%r11
	addq	$32, %r10
	addq	$32, %r8
	addq	$1088, %rax
.LBB0_58:
	cmpq	$1, %r11
	jg	.LBB0_63
	vmovups	%ymm10, (%rsp)
	imulq	$1088, %r11, %rcx
	leaq	(%rsi,%rcx), %r9
	prefetcht0	4096(%rsi,%rcx)
	prefetcht0	4160(%rsi,%rcx)
	prefetcht0	4224(%rsi,%rcx)
	prefetcht0	4288(%rsi,%rcx)
	prefetcht0	4352(%rsi,%rcx)
	prefetcht0	4416(%rsi,%rcx)
	prefetcht0	4480(%rsi,%rcx)
	prefetcht0	4544(%rsi,%rcx)
	prefetcht0	4608(%rsi,%rcx)
	prefetcht0	4672(%rsi,%rcx)
	prefetcht0	4736(%rsi,%rcx)
	prefetcht0	4800(%rsi,%rcx)
	prefetcht0	4864(%rsi,%rcx)
	prefetcht0	4928(%rsi,%rcx)
	prefetcht0	4992(%rsi,%rcx)
	prefetcht0	5056(%rsi,%rcx)
	prefetcht0	5120(%rsi,%rcx)
	leaq	(%r11,%r11,4), %rcx
	shlq	$6, %rcx
	prefetcht1	(%rdx,%rcx)
	prefetcht1	64(%rdx,%rcx)
	prefetcht1	128(%rdx,%rcx)
	prefetcht1	192(%rdx,%rcx)
	prefetcht1	256(%rdx,%rcx)
	vpxor	%xmm14, %xmm14, %xmm14
	movq	%rax, %rbx
	xorl	%r14d, %r14d
	vpxor	%xmm12, %xmm12, %xmm12
	vpxor	%xmm13, %xmm13, %xmm13
	vpxor	%xmm11, %xmm11, %xmm11
	cmpq	$7, %r14
	jg	.LBB0_62
	.p2align	4
.LBB0_61:
	vpxor	-32(%rbx), %ymm1, %ymm3
	vpabsb	%ymm3, %ymm4
	vpxor	(%rbx), %ymm1, %ymm5
	vpabsb	%ymm5, %ymm15
	vpbroadcastd	(%r8,%r14,4), %ymm8
	vpsignb	%ymm3, %ymm8, %ymm0
	vpmaddubsw	%ymm0, %ymm4, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm14, %ymm14
	vpsignb	%ymm5, %ymm8, %ymm0
	vpmaddubsw	%ymm0, %ymm15, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm12, %ymm12
	vpbroadcastd	(%r10,%r14,4), %ymm0
	vpsignb	%ymm3, %ymm0, %ymm3
	vpmaddubsw	%ymm3, %ymm4, %ymm3
	vpmaddwd	%ymm2, %ymm3, %ymm3
	vpaddd	%ymm3, %ymm13, %ymm13
	vpsignb	%ymm5, %ymm0, %ymm0
	vpmaddubsw	%ymm0, %ymm15, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm11, %ymm11
	incq	%r14
	addq	$64, %rbx
	cmpq	$7, %r14
	jle	.LBB0_61
	jmp	.LBB0_62
	.p2align	4
.LBB0_63:
	movq	-120(%rsp), %r8
	movq	-88(%rsp), %rcx
	vbroadcastss	16448(%r8,%rcx), %ymm0
	vcmpnleps	%ymm0, %ymm6, %ymm3
	vcmpnleps	%ymm0, %ymm9, %ymm0
	vorps	%ymm3, %ymm0, %ymm0
	xorl	%eax, %eax
	vtestps	%ymm0, %ymm0
	setne	%al
	vbroadcastss	16456(%r8,%rcx), %ymm0
	vcmpnleps	%ymm0, %ymm10, %ymm3
	vcmpnleps	%ymm0, %ymm7, %ymm0
	vorps	%ymm3, %ymm0, %ymm0
	xorl	%ecx, %ecx
	vtestps	%ymm0, %ymm0
	setne	%cl
	leaq	(%rax,%rcx,2), %rax
	xorl	%r9d, %r9d
	testq	%rax, %rax
	setne	%r9b
	movq	%rax, 288(%rsp)
	popcntl	%eax, %eax
	leaq	(%rax,%rax,2), %rax
	movq	16384(%r8), %rcx
	negq	%rax
	addq	%rcx, %rax
	addq	$2, %rax
	movq	%rax, 16384(%r8)
	addl	%r9d, %r9d
	movq	%r9, (%rsp)
	movq	352(%rsp), %rax
	addl	%edi, %eax
	movl	$97, %ecx
	subl	%eax, %ecx
	vmovd	%ecx, %xmm0
	vpbroadcastd	%xmm0, %ymm9
	movq	-104(%rsp), %r12
	movq	160(%rsp), %rbx
	xorl	%eax, %eax
	jmp	.LBB0_64
	.p2align	4
.LBB0_75:
	vpcmpgtd	.LCPI0_3(%rip), %ymm9, %ymm0
	movq	%r11, %rcx
	shlq	$8, %rcx
	movq	-120(%rsp), %r9
	addq	%r9, %rcx
	vpxor	%xmm8, %xmm8, %xmm8
	vaddps	%ymm7, %ymm8, %ymm3
	vpsrad	$31, %ymm3, %ymm4
	vpsrld	$1, %ymm4, %ymm4
	vpxor	%ymm3, %ymm4, %ymm3
	vcmpordps	%ymm7, %ymm8, %ymm4
	vpand	%ymm4, %ymm0, %ymm0
	vmovups	192(%rsp), %ymm7
	vblendvps	%ymm0, %ymm3, %ymm7, %ymm0
	vmovdqa	(%rcx,%rdi,4), %ymm3
	vpcmpgtd	%ymm3, %ymm0, %ymm4
	vpmaxsd	%ymm0, %ymm3, %ymm3
	vmovdqa	%ymm3, (%rcx,%rdi,4)
	vmovdqu	544(%rsp), %ymm10
	vpmaskmovd	%ymm10, %ymm4, 128(%rcx,%rdi,4)
	vpcmpgtd	.LCPI0_2(%rip), %ymm9, %ymm3
	vaddps	%ymm6, %ymm8, %ymm4
	vpsrad	$31, %ymm4, %ymm5
	vpsrld	$1, %ymm5, %ymm5
	vpxor	%ymm4, %ymm5, %ymm4
	vcmpordps	%ymm6, %ymm8, %ymm5
	vpand	%ymm5, %ymm3, %ymm3
	vblendvps	%ymm3, %ymm4, %ymm7, %ymm3
	vmovdqa	32(%rcx,%rdi,4), %ymm4
	vpcmpgtd	%ymm4, %ymm3, %ymm5
	vpmaxsd	%ymm3, %ymm4, %ymm4
	vmovdqa	%ymm4, 32(%rcx,%rdi,4)
	vpmaskmovd	%ymm10, %ymm5, 160(%rcx,%rdi,4)
	vpmaxsd	%ymm3, %ymm0, %ymm0
	vextracti128	$1, %ymm0, %xmm3
	vpmaxsd	%xmm3, %xmm0, %xmm0
	vpshufd	$238, %xmm0, %xmm3
	vpmaxsd	%xmm3, %xmm0, %xmm0
	vmovd	%xmm0, %ecx
	vpextrd	$1, %xmm0, %r8d
	cmpl	%r8d, %ecx
	cmovgl	%ecx, %r8d
	movl	16452(%r9,%r11,8), %ecx
	cmpl	%ecx, %r8d
	cmovlel	%ecx, %r8d
	movl	%r8d, 16452(%r9,%r11,8)
	movl	%r8d, %ecx
	sarl	$31, %ecx
	andl	$2147483647, %ecx
	xorl	%r8d, %ecx
	movl	%ecx, 16448(%r9,%r11,8)
.LBB0_76:
	incq	%rax
	addq	$256, %rbx
	addq	$256, %r12
.LBB0_64:
	cmpq	(%rsp), %rax
	jge	.LBB0_87
	movl	$1, %ecx
	shlxq	%rax, %rcx, %rcx
	testl	%ecx, 288(%rsp)
	je	.LBB0_76
	movq	%rax, %rcx
	shlq	$8, %rcx
	movq	384(%rsp), %r8
	leaq	(%r8,%rax), %r11
	movq	320(%rsp), %r8
	leaq	(%r8,%rcx), %r15
	addq	$128, %r15
	vxorps	%xmm7, %xmm7, %xmm7
	movq	%r12, %r10
	movq	224(%rsp), %r8
	movq	%rbx, %r13
	xorl	%ebp, %ebp
	vxorps	%xmm6, %xmm6, %xmm6
	jmp	.LBB0_67
	.p2align	4
.LBB0_74:
	vcvtph2ps	1024(%r9,%rdi,2), %ymm0
	vbroadcastss	64(%r15,%rbp,4), %ymm3
	vmulps	%ymm0, %ymm3, %ymm0
	vcvtdq2ps	%ymm10, %ymm4
	vcvtph2ps	1040(%r9,%rdi,2), %ymm8
	vfmadd231ps	%ymm4, %ymm0, %ymm7
	vmulps	%ymm3, %ymm8, %ymm0
	vcvtdq2ps	%ymm5, %ymm3
	vfmadd231ps	%ymm3, %ymm0, %ymm6
	incq	%rbp
	addq	$32, %r13
	addq	$1088, %r8
	addq	$32, %r10
.LBB0_67:
	cmpq	$1, %rbp
	jg	.LBB0_75
	imulq	$1088, %rbp, %r9
	addq	%rsi, %r9
	vpxor	%xmm5, %xmm5, %xmm5
	movq	%r8, %r14
	xorl	%ecx, %ecx
	vpxor	%xmm11, %xmm11, %xmm11
	cmpq	$7, %rcx
	jg	.LBB0_71
	.p2align	4
.LBB0_70:
	vpxor	-32(%r14), %ymm1, %ymm0
	vpabsb	%ymm0, %ymm3
	vpxor	(%r14), %ymm1, %ymm4
	vpabsb	%ymm4, %ymm8
	vpbroadcastd	(%r13,%rcx,4), %ymm10
	vpsignb	%ymm0, %ymm10, %ymm0
	vpmaddubsw	%ymm0, %ymm3, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm5, %ymm5
	vpsignb	%ymm4, %ymm10, %ymm0
	vpmaddubsw	%ymm0, %ymm8, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm11, %ymm11
	incq	%rcx
	addq	$64, %r14
	cmpq	$7, %rcx
	jle	.LBB0_70
.LBB0_71:
	vpslld	$8, %ymm5, %ymm10
	vpslld	$8, %ymm11, %ymm5
	movq	%r8, %r14
	xorl	%ecx, %ecx
	cmpq	$7, %rcx
	jg	.LBB0_74
	.p2align	4
.LBB0_73:
	vpxor	-32(%r14), %ymm1, %ymm0
	vpabsb	%ymm0, %ymm3
	vpxor	(%r14), %ymm1, %ymm4
	vpabsb	%ymm4, %ymm8
	vpbroadcastd	(%r10,%rcx,4), %ymm11
	vpsignb	%ymm0, %ymm11, %ymm0
	vpmaddubsw	%ymm0, %ymm3, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm10, %ymm10
	vpsignb	%ymm4, %ymm11, %ymm0
	vpmaddubsw	%ymm0, %ymm8, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm5, %ymm5
	incq	%rcx
	addq	$64, %r14
	cmpq	$7, %rcx
	jle	.LBB0_73
	jmp	.LBB0_74
	.p2align	4
.LBB0_77:
	vxorps	%xmm12, %xmm12, %xmm12
	movq	-104(%rsp), %rax
	movq	-64(%rsp), %r8
	movq	224(%rsp), %r10
	movq	160(%rsp), %r13
	movq	-112(%rsp), %rbp
	xorl	%r11d, %r11d
	vxorps	%xmm11, %xmm11, %xmm11
	vxorps	%xmm10, %xmm10, %xmm10
	vxorps	%xmm9, %xmm9, %xmm9
	jmp	.LBB0_78
	.p2align	4
.LBB0_85:
	vcvtph2ps	1024(%r15,%rdi,2), %ymm0
	vbroadcastss	192(%r12,%r11,4), %ymm3
	vmulps	%ymm0, %ymm3, %ymm4
	vcvtdq2ps	%ymm14, %ymm5
	vfmadd231ps	%ymm5, %ymm4, %ymm12
	vbroadcastss	448(%r12,%r11,4), %ymm4
	vmulps	%ymm0, %ymm4, %ymm0
	vcvtdq2ps	%ymm13, %ymm5
	vfmadd231ps	%ymm5, %ymm0, %ymm10
	vcvtph2ps	1040(%r15,%rdi,2), %ymm0
	vmulps	%ymm0, %ymm3, %ymm3
	vcvtdq2ps	%ymm7, %ymm5
	vfmadd231ps	%ymm5, %ymm3, %ymm11
	vmulps	%ymm0, %ymm4, %ymm0
	vcvtdq2ps	%ymm6, %ymm3
	vfmadd231ps	%ymm3, %ymm0, %ymm9
	incq	%r11
	addq	$32, %rbp
	addq	$32, %r13
	addq	$1088, %r10
	addq	$32, %r8
	addq	$32, %rax
.LBB0_78:
	cmpq	$1, %r11
	jg	.LBB0_86
	imulq	$1088, %r11, %rcx
	leaq	(%rsi,%rcx), %r15
	prefetcht0	4096(%rsi,%rcx)
	prefetcht0	4160(%rsi,%rcx)
	prefetcht0	4224(%rsi,%rcx)
	prefetcht0	4288(%rsi,%rcx)
	prefetcht0	4352(%rsi,%rcx)
	prefetcht0	4416(%rsi,%rcx)
	prefetcht0	4480(%rsi,%rcx)
	prefetcht0	4544(%rsi,%rcx)
	prefetcht0	4608(%rsi,%rcx)
	prefetcht0	4672(%rsi,%rcx)
	prefetcht0	4736(%rsi,%rcx)
	prefetcht0	4800(%rsi,%rcx)
	prefetcht0	4864(%rsi,%rcx)
	prefetcht0	4928(%rsi,%rcx)
	prefetcht0	4992(%rsi,%rcx)
	prefetcht0	5056(%rsi,%rcx)
	prefetcht0	5120(%rsi,%rcx)
	leaq	(%r11,%r11,4), %rcx
	shlq	$6, %rcx
	prefetcht1	(%rdx,%rcx)
	prefetcht1	64(%rdx,%rcx)
	prefetcht1	128(%rdx,%rcx)
	prefetcht1	192(%rdx,%rcx)
	prefetcht1	256(%rdx,%rcx)
	vpxor	%xmm6, %xmm6, %xmm6
	movq	%r10, %r9
	xorl	%ebx, %ebx
	vpxor	%xmm5, %xmm5, %xmm5
	vpxor	%xmm13, %xmm13, %xmm13
	vpxor	%xmm15, %xmm15, %xmm15
	cmpq	$7, %rbx
	jg	.LBB0_82
	.p2align	4
.LBB0_81:
	vpxor	-32(%r9), %ymm1, %ymm0
	vpabsb	%ymm0, %ymm3
	vpxor	(%r9), %ymm1, %ymm4
	vpabsb	%ymm4, %ymm7
	vpbroadcastd	(%r13,%rbx,4), %ymm8
	vpsignb	%ymm0, %ymm8, %ymm14
	vpmaddubsw	%ymm14, %ymm3, %ymm14
	vpmaddwd	%ymm2, %ymm14, %ymm14
	vpaddd	%ymm6, %ymm14, %ymm6
	vpsignb	%ymm4, %ymm8, %ymm8
	vpmaddubsw	%ymm8, %ymm7, %ymm8
	vpmaddwd	%ymm2, %ymm8, %ymm8
	vpaddd	%ymm5, %ymm8, %ymm5
	vpbroadcastd	(%rbp,%rbx,4), %ymm8
	vpsignb	%ymm0, %ymm8, %ymm0
	vpmaddubsw	%ymm0, %ymm3, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm13, %ymm13
	vpsignb	%ymm4, %ymm8, %ymm0
	vpmaddubsw	%ymm0, %ymm7, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm15, %ymm15
	incq	%rbx
	addq	$64, %r9
	cmpq	$7, %rbx
	jle	.LBB0_81
.LBB0_82:
	vpslld	$8, %ymm6, %ymm14
	vpslld	$8, %ymm5, %ymm7
	vpslld	$8, %ymm13, %ymm13
	vpslld	$8, %ymm15, %ymm6
	movq	%r10, %r9
	xorl	%ebx, %ebx
	cmpq	$7, %rbx
	jg	.LBB0_85
	.p2align	4
.LBB0_84:
	vpxor	-32(%r9), %ymm1, %ymm0
	vpabsb	%ymm0, %ymm3
	vpxor	(%r9), %ymm1, %ymm4
	vpabsb	%ymm4, %ymm5
	vpbroadcastd	(%rax,%rbx,4), %ymm8
	vpsignb	%ymm0, %ymm8, %ymm15
	vpmaddubsw	%ymm15, %ymm3, %ymm15
	vpmaddwd	%ymm2, %ymm15, %ymm15
	vpaddd	%ymm15, %ymm14, %ymm14
	vpsignb	%ymm4, %ymm8, %ymm8
	vpmaddubsw	%ymm8, %ymm5, %ymm8
	vpmaddwd	%ymm2, %ymm8, %ymm8
	vpaddd	%ymm7, %ymm8, %ymm7
	vpbroadcastd	(%r8,%rbx,4), %ymm8
	vpsignb	%ymm0, %ymm8, %ymm0
	vpmaddubsw	%ymm0, %ymm3, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm13, %ymm13
	vpsignb	%ymm4, %ymm8, %ymm0
	vpmaddubsw	%ymm0, %ymm5, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm6, %ymm6
	incq	%rbx
	addq	$64, %r9
	cmpq	$7, %rbx
	jle	.LBB0_84
	jmp	.LBB0_85
	.p2align	4
.LBB0_89:
	movq	112(%rsp), %rax
	shll	$5, %eax
	movl	$97, %ecx
	subl	%eax, %ecx
	vmovd	%ecx, %xmm0
	vpbroadcastd	%xmm0, %ymm0
	vmovdqu	%ymm0, 160(%rsp)
	movq	%rdi, %rax
	movq	128(%rsp), %rcx
	jmp	.LBB0_90
	.p2align	4
.LBB0_121:
	vxorps	%xmm9, %xmm9, %xmm9
	vmovups	(%rsp), %ymm4
	vaddps	%ymm4, %ymm9, %ymm0
	vpsrad	$31, %ymm0, %ymm3
	vpsrld	$1, %ymm3, %ymm3
	vpxor	%ymm0, %ymm3, %ymm0
	vcmpordps	%ymm4, %ymm9, %ymm3
	vandps	352(%rsp), %ymm3, %ymm3
	vmovups	192(%rsp), %ymm8
	vblendvps	%ymm3, %ymm0, %ymm8, %ymm0
	movq	-120(%rsp), %r8
	vmovdqa	(%r8,%rdi), %ymm3
	vmovdqa	32(%r8,%rdi), %ymm4
	vmovdqa	64(%r8,%rdi), %ymm6
	vmovdqa	96(%r8,%rdi), %ymm5
	vpcmpgtd	%ymm3, %ymm0, %ymm7
	vpmaxsd	%ymm0, %ymm3, %ymm3
	vmovdqa	%ymm3, (%r8,%rdi)
	vmovdqu	544(%rsp), %ymm10
	vpmaskmovd	%ymm10, %ymm7, 128(%r8,%rdi)
	vaddps	%ymm9, %ymm13, %ymm3
	vpsrad	$31, %ymm3, %ymm7
	vpsrld	$1, %ymm7, %ymm7
	vpxor	%ymm3, %ymm7, %ymm3
	vcmpordps	%ymm9, %ymm13, %ymm7
	vandps	384(%rsp), %ymm7, %ymm7
	vblendvps	%ymm7, %ymm3, %ymm8, %ymm3
	vpcmpgtd	%ymm4, %ymm3, %ymm7
	vpmaxsd	%ymm3, %ymm4, %ymm4
	vmovdqa	%ymm4, 32(%r8,%rdi)
	vpmaskmovd	%ymm10, %ymm7, 160(%r8,%rdi)
	vaddps	%ymm9, %ymm12, %ymm4
	vpsrad	$31, %ymm4, %ymm7
	vpsrld	$1, %ymm7, %ymm7
	vpxor	%ymm4, %ymm7, %ymm4
	vcmpordps	%ymm9, %ymm12, %ymm7
	vandps	320(%rsp), %ymm7, %ymm7
	vblendvps	%ymm7, %ymm4, %ymm8, %ymm4
	vpcmpgtd	%ymm6, %ymm4, %ymm7
	vpmaxsd	%ymm4, %ymm6, %ymm6
	vmovdqa	%ymm6, 64(%r8,%rdi)
	vpmaskmovd	%ymm10, %ymm7, 192(%r8,%rdi)
	vpmaxsd	%ymm3, %ymm0, %ymm0
	vaddps	%ymm9, %ymm11, %ymm3
	vpsrad	$31, %ymm3, %ymm6
	vpsrld	$1, %ymm6, %ymm6
	vpxor	%ymm3, %ymm6, %ymm3
	vcmpordps	%ymm9, %ymm11, %ymm6
	vandps	224(%rsp), %ymm6, %ymm6
	vblendvps	%ymm6, %ymm3, %ymm8, %ymm3
	vpmaxsd	%ymm3, %ymm4, %ymm4
	vpcmpgtd	%ymm5, %ymm3, %ymm6
	vpmaxsd	%ymm3, %ymm5, %ymm3
	vmovdqa	%ymm3, 96(%r8,%rdi)
	vpmaskmovd	%ymm10, %ymm6, 224(%r8,%rdi)
	vpmaxsd	%ymm4, %ymm0, %ymm0
	vextracti128	$1, %ymm0, %xmm3
	vpmaxsd	%xmm3, %xmm0, %xmm0
	vpshufd	$238, %xmm0, %xmm3
	vpmaxsd	%xmm3, %xmm0, %xmm0
	vmovd	%xmm0, %edx
	vpextrd	$1, %xmm0, %edi
	cmpl	%edi, %edx
	cmovgl	%edx, %edi
	movl	16452(%r8,%rcx,8), %edx
	cmpl	%edx, %edi
	cmovlel	%edx, %edi
	movl	%edi, 16452(%r8,%rcx,8)
	movl	%edi, %edx
	sarl	$31, %edx
	andl	$2147483647, %edx
	xorl	%edi, %edx
	movl	%edx, 16448(%r8,%rcx,8)
.LBB0_122:
	incq	%rcx
	addq	$256, %rax
	movq	-8(%rsp), %rdi
.LBB0_90:
	cmpq	512(%rsp), %rcx
	jge	.LBB0_123
	movq	%rcx, %rdi
	shlq	$8, %rdi
	movq	-96(%rsp), %rdx
	addq	%rdi, %rdx
	movq	-120(%rsp), %r8
	cmpq	$0, 16384(%r8)
	vmovdqu	160(%rsp), %ymm0
	vpcmpgtd	.LCPI0_0(%rip), %ymm0, %ymm3
	vmovdqu	%ymm3, 224(%rsp)
	vpcmpgtd	.LCPI0_1(%rip), %ymm0, %ymm3
	vmovdqu	%ymm3, 320(%rsp)
	vpcmpgtd	.LCPI0_2(%rip), %ymm0, %ymm3
	vmovdqu	%ymm3, 384(%rsp)
	vpcmpgtd	.LCPI0_3(%rip), %ymm0, %ymm0
	vmovdqu	%ymm0, 352(%rsp)
	jle	.LBB0_112
	leaq	(,%rcx,8), %rdi
	movq	-40(%rsp), %r8
	leaq	(%r8,%rcx,8), %r8
	vxorps	%xmm15, %xmm15, %xmm15
	movq	-56(%rsp), %r10
	movq	%rax, %r11
	xorl	%ebx, %ebx
	vpxor	%xmm8, %xmm8, %xmm8
	vpxor	%xmm5, %xmm5, %xmm5
	vpxor	%xmm6, %xmm6, %xmm6
	jmp	.LBB0_93
	.p2align	4
.LBB0_97:
	vcvtph2ps	1024(%r9), %ymm0
	vbroadcastss	64(%rdx,%rbx,4), %ymm3
	vmulps	%ymm0, %ymm3, %ymm4
	vcvtdq2ps	%ymm12, %ymm5
	vmovups	192(%rsp), %ymm7
	vandps	%ymm7, %ymm0, %ymm0
	vbroadcastss	(%r8,%rbx,4), %ymm6
	vxorps	%ymm0, %ymm6, %ymm0
	vaddps	%ymm0, %ymm5, %ymm0
	vfmadd231ps	%ymm0, %ymm4, %ymm15
	vcvtph2ps	1040(%r9), %ymm0
	vmulps	%ymm0, %ymm3, %ymm4
	vcvtdq2ps	%ymm11, %ymm5
	vandps	%ymm7, %ymm0, %ymm0
	vxorps	%ymm0, %ymm6, %ymm0
	vaddps	%ymm0, %ymm5, %ymm0
	vmovups	256(%rsp), %ymm8
	vfmadd231ps	%ymm0, %ymm4, %ymm8
	vcvtph2ps	1056(%r9), %ymm0
	vmulps	%ymm0, %ymm3, %ymm4
	vcvtdq2ps	%ymm10, %ymm5
	vandps	%ymm7, %ymm0, %ymm0
	vxorps	%ymm0, %ymm6, %ymm0
	vaddps	%ymm0, %ymm5, %ymm0
	vmovups	(%rsp), %ymm5
	vfmadd231ps	%ymm0, %ymm4, %ymm5
	vcvtph2ps	1072(%r9), %ymm0
	vmulps	%ymm0, %ymm3, %ymm3
	vcvtdq2ps	%ymm9, %ymm4
	vandps	%ymm7, %ymm0, %ymm0
	vxorps	%ymm0, %ymm6, %ymm0
	vaddps	%ymm0, %ymm4, %ymm0
	vmovups	288(%rsp), %ymm6
	vfmadd231ps	%ymm0, %ymm3, %ymm6
	incq	%rbx
	addq	$32, %r11
	addq	$1088, %r10
.LBB0_93:
	cmpq	$1, %rbx
	jg	.LBB0_98
	vmovups	%ymm8, 256(%rsp)
	vmovups	%ymm6, 288(%rsp)
	vmovups	%ymm5, (%rsp)
	imulq	$1088, %rbx, %r14
	leaq	(%rsi,%r14), %r9
	prefetcht0	4096(%rsi,%r14)
	prefetcht0	4160(%rsi,%r14)
	prefetcht0	4224(%rsi,%r14)
	prefetcht0	4288(%rsi,%r14)
	prefetcht0	4352(%rsi,%r14)
	prefetcht0	4416(%rsi,%r14)
	prefetcht0	4480(%rsi,%r14)
	prefetcht0	4544(%rsi,%r14)
	prefetcht0	4608(%rsi,%r14)
	prefetcht0	4672(%rsi,%r14)
	prefetcht0	4736(%rsi,%r14)
	prefetcht0	4800(%rsi,%r14)
	prefetcht0	4864(%rsi,%r14)
	prefetcht0	4928(%rsi,%r14)
	prefetcht0	4992(%rsi,%r14)
	prefetcht0	5056(%rsi,%r14)
	prefetcht0	5120(%rsi,%r14)
	vpxor	%xmm12, %xmm12, %xmm12
	movq	%r10, %r14
	xorl	%r15d, %r15d
	vpxor	%xmm11, %xmm11, %xmm11
	vpxor	%xmm10, %xmm10, %xmm10
	vpxor	%xmm9, %xmm9, %xmm9
	cmpq	$7, %r15
	jg	.LBB0_97
	.p2align	4
.LBB0_96:
	vpxor	-544(%r14), %ymm1, %ymm0
	vpabsb	%ymm0, %ymm3
	vpxor	-512(%r14), %ymm1, %ymm4
	vpxor	-32(%r14), %ymm1, %ymm5
	vpabsb	%ymm4, %ymm8
	vpabsb	%ymm5, %ymm13
	vpxor	(%r14), %ymm1, %ymm6
	vpabsb	%ymm6, %ymm7
	vpbroadcastd	(%r11,%r15,4), %ymm14
	vpsignb	%ymm0, %ymm14, %ymm0
	vpmaddubsw	%ymm0, %ymm3, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm12, %ymm12
	vpsignb	%ymm4, %ymm14, %ymm0
	vpmaddubsw	%ymm0, %ymm8, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm11, %ymm11
	vpsignb	%ymm5, %ymm14, %ymm0
	vpmaddubsw	%ymm0, %ymm13, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm10, %ymm10
	vpsignb	%ymm6, %ymm14, %ymm0
	vpmaddubsw	%ymm0, %ymm7, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm9, %ymm9
	incq	%r15
	addq	$64, %r14
	cmpq	$7, %r15
	jle	.LBB0_96
	jmp	.LBB0_97
	.p2align	4
.LBB0_98:
	movq	-120(%rsp), %r10
	vbroadcastss	16448(%r10,%rdi), %ymm0
	vcmpnleps	%ymm0, %ymm8, %ymm3
	vcmpnleps	%ymm0, %ymm15, %ymm4
	vorps	%ymm3, %ymm4, %ymm3
	vcmpnleps	%ymm0, %ymm5, %ymm4
	vcmpnleps	%ymm0, %ymm6, %ymm0
	vorps	%ymm0, %ymm4, %ymm0
	vorps	%ymm0, %ymm3, %ymm0
	xorl	%r8d, %r8d
	xorl	%edi, %edi
	vtestps	%ymm0, %ymm0
	sete	%r8b
	setne	%dil
	movq	16384(%r10), %r9
	leaq	(%r8,%r8,2), %r8
	addq	%r9, %r8
	addq	$-2, %r8
	movq	%r8, 16384(%r10)
	movq	%rax, %r8
	xorl	%r10d, %r10d
	jmp	.LBB0_99
	.p2align	4
.LBB0_110:
	movq	%r11, %r9
	shlq	$8, %r9
	vxorps	%xmm9, %xmm9, %xmm9
	vaddps	%ymm6, %ymm9, %ymm0
	vpsrad	$31, %ymm0, %ymm3
	vpsrld	$1, %ymm3, %ymm3
	vpxor	%ymm0, %ymm3, %ymm0
	vcmpordps	%ymm6, %ymm9, %ymm3
	vandps	352(%rsp), %ymm3, %ymm3
	vmovups	192(%rsp), %ymm8
	vblendvps	%ymm3, %ymm0, %ymm8, %ymm0
	movq	-120(%rsp), %r14
	vmovdqa	(%r14,%r9), %ymm3
	vmovdqa	32(%r14,%r9), %ymm4
	vmovdqa	64(%r14,%r9), %ymm6
	vmovdqa	96(%r14,%r9), %ymm5
	vpcmpgtd	%ymm3, %ymm0, %ymm7
	vpmaxsd	%ymm0, %ymm3, %ymm3
	vmovdqa	%ymm3, (%r14,%r9)
	vmovdqu	544(%rsp), %ymm10
	vpmaskmovd	%ymm10, %ymm7, 128(%r14,%r9)
	vaddps	%ymm9, %ymm12, %ymm3
	vpsrad	$31, %ymm3, %ymm7
	vpsrld	$1, %ymm7, %ymm7
	vpxor	%ymm3, %ymm7, %ymm3
	vcmpordps	%ymm9, %ymm12, %ymm7
	vandps	384(%rsp), %ymm7, %ymm7
	vblendvps	%ymm7, %ymm3, %ymm8, %ymm3
	vpcmpgtd	%ymm4, %ymm3, %ymm7
	vpmaxsd	%ymm3, %ymm4, %ymm4
	vmovdqa	%ymm4, 32(%r14,%r9)
	vpmaskmovd	%ymm10, %ymm7, 160(%r14,%r9)
	vaddps	%ymm9, %ymm11, %ymm4
	vpsrad	$31, %ymm4, %ymm7
	vpsrld	$1, %ymm7, %ymm7
	vpxor	%ymm4, %ymm7, %ymm4
	vcmpordps	%ymm9, %ymm11, %ymm7
	vandps	320(%rsp), %ymm7, %ymm7
	vblendvps	%ymm7, %ymm4, %ymm8, %ymm4
	vpcmpgtd	%ymm6, %ymm4, %ymm7
	vpmaxsd	%ymm4, %ymm6, %ymm6
	vmovdqa	%ymm6, 64(%r14,%r9)
	vpmaskmovd	%ymm10, %ymm7, 192(%r14,%r9)
	vpmaxsd	%ymm3, %ymm0, %ymm0
	vaddps	%ymm9, %ymm15, %ymm3
	vpsrad	$31, %ymm3, %ymm6
	vpsrld	$1, %ymm6, %ymm6
	vpxor	%ymm3, %ymm6, %ymm3
	vcmpordps	%ymm9, %ymm15, %ymm6
	vandps	224(%rsp), %ymm6, %ymm6
	vblendvps	%ymm6, %ymm3, %ymm8, %ymm3
	vpmaxsd	%ymm3, %ymm4, %ymm4
	vpcmpgtd	%ymm5, %ymm3, %ymm6
	vpmaxsd	%ymm3, %ymm5, %ymm3
	vmovdqa	%ymm3, 96(%r14,%r9)
	vpmaskmovd	%ymm10, %ymm6, 224(%r14,%r9)
	vpmaxsd	%ymm4, %ymm0, %ymm0
	vextracti128	$1, %ymm0, %xmm3
	vpmaxsd	%xmm3, %xmm0, %xmm0
	vpshufd	$238, %xmm0, %xmm3
	vpmaxsd	%xmm3, %xmm0, %xmm0
	vmovd	%xmm0, %r9d
	vpextrd	$1, %xmm0, %ebx
	cmpl	%ebx, %r9d
	cmovgl	%r9d, %ebx
	movl	16452(%r14,%r11,8), %r9d
	cmpl	%r9d, %ebx
	cmovlel	%r9d, %ebx
	movl	%ebx, 16452(%r14,%r11,8)
	movl	%ebx, %r9d
	sarl	$31, %r9d
	andl	$2147483647, %r9d
	xorl	%ebx, %r9d
	movl	%r9d, 16448(%r14,%r11,8)
.LBB0_111:
	incq	%r10
	addq	$256, %r8
.LBB0_99:
	cmpq	%rdi, %r10
	jge	.LBB0_122
	shrxq	%r10, %rdi, %r9
	testq	%r9, %r9
	je	.LBB0_111
	movq	%r10, %r9
	shlq	$8, %r9
	leaq	(%rcx,%r10), %r11
	leaq	(%rdx,%r9), %rbx
	addq	$128, %rbx
	vxorps	%xmm6, %xmm6, %xmm6
	movq	-56(%rsp), %r14
	movq	%r8, %r12
	xorl	%r13d, %r13d
	vxorps	%xmm12, %xmm12, %xmm12
	vxorps	%xmm11, %xmm11, %xmm11
	vxorps	%xmm15, %xmm15, %xmm15
	jmp	.LBB0_102
	.p2align	4
.LBB0_109:
	vcvtph2ps	1024(%rsi,%r15), %ymm0
	vbroadcastss	64(%rbx,%r13,4), %ymm3
	vmulps	%ymm0, %ymm3, %ymm0
	vcvtdq2ps	%ymm12, %ymm4
	vmovups	256(%rsp), %ymm6
	vfmadd231ps	%ymm4, %ymm0, %ymm6
	vcvtph2ps	1040(%rsi,%r15), %ymm0
	vmulps	%ymm0, %ymm3, %ymm0
	vcvtdq2ps	%ymm11, %ymm4
	vcvtph2ps	1056(%rsi,%r15), %ymm5
	vmovups	288(%rsp), %ymm12
	vfmadd231ps	%ymm4, %ymm0, %ymm12
	vmulps	%ymm5, %ymm3, %ymm0
	vcvtdq2ps	%ymm10, %ymm4
	vmovups	(%rsp), %ymm11
	vfmadd231ps	%ymm4, %ymm0, %ymm11
	vcvtph2ps	1072(%rsi,%r15), %ymm0
	vmulps	%ymm0, %ymm3, %ymm0
	vcvtdq2ps	%ymm9, %ymm3
	vfmadd231ps	%ymm3, %ymm0, %ymm15
	incq	%r13
	addq	$32, %r12
	addq	$1088, %r14
.LBB0_102:
	cmpq	$1, %r13
	jg	.LBB0_110
	vmovups	%ymm6, 256(%rsp)
	vmovups	%ymm12, 288(%rsp)
	vmovups	%ymm11, (%rsp)
	imulq	$1088, %r13, %r15
	vpxor	%xmm9, %xmm9, %xmm9
	movq	%r14, %r9
	xorl	%ebp, %ebp
	vpxor	%xmm10, %xmm10, %xmm10
	vpxor	%xmm13, %xmm13, %xmm13
	vpxor	%xmm5, %xmm5, %xmm5
	cmpq	$7, %rbp
	jg	.LBB0_106
	.p2align	4
.LBB0_105:
	vpxor	-544(%r9), %ymm1, %ymm0
	vpabsb	%ymm0, %ymm3
	vpxor	-512(%r9), %ymm1, %ymm4
	vpxor	-32(%r9), %ymm1, %ymm8
	vpabsb	%ymm4, %ymm11
	vpabsb	%ymm8, %ymm12
	vpxor	(%r9), %ymm1, %ymm14
	vpabsb	%ymm14, %ymm6
	vpbroadcastd	(%r12,%rbp,4), %ymm7
	vpsignb	%ymm0, %ymm7, %ymm0
	vpmaddubsw	%ymm0, %ymm3, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm9, %ymm9
	vpsignb	%ymm4, %ymm7, %ymm0
	vpmaddubsw	%ymm0, %ymm11, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm10, %ymm10
	vpsignb	%ymm8, %ymm7, %ymm0
	vpmaddubsw	%ymm0, %ymm12, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm13, %ymm13
	vpsignb	%ymm14, %ymm7, %ymm0
	vpmaddubsw	%ymm0, %ymm6, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm5, %ymm5
	incq	%rbp
	addq	$64, %r9
	cmpq	$7, %rbp
	jle	.LBB0_105
.LBB0_106:
	vpslld	$8, %ymm9, %ymm12
	vpslld	$8, %ymm10, %ymm11
	vpslld	$8, %ymm13, %ymm10
	vpslld	$8, %ymm5, %ymm9
	movq	%r14, %r9
	xorl	%ebp, %ebp
	cmpq	$7, %rbp
	jg	.LBB0_109
	.p2align	4
.LBB0_108:
	vpxor	-544(%r9), %ymm1, %ymm0
	vpabsb	%ymm0, %ymm3
	vpxor	-512(%r9), %ymm1, %ymm4
	vpxor	-32(%r9), %ymm1, %ymm5
	vpabsb	%ymm4, %ymm6
	vpabsb	%ymm5, %ymm7
	vpxor	(%r9), %ymm1, %ymm8
	vpabsb	%ymm8, %ymm13
	vpbroadcastd	128(%r12,%rbp,4), %ymm14
	vpsignb	%ymm0, %ymm14, %ymm0
	vpmaddubsw	%ymm0, %ymm3, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm12, %ymm12
	vpsignb	%ymm4, %ymm14, %ymm0
	vpmaddubsw	%ymm0, %ymm6, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm11, %ymm11
	vpsignb	%ymm5, %ymm14, %ymm0
	vpmaddubsw	%ymm0, %ymm7, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm10, %ymm10
	vpsignb	%ymm8, %ymm14, %ymm0
	vpmaddubsw	%ymm0, %ymm13, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm9, %ymm9
	incq	%rbp
	addq	$64, %r9
	cmpq	$7, %rbp
	jle	.LBB0_108
	jmp	.LBB0_109
	.p2align	4
.LBB0_112:
	vpxor	%xmm0, %xmm0, %xmm0
	vmovdqu	%ymm0, (%rsp)
	movq	-56(%rsp), %r8
	movq	%rax, %r10
	xorl	%r11d, %r11d
	vxorps	%xmm13, %xmm13, %xmm13
	vxorps	%xmm12, %xmm12, %xmm12
	vxorps	%xmm11, %xmm11, %xmm11
	jmp	.LBB0_113
	.p2align	4
.LBB0_120:
	vcvtph2ps	1024(%rbx), %ymm0
	vbroadcastss	192(%rdx,%r11,4), %ymm3
	vmulps	%ymm0, %ymm3, %ymm0
	vcvtdq2ps	%ymm12, %ymm4
	vmovups	(%rsp), %ymm5
	vfmadd231ps	%ymm4, %ymm0, %ymm5
	vmovups	%ymm5, (%rsp)
	vcvtph2ps	1040(%rbx), %ymm0
	vmulps	%ymm0, %ymm3, %ymm0
	vcvtdq2ps	%ymm11, %ymm4
	vcvtph2ps	1056(%rbx), %ymm5
	vmovaps	%ymm7, %ymm13
	vfmadd231ps	%ymm4, %ymm0, %ymm13
	vmulps	%ymm5, %ymm3, %ymm0
	vcvtdq2ps	%ymm10, %ymm4
	vmovups	256(%rsp), %ymm12
	vfmadd231ps	%ymm4, %ymm0, %ymm12
	vcvtph2ps	1072(%rbx), %ymm0
	vmulps	%ymm0, %ymm3, %ymm0
	vcvtdq2ps	%ymm9, %ymm3
	vmovups	288(%rsp), %ymm11
	vfmadd231ps	%ymm3, %ymm0, %ymm11
	incq	%r11
	addq	$32, %r10
	addq	$1088, %r8
.LBB0_113:
	cmpq	$1, %r11
	jg	.LBB0_121
	vmovaps	%ymm13, %ymm7
	vmovups	%ymm12, 256(%rsp)
	vmovups	%ymm11, 288(%rsp)
	imulq	$1088, %r11, %r9
	leaq	(%rsi,%r9), %rbx
	prefetcht0	4096(%rsi,%r9)
	prefetcht0	4160(%rsi,%r9)
	prefetcht0	4224(%rsi,%r9)
	prefetcht0	4288(%rsi,%r9)
	prefetcht0	4352(%rsi,%r9)
	prefetcht0	4416(%rsi,%r9)
	prefetcht0	4480(%rsi,%r9)
	prefetcht0	4544(%rsi,%r9)
	prefetcht0	4608(%rsi,%r9)
	prefetcht0	4672(%rsi,%r9)
	prefetcht0	4736(%rsi,%r9)
	prefetcht0	4800(%rsi,%r9)
	prefetcht0	4864(%rsi,%r9)
	prefetcht0	4928(%rsi,%r9)
	prefetcht0	4992(%rsi,%r9)
	prefetcht0	5056(%rsi,%r9)
	prefetcht0	5120(%rsi,%r9)
	vpxor	%xmm9, %xmm9, %xmm9
	movq	%r8, %r9
	xorl	%r14d, %r14d
	vpxor	%xmm5, %xmm5, %xmm5
	vpxor	%xmm10, %xmm10, %xmm10
	vxorps	%xmm13, %xmm13, %xmm13
	cmpq	$7, %r14
	jg	.LBB0_117
	.p2align	4
.LBB0_116:
	vpxor	-544(%r9), %ymm1, %ymm0
	vpabsb	%ymm0, %ymm3
	vpxor	-512(%r9), %ymm1, %ymm4
	vpxor	-32(%r9), %ymm1, %ymm8
	vpabsb	%ymm4, %ymm11
	vpabsb	%ymm8, %ymm12
	vpxor	(%r9), %ymm1, %ymm14
	vpabsb	%ymm14, %ymm15
	vpbroadcastd	(%r10,%r14,4), %ymm6
	vpsignb	%ymm0, %ymm6, %ymm0
	vpmaddubsw	%ymm0, %ymm3, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm9, %ymm9
	vpsignb	%ymm4, %ymm6, %ymm0
	vpmaddubsw	%ymm0, %ymm11, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm5, %ymm5
	vpsignb	%ymm8, %ymm6, %ymm0
	vpmaddubsw	%ymm0, %ymm12, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm10, %ymm10
	vpsignb	%ymm14, %ymm6, %ymm0
	vpmaddubsw	%ymm0, %ymm15, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm13, %ymm13
	incq	%r14
	addq	$64, %r9
	cmpq	$7, %r14
	jle	.LBB0_116
.LBB0_117:
	vpslld	$8, %ymm9, %ymm12
	vpslld	$8, %ymm5, %ymm11
	vpslld	$8, %ymm10, %ymm10
	vpslld	$8, %ymm13, %ymm9
	movq	%r8, %r9
	xorl	%r14d, %r14d
	cmpq	$7, %r14
	jg	.LBB0_120
	.p2align	4
.LBB0_119:
	vpxor	-544(%r9), %ymm1, %ymm0
	vpabsb	%ymm0, %ymm3
	vpxor	-512(%r9), %ymm1, %ymm4
	vpxor	-32(%r9), %ymm1, %ymm5
	vpabsb	%ymm4, %ymm6
	vpabsb	%ymm5, %ymm8
	vpxor	(%r9), %ymm1, %ymm13
	vpabsb	%ymm13, %ymm14
	vpbroadcastd	128(%r10,%r14,4), %ymm15
	vpsignb	%ymm0, %ymm15, %ymm0
	vpmaddubsw	%ymm0, %ymm3, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm12, %ymm12
	vpsignb	%ymm4, %ymm15, %ymm0
	vpmaddubsw	%ymm0, %ymm6, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm11, %ymm11
	vpsignb	%ymm5, %ymm15, %ymm0
	vpmaddubsw	%ymm0, %ymm8, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm10, %ymm10
	vpsignb	%ymm13, %ymm15, %ymm0
	vpmaddubsw	%ymm0, %ymm14, %ymm0
	vpmaddwd	%ymm2, %ymm0, %ymm0
	vpaddd	%ymm0, %ymm9, %ymm9
	incq	%r14
	addq	$64, %r9
	cmpq	$7, %r14
	jle	.LBB0_119
	jmp	.LBB0_120
.LBB0_125:
	subq	$-128, -120(%rsp)
	xorl	%ecx, %ecx
	movl	$-2147483648, %edx
	cmpq	%rax, %rcx
	jge	.LBB0_133
	.p2align	4
.LBB0_127:
	movl	$4294967295, %eax
	xorl	%edi, %edi
	xorl	%esi, %esi
	cmpq	$31, %rdi
	jg	.LBB0_130
	.p2align	4
.LBB0_129:
	movq	-120(%rsp), %r9
	movl	-128(%r9,%rdi,4), %r8d
	xorl	%edx, %r8d
	movslq	(%r9,%rdi,4), %r9
	shlq	$5, %r9
	shlq	$32, %r8
	subq	%r9, %r8
	addq	%rax, %r8
	cmpq	%rsi, %r8
	cmovaq	%r8, %rsi
	incq	%rdi
	decq	%rax
	cmpq	$31, %rdi
	jle	.LBB0_129
.LBB0_130:
	movq	440(%rsp), %r8
	movq	(%r8,%rcx,8), %rax
	.p2align	4
.LBB0_131:
	cmpq	%rsi, %rax
	movq	%rsi, %rdi
	cmovaq	%rax, %rdi
	lock		cmpxchgq	%rdi, (%r8,%rcx,8)
	jne	.LBB0_131
	incq	%rcx
	addq	$256, -120(%rsp)
	movq	-80(%rsp), %rax
	cmpq	%rax, %rcx
	jl	.LBB0_127
.LBB0_133:
	addq	$584, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	vzeroupper
	retq
.Lfunc_end0:
	.size	linear_0_keys, .Lfunc_end0-linear_0_keys

	.section	".note.GNU-stack","",@progbits
