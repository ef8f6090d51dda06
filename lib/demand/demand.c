/* SPDX-License-Identifier: Apache-2.0 */
#include "demand/demand.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

enum {
	ITEM = 64,	/* longer than any topic or id with its numbers */
	MAX_COUNT = 1024,
	MAX_RATE = 100000,
};

static const char *const topics[] = {
	[RI_TOPIC_MPI] = "mpi", [RI_TOPIC_OFED] = "ofed", [RI_TOPIC_GPU] = "gpu",
	[RI_TOPIC_IB] = "ib", [RI_TOPIC_SHM] = "shm",
};

/* What may stand after the '=', and what is said where it does not. */
static const char *const forms[] = {
	[RI_TOPIC_MPI] = "mpi", [RI_TOPIC_OFED] = "ofed",
	[RI_TOPIC_GPU] = "gpu or gpu=N, as gpu=8",
	[RI_TOPIC_IB] = "ib, ib=N or ib=N@RATE, as ib=8@400 for eight ports of 400 Gb/s",
	[RI_TOPIC_SHM] = "a size with a unit, as shm=16G",
};

bool ri_size_read(const char *text, size_t length, uint64_t *out)
{
	static const char units[] = "kmgt";
	uint64_t number;
	char copy[ITEM], *rest, *unit;
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

/* One word of the list, cut at its '='. */
struct item {
	char name[ITEM];
	char *value;	/* NULL: none */
};

static int bad_item(const struct ri_demand_list *list, const struct item *item,
	const char *expected, struct ri_error *err)
{
	char quoted[RI_QUOTE_SIZE], whole[2 * ITEM];

	snprintf(whole, sizeof(whole), "%s%s%s", item->name, item->value == NULL ? "" : "=",
		item->value == NULL ? "" : item->value);
	return ri_fail(err, RI_CODE_OPTION_VALUE, list->subject, "%s: expected %s",
		ri_quote(quoted, sizeof(quoted), whole), expected);
}

static bool read_count(const char *text, uint64_t max, uint64_t *out)
{
	const struct ri_range range = { 1, max };

	return ri_number_read(text, range, out, NULL) == RI_NUMBER_OK;
}

/* "8" or "8@400" */
static bool read_ports(char *value, struct ri_demand *out)
{
	char *at = strchr(value, '@');
	bool good;

	if (at != NULL)
		*at = '\0';
	good = read_count(value, MAX_COUNT, &out->count) &&
		(at == NULL || read_count(at + 1, MAX_RATE, &out->rate));
	/* as it was, for the error that names it */
	if (at != NULL)
		*at = '@';
	return good;
}

/* "16G"; a bare "16" is never meant as bytes. */
static bool read_size(const char *value, uint64_t *out)
{
	size_t length = strlen(value);

	return strspn(value, "0123456789") < length && ri_size_read(value, length, out) &&
		*out > 0;
}

static bool read_value(enum ri_topic topic, char *value, struct ri_demand *out)
{
	switch (topic) {
	case RI_TOPIC_GPU:
		return value == NULL || read_count(value, MAX_COUNT, &out->count);
	case RI_TOPIC_IB:
		return value == NULL || read_ports(value, out);
	case RI_TOPIC_SHM:
		return value != NULL && read_size(value, &out->size);
	default:
		return value == NULL;
	}
}

static int unknown_item(const struct ri_demand_list *list, const struct item *item,
	struct ri_error *err)
{
	const char *names[RI_TOPIC_COUNT + RI_MAX_CHECKS], *nearest;
	const char *fact = list->fact_of_check == NULL ? NULL : list->fact_of_check(item->name);
	size_t count = 0;

	bad_item(list, item, "mpi, ofed, gpu, ib, shm or the id of a check", err);
	if (fact != NULL)
		return ri_fail_hint(err, RI_DEMAND_FACT, fact);
	for (; count < RI_TOPIC_COUNT; count++)
		names[count] = topics[count];
	for (size_t i = 0; i < RI_MAX_CHECKS && list->ids[i] != NULL; i++)
		names[count++] = list->ids[i];
	nearest = ri_text_nearest(item->name, names, count);
	/* in names as short as these one change may be any letter */
	for (size_t i = 0; nearest == NULL && i < RI_TOPIC_COUNT; i++)
		if (ri_text_distance(item->name, topics[i]) == 1)
			nearest = topics[i];
	if (nearest != NULL)
		return ri_fail_hint(err, "did you mean %s?", nearest);
	return ri_fail_hint(err, "see rankinit --list=checks");
}

static int add_check(struct ri_demands *demands, const struct ri_demand_list *list,
	const struct item *item, struct ri_error *err)
{
	for (size_t i = 0; i < RI_MAX_CHECKS && list->ids[i] != NULL; i++) {
		if (item->value != NULL || strcmp(item->name, list->ids[i]) != 0)
			continue;
		if ((demands->by_id[list->asker][i / 64] >> i % 64 & 1) != 0)
			return bad_item(list, item, "each of them only once", err);
		ri_demands_add_check(demands, i, (struct ri_demand){
			.subject = list->subject, .asker = list->asker,
		});
		return 0;
	}
	return unknown_item(list, item, err);
}

static int add_item(struct ri_demands *demands, const struct ri_demand_list *list,
	struct item *item, struct ri_error *err)
{
	struct ri_demand demand = { .subject = list->subject, .asker = list->asker };

	for (unsigned topic = 0; topic < RI_TOPIC_COUNT; topic++) {
		if (strcmp(item->name, topics[topic]) != 0)
			continue;
		if (demands->topics[list->asker][topic].subject != NULL)
			return bad_item(list, item, "each of them only once", err);
		if (!read_value((enum ri_topic)topic, item->value, &demand))
			return bad_item(list, item, forms[topic], err);
		ri_demands_add(demands, (enum ri_topic)topic, demand);
		return 0;
	}
	return add_check(demands, list, item, err);
}

int ri_demands_read(struct ri_demands *demands, const struct ri_demand_list *list,
	struct ri_error *err)
{
	struct item item;
	size_t length;

	for (const char *text = list->text;; text += length + 1) {
		length = strcspn(text, ",");
		snprintf(item.name, sizeof(item.name), "%.*s", (int)length, text);
		/* what was cut off may be what counts */
		item.value = NULL;
		if (length >= sizeof(item.name))
			return unknown_item(list, &item, err);
		item.value = strchr(item.name, '=');
		if (item.value != NULL)
			*item.value++ = '\0';
		if (add_item(demands, list, &item, err) < 0)
			return -1;
		if (text[length] == '\0')
			return 0;
	}
}

const char *ri_demands_skip_none(const char *list, bool *none)
{
	size_t length = strcspn(list, ",");

	*none = length == strlen("none") && memcmp(list, "none", length) == 0;
	if (!*none)
		return list;
	return list[length] == '\0' ? NULL : list + length + 1;
}

/* Is there a word of this name, whatever its value? */
static bool names(const char *list, const char *name, size_t length)
{
	for (;; list++) {
		if (strncmp(list, name, length) == 0 && strchr("=,", list[length]) != NULL)
			return true;
		list += strcspn(list, ",");
		if (*list == '\0')
			return false;
	}
}

const char *ri_demands_join(const char *first, const char *second, struct ri_arena *arena)
{
	size_t size = strlen(first) + strlen(second) + 2, length;
	char *bytes = ri_arena_alloc(arena, size);
	struct ri_text out;

	if (bytes == NULL)
		return NULL;
	ri_text_init(&out, bytes, size);
	for (;; first += length + 1) {
		length = strcspn(first, ",");
		if (!names(second, first, strcspn(first, "=,"))) {
			ri_text_add_bytes(&out, first, length);
			ri_text_add(&out, ",");
		}
		if (first[length] == '\0')
			break;
	}
	ri_text_add(&out, second);
	return bytes;
}

void ri_demands_add(struct ri_demands *demands, enum ri_topic topic, struct ri_demand demand)
{
	demands->topics[demand.asker][topic] = demand;
}

const char *ri_topic_name(enum ri_topic topic)
{
	return topics[topic];
}

void ri_demands_add_check(struct ri_demands *demands, size_t n, struct ri_demand demand)
{
	demands->checks[demand.asker] = demand;
	demands->by_id[demand.asker][n / 64] |= (uint64_t)1 << n % 64;
}

bool ri_demand_is_firm(const struct ri_demand *demand)
{
	return demand != NULL && demand->asker >= RI_ASKER_LEVEL;
}

const struct ri_demand *ri_demands_find(const struct ri_demands *demands, enum ri_topic topic)
{
	for (unsigned asker = RI_ASKER_COUNT; asker-- > 0;)
		if (demands->topics[asker][topic].subject != NULL)
			return &demands->topics[asker][topic];
	return NULL;
}

const struct ri_demand *ri_demands_unmet(const struct ri_demands *demands, enum ri_topic topic,
	enum ri_demand_number number, uint64_t found)
{
	for (unsigned asker = RI_ASKER_COUNT; asker-- > 0;) {
		const struct ri_demand *demand = &demands->topics[asker][topic];
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

const struct ri_demand *ri_demands_check(const struct ri_demands *demands, size_t n)
{
	for (unsigned asker = RI_ASKER_COUNT; asker-- > 0;)
		if ((demands->by_id[asker][n / 64] >> n % 64 & 1) != 0)
			return &demands->checks[asker];
	return NULL;
}
