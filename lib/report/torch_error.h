/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that a rank of torch leaves where TORCHELASTIC_ERROR_FILE says
 * (torch/distributed/elastic/multiprocessing/errors/error_handler.py: an
 * exception is {"message": {"message": "Type: text", "extraInfo":
 * {"py_callstack": ..., "timestamp": seconds as a string}}}, and other writers
 * put a plain string and a timestamp at the top). Only what went through
 * torch's @record writes one; a rank that a signal killed has none.
 */
#ifndef RI_REPORT_TORCH_ERROR_H
#define RI_REPORT_TORCH_ERROR_H

#include "base/text.h"
#include "model/json.h"

struct ri_torch_error {
	char message[512];	/* "Type: text", cut to what fits */
	char callstack[16384];	/* the end of the traceback; "": none is there */
};

/*
 * Read the file's content, without its secrets. Returns false where it is not
 * understood.
 */
bool ri_torch_error_read(struct ri_span text, struct ri_torch_error *out);

/* Its time, in seconds since 1970. Returns false where it has none. */
bool ri_torch_error_time(struct ri_span text, uint64_t *seconds);

/*
 * All of it for a document of ours, without its secrets; null where it is not
 * understood, NULL when out of memory.
 */
json_t *ri_torch_error_json(struct ri_json *json, struct ri_span text);

#endif
