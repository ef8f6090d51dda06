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

/* What is left of a line. */
struct line {
	const char *rest;
};

static bool is_over(const struct line *line)
{
	return line->rest[0] == '\0';
}

/* A blank stands before each word but the first; a word is not empty. */
static bool take_word(struct line *line, char *out, size_t size)
{
	size_t length = strcspn(line->rest, " ");

	if (length == 0 || length >= size)
		return false;
	snprintf(out, size, "%.*s", (int)length, line->rest);
	line->rest += length;
	if (line->rest[0] == ' ' && line->rest[1] != '\0')
		line->rest++;
	return line->rest[0] != ' ';
}

static bool take_number(struct line *line, uint64_t most, uint64_t *out)
{
	char word[24];
	uint64_t number;

	if (!take_word(line, word, sizeof(word)) ||
		ri_digits_read(word, &number) != strlen(word) || number > most)
		return false;
	*out = number;
	return true;
}

static struct ri_probe_device *last_device(struct ri_probe *probe)
{
	return probe->device_count == 0 ? NULL : &probe->devices[probe->device_count - 1];
}

/* The steps that are about a device are about the one that was opened last. */
static bool take_device(struct ri_probe *probe, struct line *line)
{
	const struct ri_probe_device *device = last_device(probe);
	char name[RI_PROBE_NAME];

	return take_word(line, name, sizeof(name)) && device != NULL && device->answer.ok &&
		strcmp(device->name, name) == 0;
}

static bool try_open(struct ri_probe *probe, struct line *line)
{
	struct ri_probe_device *device;

	if (!probe->list.ok || probe->device_count == RI_MAX_HCAS ||
		probe->device_count == probe->listed)
		return false;
	device = &probe->devices[probe->device_count++];
	*device = (struct ri_probe_device){ .answer.tried = true };
	return take_word(line, device->name, sizeof(device->name));
}

static bool try_port(struct ri_probe *probe, struct line *line)
{
	struct ri_probe_device *device = last_device(probe);
	struct ri_probe_port *port;
	uint64_t number;

	if (!take_device(probe, line) || device->port_count == RI_MAX_HCA_PORTS ||
		!take_number(line, UINT8_MAX, &number))
		return false;
	port = &device->ports[device->port_count++];
	*port = (struct ri_probe_port){ .answer.tried = true, .port.number = (unsigned)number };
	return true;
}

static bool try_memory(struct ri_probe *probe, struct line *line)
{
	struct ri_probe_memory *asked = &probe->asked;

	*asked = (struct ri_probe_memory){ .answer.tried = true };
	if (!take_device(probe, line) || !take_number(line, UINT64_MAX, &asked->size))
		return false;
	ri_text_copy(asked->device, sizeof(asked->device), last_device(probe)->name);
	return asked->size > 0;
}

static struct ri_gpu_state *last_gpu(struct ri_probe *probe)
{
	return probe->gpu_count == 0 ? NULL : &probe->gpus[probe->gpu_count - 1];
}

static bool try_gpu(struct ri_probe *probe, struct line *line)
{
	struct ri_gpu_state *gpu;
	uint64_t index;

	if (!probe->init.ok || !probe->list.ok || probe->gpu_count == RI_GPU_STATES ||
		probe->gpu_count == probe->listed || !take_number(line, UINT32_MAX, &index))
		return false;
	gpu = &probe->gpus[probe->gpu_count++];
	*gpu = (struct ri_gpu_state){ .index = index, .answer.tried = true };
	return true;
}

/* The GPU that was opened last, and nothing twice. */
static bool try_ask(struct ri_probe *probe, struct line *line)
{
	struct ri_gpu_state *gpu = last_gpu(probe);
	char word[16];
	uint64_t index;

	if (gpu == NULL || !gpu->answer.ok || !take_number(line, UINT32_MAX, &index) ||
		index != gpu->index || !take_word(line, word, sizeof(word)))
		return false;
	probe->question = ri_gpu_asked_find(word);
	if (probe->question == RI_GPU_ASKED_COUNT ||
		gpu->asked[probe->question].answer.tried)
		return false;
	gpu->asked[probe->question].answer.tried = true;
	return true;
}

