/* SPDX-License-Identifier: Apache-2.0 */
#include "node/ofed.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "node/sysfile.h"

/* "5.4-3.1.0": digits read into series, and what stands behind the dash; NULL: of no such shape. */
static const char *read_series(const char *version, uint64_t *series)
{
	size_t digits = ri_digits_read(version, &series[0]);

	if (digits == 0 || version[digits] != '.')
		return NULL;
	version += digits + 1;
	digits = ri_digits_read(version, &series[1]);
	return digits == 0 || version[digits] != '-' ? NULL : version + digits + 1;
}

/*
 * Linux drivers/net/ethernet/mellanox/mlx5/core: DRIVER_VERSION was "3.0-1",
 * then "5.0-0", until 5.10; since then the module has no version. Some
 * distributions give every module the kernel's release. OFED's are MAJOR.MINOR-
 * and a number with dots: "4.9-0.1.7", "25.10-1.2.8" (MLNX_OFED release notes).
 */
enum ri_ofed_kind ri_ofed_judge(const char *version, const char *release)
{
	uint64_t series[2];
	const char *build = read_series(version, series);

	if (build == NULL || strcmp(version, release) == 0)
		return RI_OFED_INBOX;
	return strchr(build, '.') == NULL ? RI_OFED_INBOX : RI_OFED_MELLANOX;
}

static bool find_module(struct ri_ofed *out, struct ri_host *host)
{
	static const char *const modules[] = { "mlx5_core", "mlx4_core" };
	char path[64];

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		snprintf(path, sizeof(path), "sys/module/%s", modules[i]);
		if (!ri_host_has(host, path))
			continue;
		out->module = modules[i];
		snprintf(path, sizeof(path), "sys/module/%s/version", modules[i]);
		ri_sysfile_line(host, path, out->version, sizeof(out->version));
		return true;
	}
	return false;
}

void ri_ofed_read(struct ri_ofed *out, struct ri_host *host)
{
	char release[128];

	*out = (struct ri_ofed){ .kind = RI_OFED_NONE };
	if (!find_module(out, host))
		return;
	ri_sysfile_line(host, "proc/sys/kernel/osrelease", release, sizeof(release));
	out->kind = ri_ofed_judge(out->version, release);
	/* the layer that lets OFED's drivers run on older kernels; only OFED has it */
	if (ri_host_has(host, "sys/module/mlx_compat"))
		out->kind = RI_OFED_MELLANOX;
	if (out->kind == RI_OFED_MELLANOX && read_series(out->version, out->series) == NULL)
		out->series[0] = out->series[1] = 0;
}

const char *ri_ofed_name(const struct ri_ofed *ofed)
{
	/* 24.10 was the last series that came under both names */
	if (ofed->series[0] == 0 || ofed->series[0] == 24)
		return "MLNX_OFED or DOCA-OFED";
	return ofed->series[0] < 24 ? "MLNX_OFED" : "DOCA-OFED";
}
