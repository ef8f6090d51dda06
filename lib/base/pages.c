/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pages.h"

#include <sys/mman.h>

static void *map(size_t size, int flags)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
		flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

void *ri_pages(size_t size)
{
	return map(size, MAP_PRIVATE);
}

void *ri_pages_shared(size_t size)
{
	return map(size, MAP_SHARED);
}
