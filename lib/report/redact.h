/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets out of somebody else's text, before it is shown or stored. Secret is
 * the value of a name with KEY, TOKEN, SECRET, SAS, PASS or AUTHORIZATION in
 * it, of any case: NAME=value, "name": "value", name: value, --name value;
 * the user and password of an URL; sig=... and the like of a signed one; what
 * follows "Bearer"; a private key between its BEGIN and END lines. In doubt
 * too much goes: a line of a log may lose a harmless word.
 */
#ifndef RI_REPORT_REDACT_H
#define RI_REPORT_REDACT_H

#include "base/text.h"
#include "report/span.h"

/* What stands in the place of a secret. */
#define RI_REDACTED "***"

/*
 * Append text without its secrets. Give it whole lines, and all of them at
 * once: a quoted value may go on in the next one.
 */
void ri_redact(struct ri_text *out, struct ri_span text);

/* Does the name say that its value is secret? */
bool ri_redact_is_secret(struct ri_span name);

#endif
