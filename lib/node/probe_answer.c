/* SPDX-License-Identifier: Apache-2.0 */
#include "node/probe_answer.h"

static bool is_text(const char *text, size_t size)
{
	size_t length = 0;

	while (length < size && text[length] >= ' ' && text[length] <= '~')
		length++;
	return length < size && text[length] == '\0';
}

#define IS_TEXT(array) is_text(array, sizeof(array))

bool ri_probe_check(struct ri_probe *probe)
{
	bool good = probe->magic == RI_PROBE_MAGIC && probe->size == sizeof(*probe) &&
		probe->at < RI_PROBE_STEPS && probe->question < RI_GPU_ASKED_COUNT &&
		probe->device_count <= RI_MAX_HCAS && probe->gpu_count <= RI_GPU_STATES &&
		IS_TEXT(probe->subject) && IS_TEXT(probe->text) &&
		IS_TEXT(probe->registered.device) && IS_TEXT(probe->refused.device);

	for (size_t i = 0; good && i < probe->device_count; i++)
		good = IS_TEXT(probe->devices[i].name) && IS_TEXT(probe->devices[i].firmware) &&
			probe->devices[i].port_count <= RI_MAX_HCA_PORTS;
	for (size_t i = 0; good && i < probe->gpu_count; i++) {
		good = IS_TEXT(probe->gpus[i].address) && IS_TEXT(probe->gpus[i].uuid);
		if (good)
			ri_gpu_address_normalise(probe->gpus[i].address);
	}
	return good;
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
