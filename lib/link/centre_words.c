/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "link/centre.h"

enum { NAMED_MAX = 8 };	/* nodes that are suspected */

const char *ri_centre_host(const struct ri_centre *centre, size_t node)
{
	const char *host = centre->nodes[node].host;

	if (host[0] == '\0')
		host = centre->host(centre->context, node);
	return host == NULL ? "" : host;
}

void ri_centre_add_node(struct ri_text *out, const struct ri_centre *centre, size_t node)
{
	const char *host = ri_centre_host(centre, node);

	ri_text_addf(out, "node %zu", node);
	if (host[0] != '\0') {
		ri_text_add(out, " (");
		ri_text_add_shown(out, host, RI_LINK_WORD);
		ri_text_add(out, ")");
	}
}

void ri_centre_add_suspects(struct ri_text *out, const struct ri_centre *centre, int64_t now)
{
	size_t named = 0;

	for (size_t i = 0; i < centre->count && named < NAMED_MAX; i++) {
		const struct ri_centre_node *node = &centre->nodes[i];
		bool done = node->ended && node->class == RI_LINK_DONE;
		bool left = !done && node->phase == RI_LINK_LEAVING;
		bool gone = !node->here && !node->ended && !ri_link_life_is_none(&node->life);

		if (!done && !left && !gone)
			continue;
		ri_text_add(out, left ? "  a rank of " : "  ");
		ri_centre_add_node(out, centre, i);
		if (done || left)
			ri_text_add(out, " had ended with 0\n");
		else
			ri_text_addf(out, " has been silent for %lld s\n",
				(long long)(now - node->heard_at) / 1000);
		named++;
	}
}

void ri_centre_add_below(struct ri_text *out, const char *lines, size_t most)
{
	for (const char *line = lines, *end; *line != '\0'; line = end) {
		end = line + strcspn(line, "\n");
		if ((size_t)(end - lines) > most)
			break;
		ri_text_addf(out, "  %.*s\n", (int)(end - line), line);
		end += *end == '\n';
	}
}
