/* SPDX-License-Identifier: Apache-2.0 */
#include "link/centre.h"

enum { NAMED_MAX = 10 };	/* nodes, or ranges of them, in one line */

const char *ri_centre_host(const struct ri_centre *centre, size_t node)
{
	const char *host = centre->nodes[node].host;

	if (host[0] == '\0')
		host = centre->host(centre->context, node);
	return host == NULL ? "" : host;
}

void ri_centre_add_node(struct ri_text *out, const struct ri_centre *centre, size_t node)
{
	ri_link_add_node(out, node, ri_centre_host(centre, node));
}

size_t ri_centre_add_listed(struct ri_text *out, struct ri_centre *centre)
{
	struct ri_ranges ranges = { .out = out, .between = ", " };
	size_t count = 0, said = 0;

	for (size_t i = 0; i < centre->count; i++)
		count += centre->nodes[i].listed;
	ri_text_add(out, count > NAMED_MAX ? "nodes " : "");
	for (size_t i = 0; i < centre->count; i++) {
		if (!centre->nodes[i].listed)
			continue;
		centre->nodes[i].listed = false;
		if (count <= NAMED_MAX) {
			ri_text_add(out, said++ == 0 ? "" : ", ");
			ri_centre_add_node(out, centre, i);
		} else if (ranges.count < NAMED_MAX || i == ranges.last + 1) {
			ri_ranges_add(&ranges, i);
			said++;
		}
	}
	ri_ranges_end(&ranges);
	if (count > said)
		ri_text_addf(out, " and %zu more", count - said);
	return count;
}

void ri_centre_tell(struct ri_centre *centre, const char *line)
{
	struct ri_link_message news = { .kind = RI_LINK_NEWS };

	ri_link_text_set(news.news.text, RI_LINK_TEXT, line);
	for (size_t i = 0; i < centre->count; i++) {
		if (centre->nodes[i].here)
			centre->send(centre->context, centre->nodes[i].session, &news);
		if (centre->nodes[i].guest.here)
			centre->send(centre->context, centre->nodes[i].guest.session, &news);
	}
}

void ri_centre_send_all(const struct ri_centre *centre, const struct ri_link_message *message)
{
	for (size_t i = 0; i < centre->count; i++)
		if (centre->nodes[i].here)
			centre->send(centre->context, centre->nodes[i].session, message);
}

bool ri_centre_is_unheard(const struct ri_centre *centre, const struct ri_centre_node *node)
{
	/* an answer comes behind the failure, be it in the same ms */
	if (!node->taken || node->ended || node->answered || node->said_at > centre->failed_at)
		return false;
	/* what closes its connection has said all */
	return node->here ? centre->arrived != NULL &&
		!centre->arrived(centre->context, node->session) : !node->closed;
}

bool ri_centre_is_disputed(const struct ri_centre *centre, const struct ri_centre_node *node)
{
	int64_t later = node->guest.born - centre->begun;

	return node->guest.here && centre->begun - node->born > (later < 0 ? -later : later);
}
