/* SPDX-License-Identifier: Apache-2.0 */
#include "demand/demand.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum {
	DIGITS = 64,	/* bytes of a size, as it is written */
	MAX_COUNT = 1024,
	MAX_RATE = 100000,
	NAME = 64,	/* of a VM size */
};

static const struct {
	const char *name;
	/* what may stand after the '=', and what is said where it does not */
	const char *form;
} topics[] = {
	[RI_TOPIC_MPI] = { "mpi", "mpi" }, [RI_TOPIC_OFED] = { "ofed", "ofed" },
	[RI_TOPIC_GPU] = { "gpu", "gpu or gpu=N, as gpu=8" },
	[RI_TOPIC_IB] = { "ib",
		"ib, ib=N or ib=N@RATE, as ib=8@400 for eight ports of 400 Gb/s" },
	[RI_TOPIC_SHM] = { "shm", "a size with a unit, as shm=16G" },
};

bool ri_size_read(const char *text, size_t length, uint64_t *out)
{
	static const char units[] = "kmgt";
	uint64_t number;
	char copy[DIGITS], *rest, *unit;
	unsigned shift = 0;
	size_t digits;

	if (length == 0 || length >= sizeof(copy))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	digits = ri_digits_read(copy, &number);
	if (digits == 0 || digits != strspn(copy, "0123456789"))
		return false;
	rest = copy + digits;
	if (*rest != '\0') {
		unit = strchr(units, *rest | 0x20);
		if (unit == NULL)
			return false;
		shift = 10 * (unsigned)(unit - units + 1);
		rest++;
		rest += *rest == 'i';
		rest += *rest == 'B' || *rest == 'b';
	}
	if (*rest != '\0' || number > UINT64_MAX >> shift)
		return false;
	*out = number << shift;
	return true;
}

const char *ri_size_show(char out[RI_SIZE_TEXT], uint64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned unit = 0;
	uint64_t one;

	if (bytes == UINT64_MAX) {
		ri_text_copy(out, RI_SIZE_TEXT, "unlimited");
		return out;
	}
	while (unit < 6 && bytes >> (10 * (unit + 1)) != 0)
		unit++;
	one = (uint64_t)1 << (10 * unit);
	snprintf(out, RI_SIZE_TEXT, bytes % one == 0 ? "%.0f %s" : "%.1f %s",
		(double)bytes / (double)one, units[unit]);
	return out;
}

static bool read_count(const char *text, uint64_t max, uint64_t *out)
{
	return ri_number_read(text, (struct ri_range){ 1, max }, out, NULL) == RI_NUMBER_OK;
}

const char *ri_demand_read(struct ri_demand *out, enum ri_topic topic, char *value)
{
	/* "8" or "8@400" of ports */
	char *at = value == NULL || topic != RI_TOPIC_IB ? NULL : strchr(value, '@');
	bool good = value == NULL;

	if (at != NULL)
		*at = '\0';
	if (topic == RI_TOPIC_GPU || topic == RI_TOPIC_IB)
		good = good || (read_count(value, MAX_COUNT, &out->count) &&
			(at == NULL || read_count(at + 1, MAX_RATE, &out->rate)));
	else if (topic == RI_TOPIC_SHM)
		/* "16G"; a bare "16" is never meant as bytes */
		good = value != NULL && strspn(value, "0123456789") < strlen(value) &&
			ri_size_read(value, strlen(value), &out->size) && out->size > 0;
	/* as it was, for the error that names it */
	if (at != NULL)
		*at = '@';
	return good ? NULL : topics[topic].form;
}

void ri_demands_add_size(struct ri_asked *asked, enum ri_asker asker)
{
	const struct ri_azure_size *size = asked->size;

	if (size == NULL)
		return;
	if (size->gpus > 0 && asked->topics[RI_TOPIC_GPU].subject == NULL)
		asked->topics[RI_TOPIC_GPU] = (struct ri_demand){
			.subject = size->word, .asker = asker, .count = size->gpus,
		};
	if (size->network == RI_AZURE_INFINIBAND && asked->topics[RI_TOPIC_IB].subject == NULL)
		asked->topics[RI_TOPIC_IB] = (struct ri_demand){
			.subject = size->word, .asker = asker, .count = size->ports,
			.rate = size->rate,
		};
}

