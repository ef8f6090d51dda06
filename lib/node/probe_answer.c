/* SPDX-License-Identifier: Apache-2.0 */
#include "node/probe_answer.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

static const char *const steps[] = {
	[RI_PROBE_NOTHING] = "", [RI_PROBE_LOAD] = "load", [RI_PROBE_LIST] = "list",
	[RI_PROBE_OPEN] = "open", [RI_PROBE_PORT] = "port", [RI_PROBE_MEMORY] = "memory",
	[RI_PROBE_CLOSE] = "close", [RI_PROBE_VERSION] = "version",
	[RI_PROBE_INIT] = "init", [RI_PROBE_GPU] = "gpu", [RI_PROBE_ASK] = "ask",
};

/* Reading it, line by line. */
struct reading {
	struct ri_probe *probe;
	const char *rest;		/* of the line */
	struct ri_probe_answer *kept;	/* where the answer to the last step goes */
};

/* A blank stands before each word but the first; a word is not empty. */
static bool take_word(struct reading *in, char *out, size_t size)
{
	size_t length = strcspn(in->rest, " ");

	if (length == 0 || length >= size)
		return false;
	snprintf(out, size, "%.*s", (int)length, in->rest);
	in->rest += length;
	if (in->rest[0] == ' ' && in->rest[1] != '\0')
		in->rest++;
	return in->rest[0] != ' ';
}

/* A word, and "" for "-", which is what is unknown. */
static bool take_name(struct reading *in, char *out, size_t size)
{
	if (!take_word(in, out, size))
		return false;
	if (strcmp(out, "-") == 0)
		out[0] = '\0';
	return true;
}

static bool take_number(struct reading *in, uint64_t most, uint64_t *out)
{
	char word[24];
	uint64_t number;

	if (!take_word(in, word, sizeof(word)) ||
		ri_digits_read(word, &number) != strlen(word) || number > most)
		return false;
	*out = number;
	return true;
}

/* All that is left, blanks and all. */
static void take_rest(struct reading *in, char *out, size_t size)
{
	ri_text_copy(out, size, in->rest);
	in->rest += strlen(in->rest);
}

static struct ri_probe_device *last_device(struct ri_probe *probe)
{
	return probe->device_count == 0 ? NULL : &probe->devices[probe->device_count - 1];
}

static struct ri_gpu_state *last_gpu(struct ri_probe *probe)
{
	return probe->gpu_count == 0 ? NULL : &probe->gpus[probe->gpu_count - 1];
}

/* The steps that are about a device are about the one that was opened last. */
static struct ri_probe_device *take_device(struct reading *in)
{
	struct ri_probe_device *device = last_device(in->probe);
	char name[RI_PROBE_NAME];

	return take_word(in, name, sizeof(name)) && device != NULL && device->answer.ok &&
		strcmp(device->name, name) == 0 ? device : NULL;
}

/*
 * Steps begin. Each function returns where the answer goes, or NULL where the step is against the
 * rules.
 */

static struct ri_probe_answer *begin_device(struct reading *in)
{
	struct ri_probe *probe = in->probe;
	struct ri_probe_device *device;

	if (!probe->list.ok || probe->device_count == RI_MAX_HCAS ||
		probe->device_count == probe->listed)
		return NULL;
	device = &probe->devices[probe->device_count++];
	return take_word(in, device->name, sizeof(device->name)) ? &device->answer : NULL;
}

static struct ri_probe_answer *begin_port(struct reading *in)
{
	struct ri_probe_device *device = take_device(in);
	struct ri_probe_port *port;
	uint64_t number;

	if (device == NULL || device->port_count == RI_MAX_HCA_PORTS ||
		!take_number(in, UINT8_MAX, &number))
		return NULL;
	port = &device->ports[device->port_count++];
	port->port.number = (unsigned)number;
	return &port->answer;
}

static struct ri_probe_answer *begin_memory(struct reading *in)
{
	struct ri_probe_memory *asked = &in->probe->asked;
	const struct ri_probe_device *device = take_device(in);

	if (device == NULL || !take_number(in, UINT64_MAX, &asked->size) || asked->size == 0)
		return NULL;
	ri_text_copy(asked->device, sizeof(asked->device), device->name);
	return &asked->answer;
}

static struct ri_probe_answer *begin_gpu(struct reading *in)
{
	struct ri_probe *probe = in->probe;
	struct ri_gpu_state *gpu;

	if (!probe->init.ok || !probe->list.ok || probe->gpu_count == RI_GPU_STATES ||
		probe->gpu_count == probe->listed)
		return NULL;
	gpu = &probe->gpus[probe->gpu_count++];
	return take_number(in, UINT32_MAX, &gpu->index) ? &gpu->answer : NULL;
}