/* The fields behind "try STEP". */
static bool read_try(struct ri_probe *probe, struct line *line)
{
	switch (probe->at) {
	case RI_PROBE_LOAD:
		probe->load.tried = true;
		line->rest += strlen(line->rest);	/* a path, blanks and all */
		return probe->subject[0] != '\0';
	case RI_PROBE_LIST:
		probe->list.tried = true;
		return probe->load.ok;
	case RI_PROBE_OPEN:
		return try_open(probe, line);
	case RI_PROBE_PORT:
		return try_port(probe, line);
	case RI_PROBE_MEMORY:
		return try_memory(probe, line);
	case RI_PROBE_CLOSE:
		return take_device(probe, line);
	case RI_PROBE_INIT:
		probe->init.tried = true;
		return probe->load.ok;
	case RI_PROBE_GPU:
		return try_gpu(probe, line);
	case RI_PROBE_ASK:
		return try_ask(probe, line);
	default:
		probe->version.tried = true;
		return probe->load.ok;
	}
}

static bool begin_step(struct ri_probe *probe, struct line *line)
{
	char word[16];

	if (probe->answer.tried && !probe->answer.given)
		return false;
	if (!take_word(line, word, sizeof(word)))
		return false;
	for (unsigned step = RI_PROBE_LOAD; step < RI_PROBE_STEPS; step++) {
		if (strcmp(word, steps[step]) != 0)
			continue;
		probe->at = (enum ri_probe_step)step;
		probe->answer = (struct ri_probe_answer){ .tried = true };
		ri_text_copy(probe->subject, sizeof(probe->subject), line->rest);
		return read_try(probe, line) && is_over(line);
	}
	return false;
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

static bool read_port(struct ri_probe_port *port, struct line *line)
{
	/* IBV_LINK_LAYER_... */
	static const enum ri_link layers[] = { RI_LINK_UNKNOWN, RI_LINK_INFINIBAND,
		RI_LINK_ETHERNET };
	uint64_t layer, width, speed;

	if (!take_number(line, UINT8_MAX, &port->port.state) ||
		!take_number(line, UINT8_MAX, &port->port.phys) ||
		!take_number(line, UINT8_MAX, &layer) || !take_number(line, UINT8_MAX, &width) ||
		!take_number(line, UINT32_MAX, &speed) ||
		!take_number(line, UINT32_MAX, &port->lid) ||
		!take_number(line, UINT32_MAX, &port->port.manager))
		return false;
	port->port.link = layer < sizeof(layers) / sizeof(layers[0]) ? layers[layer]
		: RI_LINK_UNKNOWN;
	port->port.rate = ri_link_rate(width, speed);
	return true;
}

/* A word, and "" for "-", which is what is unknown. */
static bool take_name(struct line *line, char *out, size_t size)
{
	if (!take_word(line, out, size))
		return false;
	if (strcmp(out, "-") == 0)
		out[0] = '\0';
	return true;
}

static bool read_open(struct ri_probe_device *device, struct line *line)
{
	uint64_t ports;

	return take_number(line, UINT8_MAX, &ports) &&
		take_name(line, device->firmware, sizeof(device->firmware));
}

static bool read_gpu(struct ri_gpu_state *gpu, struct line *line)
{
	if (!take_name(line, gpu->address, sizeof(gpu->address)) ||
		!take_name(line, gpu->uuid, sizeof(gpu->uuid)))
		return false;
	ri_gpu_address_normalise(gpu->address);
	return true;
}

static bool read_asked(struct ri_gpu_state *gpu, enum ri_gpu_asked asked, struct line *line)
{
	for (size_t i = 0; i < ri_gpu_asked_numbers(asked); i++)
		if (!take_number(line, UINT64_MAX, &gpu->asked[asked].numbers[i]))
			return false;
	return true;
}

/* Where the answer to this step is kept; NULL: nowhere. */
static struct ri_probe_answer *find_answer(struct ri_probe *probe)
{
	struct ri_probe_device *device = last_device(probe);

	switch (probe->at) {
	case RI_PROBE_LOAD:
		return &probe->load;
	case RI_PROBE_LIST:
		return &probe->list;
	case RI_PROBE_VERSION:
		return &probe->version;
	case RI_PROBE_OPEN:
		return &device->answer;
	case RI_PROBE_PORT:
		return &device->ports[device->port_count - 1].answer;
	case RI_PROBE_MEMORY:
		return &probe->asked.answer;
	case RI_PROBE_INIT:
		return &probe->init;
	case RI_PROBE_GPU:
		return &last_gpu(probe)->answer;
	case RI_PROBE_ASK:
		return &last_gpu(probe)->asked[probe->question].answer;
	default:
		return NULL;
	}
}

/* The largest that was given, the first that was not. */
static void keep_memory(struct ri_probe *probe)
{
	struct ri_probe_memory *kept = probe->asked.answer.ok ? &probe->registered
		: &probe->refused;

	if (!kept->answer.tried || (kept == &probe->registered && kept->size < probe->asked.size))
		*kept = probe->asked;
}

static void keep_text(struct ri_probe *probe, struct line *line)
{
	ri_text_copy(probe->text, sizeof(probe->text), line->rest);
	line->rest += strlen(line->rest);
}

static bool read_ok(struct ri_probe *probe, struct line *line)
{
	struct ri_probe_device *device = last_device(probe);

	switch (probe->at) {
	case RI_PROBE_LIST:
		return take_number(line, UINT32_MAX, &probe->listed);
	case RI_PROBE_OPEN:
		return read_open(device, line);
	case RI_PROBE_PORT:
		return read_port(&device->ports[device->port_count - 1], line);
	case RI_PROBE_GPU:
		return read_gpu(last_gpu(probe), line);
	case RI_PROBE_ASK:
		return read_asked(last_gpu(probe), probe->question, line);
	case RI_PROBE_VERSION:
		keep_text(probe, line);
		return true;
	default:
		return true;
	}
}

static bool read_error(struct ri_probe *probe, struct line *line)
{
	if (!take_number(line, UINT16_MAX, &probe->answer.error))
		return false;
	if (probe->at == RI_PROBE_LOAD || probe->at == RI_PROBE_VERSION)
		keep_text(probe, line);
	line->rest += strlen(line->rest);
	return true;
}

static bool end_step(struct ri_probe *probe, struct line *line, bool ok)
{
	struct ri_probe_answer *kept;

	if (!probe->answer.tried || probe->answer.given)
		return false;
	if (!(ok ? read_ok(probe, line) : read_error(probe, line)) || !is_over(line))
		return false;
	probe->answer.given = true;
	probe->answer.ok = ok;
	kept = find_answer(probe);
	if (kept != NULL)
		*kept = probe->answer;
	if (probe->at == RI_PROBE_MEMORY)
		keep_memory(probe);
	return true;
}

static bool read_line(struct ri_probe *probe, const char *text)
{
	struct line line = { .rest = text };
	char word[16];
	uint64_t rules;

	if (probe->ended || probe->exec_error != 0 || !take_word(&line, word, sizeof(word)))
		return false;
	if (!probe->began) {
		if (strcmp(word, "exec") == 0)
			return take_number(&line, UINT16_MAX, &probe->exec_error) &&
				probe->exec_error != 0 && is_over(&line);
		probe->began = strcmp(word, "rankinit-probe") == 0 &&
			take_number(&line, UINT32_MAX, &rules) && is_over(&line) &&
			rules == RI_PROBE_RULES;
		return probe->began;
	}
	if (strcmp(word, "try") == 0)
		return begin_step(probe, &line);
	if (strcmp(word, "ok") == 0 || strcmp(word, "error") == 0)
		return end_step(probe, &line, word[0] == 'o');
	probe->ended = strcmp(word, "end") == 0 && is_over(&line) &&
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
	const char *end;
	char text[RI_PROBE_LINE];

	*out = (struct ri_probe){ .at = RI_PROBE_NOTHING };
	for (size_t number = 1; size > 0; number++) {
		size_t length;

		end = memchr(bytes, '\n', size);
		if (end == NULL)
			break;
		length = (size_t)(end - bytes);
		if (!copy_line(text, bytes, length) || !read_line(out, text))
			return number;
		bytes += length + 1;
		size -= length + 1;
	}
	return 0;
}