const char *ri_topic_name(enum ri_topic topic)
{
	return topics[topic].name;
}

bool ri_demand_is_firm(const struct ri_demand *demand)
{
	return demand != NULL && demand->asker == RI_ASKER_REQUIRE;
}

const struct ri_demand *ri_demands_find(const struct ri_demands *demands, enum ri_topic topic)
{
	for (unsigned asker = RI_ASKER_COUNT; asker-- > 0;)
		if (demands->of[asker].topics[topic].subject != NULL)
			return &demands->of[asker].topics[topic];
	return NULL;
}

const struct ri_demand *ri_demands_unmet(const struct ri_demands *demands, enum ri_topic topic,
	enum ri_demand_number number, uint64_t found)
{
	for (unsigned asker = RI_ASKER_COUNT; asker-- > 0;) {
		const struct ri_demand *demand = &demands->of[asker].topics[topic];
		uint64_t asked = number == RI_DEMAND_COUNT ? demand->count
			: number == RI_DEMAND_RATE ? demand->rate : demand->size;

		/* a bare "gpu" asks for one */
		if (number == RI_DEMAND_COUNT && asked == 0)
			asked = 1;
		if (demand->subject != NULL && found < asked)
			return demand;
	}
	return NULL;
}

const struct ri_demand *ri_demands_check(const struct ri_demands *demands, size_t n, bool family)
{
	for (unsigned asker = RI_ASKER_COUNT; asker-- > 0;)
		if (ri_check_set_has(family ? &demands->of[asker].by_family
			: &demands->of[asker].by_id, n))
			return &demands->of[asker].checks;
	return NULL;
}

void ri_check_set_add(struct ri_check_set *set, size_t n)
{
	set->words[n / 64] |= (uint64_t)1 << n % 64;
}

bool ri_check_set_has(const struct ri_check_set *set, size_t n)
{
	return (set->words[n / 64] >> n % 64 & 1) != 0;
}

static const struct ri_azure_size sizes[] = {
#define RI_AZURE_SIZE(name_, gpus_, ports_, rate_, network_) \
	{ .word = "azure=" name_, .name = name_, .gpus = gpus_, .ports = ports_, .rate = rate_, \
		.network = RI_AZURE_##network_ },
#include "demand/azure_sizes.def"
#undef RI_AZURE_SIZE
};

/* In small letters, without "standard_" and the number of cores that are left. */
static bool make_plain(const char *name, char out[NAME])
{
	static const char prefix[] = "standard_";
	const size_t skip = sizeof(prefix) - 1;
	size_t length = 0;
	char *dash;

	for (; *name != '\0'; name++) {
		if (length == NAME - 1)
			return false;
		out[length++] = *name >= 'A' && *name <= 'Z' ? (char)(*name | 0x20) : *name;
	}
	out[length] = '\0';
	if (strncmp(out, prefix, skip) == 0)
		memmove(out, out + skip, length - skip + 1);
	dash = strchr(out, '-');
	length = dash == NULL ? 0 : strspn(dash + 1, "0123456789");
	if (length > 0)
		memmove(dash, dash + 1 + length, strlen(dash + 1 + length) + 1);
	return true;
}

const struct ri_azure_size *ri_azure_size_find(const char *name)
{
	char plain[NAME];

	if (!make_plain(name, plain))
		return NULL;
	for (size_t i = 0; i < RI_ARRAY_SIZE(sizes); i++)
		if (strcmp(sizes[i].name, plain) == 0)
			return &sizes[i];
	return NULL;
}

const char *ri_azure_size_nearest(const char *name)
{
	const char *names[RI_ARRAY_SIZE(sizes)];
	char plain[NAME];

	if (!make_plain(name, plain))
		return NULL;
	for (size_t i = 0; i < RI_ARRAY_SIZE(sizes); i++)
		names[i] = sizes[i].name;
	return ri_text_nearest(plain, names, RI_ARRAY_SIZE(sizes));
}