/* The GPU that was opened last, and nothing twice. */
static struct ri_probe_answer *begin_question(struct reading *in)
{
	struct ri_probe *probe = in->probe;
	struct ri_gpu_state *gpu = last_gpu(probe);
	char word[16];
	uint64_t index;

	if (gpu == NULL || !gpu->answer.ok || !take_number(in, UINT32_MAX, &index) ||
		index != gpu->index || !take_word(in, word, sizeof(word)))
		return NULL;
	probe->question = ri_gpu_asked_find(word);
	return probe->question == RI_GPU_ASKED_COUNT ||
		gpu->asked[probe->question].answer.tried ? NULL
		: &gpu->asked[probe->question].answer;
}

/* The fields behind "try STEP". */
static struct ri_probe_answer *begin(struct reading *in)
{
	struct ri_probe *probe = in->probe;
	char path[RI_PROBE_LINE];

	switch (probe->at) {
	case RI_PROBE_LOAD:
		take_rest(in, path, sizeof(path));
		return path[0] == '\0' ? NULL : &probe->load;
	case RI_PROBE_LIST:
		return probe->load.ok ? &probe->list : NULL;
	case RI_PROBE_INIT:
		return probe->load.ok ? &probe->init : NULL;
	case RI_PROBE_VERSION:
		return probe->load.ok ? &probe->version : NULL;
	case RI_PROBE_OPEN:
		return begin_device(in);
	case RI_PROBE_PORT:
		return begin_port(in);
	case RI_PROBE_MEMORY:
		return begin_memory(in);
	case RI_PROBE_CLOSE:
		return take_device(in) == NULL ? NULL : &probe->closed;
	case RI_PROBE_GPU:
		return begin_gpu(in);
	case RI_PROBE_ASK:
		return begin_question(in);
	default:
		return NULL;
	}
}

static bool begin_step(struct reading *in)
{
	struct ri_probe *probe = in->probe;
	unsigned step = RI_PROBE_LOAD;
	char word[16];

	if ((probe->answer.tried && !probe->answer.given) || !take_word(in, word, sizeof(word)))
		return false;
	while (step < RI_PROBE_STEPS && strcmp(word, steps[step]) != 0)
		step++;
	if (step == RI_PROBE_STEPS)
		return false;
	probe->at = (enum ri_probe_step)step;
	probe->answer = (struct ri_probe_answer){ .tried = true };
	ri_text_copy(probe->subject, sizeof(probe->subject), in->rest);
	in->kept = begin(in);
	if (in->kept == NULL || in->rest[0] != '\0')
		return false;
	*in->kept = probe->answer;
	return true;
}

uint64_t ri_link_rate(uint64_t width, uint64_t speed)
{
	/* enum ib_port_width and ib_port_speed, Linux include/rdma/ib_verbs.h; Mb/s a lane */
	static const struct {
		uint64_t code, value;
	} widths[] = { { 1, 1 }, { 2, 4 }, { 4, 8 }, { 8, 12 }, { 16, 2 } },
	  speeds[] = { { 1, 2500 }, { 2, 5000 }, { 4, 10000 }, { 8, 10000 }, { 16, 14000 },
		  { 32, 25000 }, { 64, 50000 }, { 128, 100000 } };
	uint64_t lanes = 0, lane = 0;

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		lanes += widths[i].code == width ? widths[i].value : 0;
	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
		lane += speeds[i].code == speed ? speeds[i].value : 0;
	return lanes * lane;
}

static bool read_port(struct reading *in, struct ri_probe_port *port)
{
	/* IBV_LINK_LAYER_... */
	static const enum ri_link layers[] = { RI_LINK_UNKNOWN, RI_LINK_INFINIBAND,
		RI_LINK_ETHERNET };
	uint64_t layer, width, speed;

	if (!take_number(in, UINT8_MAX, &port->port.state) ||
		!take_number(in, UINT8_MAX, &port->port.phys) ||
		!take_number(in, UINT8_MAX, &layer) || !take_number(in, UINT8_MAX, &width) ||
		!take_number(in, UINT32_MAX, &speed) || !take_number(in, UINT32_MAX, &port->lid) ||
		!take_number(in, UINT32_MAX, &port->port.manager))
		return false;
	port->port.link = layer < sizeof(layers) / sizeof(layers[0]) ? layers[layer]
		: RI_LINK_UNKNOWN;
	port->port.rate = ri_link_rate(width, speed);
	return true;
}

static bool read_gpu(struct reading *in, struct ri_gpu_state *gpu)
{
	if (!take_name(in, gpu->address, sizeof(gpu->address)) ||
		!take_name(in, gpu->uuid, sizeof(gpu->uuid)))
		return false;
	ri_gpu_address_normalise(gpu->address);
	return true;
}

