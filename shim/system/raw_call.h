/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that leave errno alone. A process that shares our memory shares
 * errno too: while both run, only one of them may use the C library's calls.
 * The registers are those of syscall(2), "Architecture calling conventions".
 */
#ifndef RI_SHIM_SYSTEM_RAW_CALL_H
#define RI_SHIM_SYSTEM_RAW_CALL_H

#include <stdint.h>
#include <sys/syscall.h>

/* Returns what the kernel does: -1 to -4095 are errors, with the sign changed. */
static inline long ri_raw_call(long number, long a, long b, long c, long d, long e)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
#else
#error "how are system calls made on this processor? See syscall(2)"
#endif
}

/* As an argument. */
static inline long ri_raw(const volatile void *pointer)
{
	return (long)(uintptr_t)pointer;
}

#endif
