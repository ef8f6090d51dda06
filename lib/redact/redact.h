/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets out of somebody else's text, before it is shown or stored. Secret is
 * the value of a name that redact.def lists, in every usual spelling: NAME=value,
 * "name": "value", {"name": "NAME", "value": "value"}, ('NAME', 'value'), YAML
 * with the value below its name, <name>value</name>, --name value, in a
 * connection string, in an URL; the user and password of an URL; what follows
 * "Bearer"; what has the form of a known kind of token; a private key between its
 * BEGIN and END. A number, None, True, what stands for a secret ($NAME, <name>,
 * ***), a path and an ordinary sentence stay (tests/unit/redact.hidden and
 * redact.kept). In doubt the value of an unmistakable name goes.
 */
#ifndef RI_REDACT_REDACT_H
#define RI_REDACT_REDACT_H

#include "base/text.h"
#include "base/span.h"

/* What stands in the place of a secret. */
#define RI_REDACTED "***"

/*
 * Append text without its secrets, which is at most twice as long. Give it whole
 * lines, and all of them at once: a quoted value may go on in the next one.
 * Returns how often it looked at a byte: at most RI_REDACT_LOOKS times as many as
 * the text has, whatever the text is.
 */
size_t ri_redact(struct ri_text *out, struct ri_span text);

#define RI_REDACT_LOOKS 400

/* A star for each byte of a secret, in its place: what stands behind it stays where it is. */
void ri_redact_mask(char *text);

#endif