static bool read_numbers(struct reading *in, uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!take_number(in, UINT64_MAX, &numbers[i]))
			return false;
	return true;
}

static bool read_ok(struct reading *in)
{
	struct ri_probe *probe = in->probe;
	struct ri_probe_device *device = last_device(probe);
	uint64_t ports;

	switch (probe->at) {
	case RI_PROBE_LIST:
		return take_number(in, UINT32_MAX, &probe->listed);
	case RI_PROBE_OPEN:
		return take_number(in, UINT8_MAX, &ports) &&
			take_name(in, device->firmware, sizeof(device->firmware));
	case RI_PROBE_PORT:
		return read_port(in, &device->ports[device->port_count - 1]);
	case RI_PROBE_GPU:
		return read_gpu(in, last_gpu(probe));
	case RI_PROBE_ASK:
		return read_numbers(in, last_gpu(probe)->asked[probe->question].numbers,
			ri_gpu_asked_numbers(probe->question));
	case RI_PROBE_VERSION:
		take_rest(in, probe->text, sizeof(probe->text));
		return true;
	default:
		return true;
	}
}

static bool read_error(struct reading *in)
{
	struct ri_probe *probe = in->probe;
	char text[RI_PROBE_LINE];

	if (!take_number(in, UINT16_MAX, &probe->answer.error))
		return false;
	take_rest(in, text, sizeof(text));
	if (probe->at == RI_PROBE_LOAD || probe->at == RI_PROBE_VERSION)
		ri_text_copy(probe->text, sizeof(probe->text), text);
	return true;
}

/* The largest that was given, the first that was not. */
static void keep_memory(struct ri_probe *probe)
{
	struct ri_probe_memory *kept = probe->asked.answer.ok ? &probe->registered
		: &probe->refused;

	if (!kept->answer.tried || (kept == &probe->registered && kept->size < probe->asked.size))
		*kept = probe->asked;
}

static bool end_step(struct reading *in, bool ok)
{
	struct ri_probe *probe = in->probe;

	if (!probe->answer.tried || probe->answer.given || !(ok ? read_ok(in) : read_error(in)) ||
		in->rest[0] != '\0')
		return false;
	probe->answer.given = true;
	probe->answer.ok = ok;
	*in->kept = probe->answer;
	if (probe->at == RI_PROBE_MEMORY)
		keep_memory(probe);
	return true;
}

static bool read_line(struct reading *in)
{
	struct ri_probe *probe = in->probe;
	char word[16];
	uint64_t rules;

	if (probe->ended || probe->exec_error != 0 || !take_word(in, word, sizeof(word)))
		return false;
	if (!probe->began) {
		if (strcmp(word, "exec") == 0)
			return take_number(in, UINT16_MAX, &probe->exec_error) &&
				probe->exec_error != 0 && in->rest[0] == '\0';
		probe->began = strcmp(word, "rankinit-probe") == 0 &&
			take_number(in, UINT32_MAX, &rules) && in->rest[0] == '\0' &&
			rules == RI_PROBE_RULES;
		return probe->began;
	}
	if (strcmp(word, "try") == 0)
		return begin_step(in);
	if (strcmp(word, "ok") == 0 || strcmp(word, "error") == 0)
		return end_step(in, word[0] == 'o');
	probe->ended = strcmp(word, "end") == 0 && in->rest[0] == '\0' &&
		(!probe->answer.tried || probe->answer.given);
	return probe->ended;
}

/* A line of printable ASCII that fits; false where it is none. */
static bool copy_line(char out[RI_PROBE_LINE], const char *bytes, size_t length)
{
	if (length >= RI_PROBE_LINE)
		return false;
	for (size_t i = 0; i < length; i++)
		if (bytes[i] < ' ' || bytes[i] > '~')
			return false;
	snprintf(out, RI_PROBE_LINE, "%.*s", (int)length, bytes);
	return true;
}

size_t ri_probe_read(struct ri_probe *out, const char *bytes, size_t size)
{
	struct reading in = { .probe = out };
	const char *end;
	char text[RI_PROBE_LINE];

	*out = (struct ri_probe){ .at = RI_PROBE_NOTHING };
	for (size_t number = 1; size > 0; number++) {
		size_t length;

		end = memchr(bytes, '\n', size);
		if (end == NULL)
			break;
		length = (size_t)(end - bytes);
		in.rest = text;
		if (!copy_line(text, bytes, length) || !read_line(&in))
			return number;
		bytes += length + 1;
		size -= length + 1;
	}
	return 0;
}
