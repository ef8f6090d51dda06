/* SPDX-License-Identifier: Apache-2.0 */
#include "link/centre.h"

#include <string.h>

enum {
	SUSPECTS = 8,		/* each in a line */
	ARRIVES_MS = 40,	/* an answer of a kernel to what was sent just now: so often, */
	ARRIVES_MOST = 5,
	ORDER_LOOK_MS = 100,	/* no kernel tells that something has arrived */
};

/* Nodes that may explain a loss, each in a line: without a word, or gone. */
static void add_suspects(struct ri_text *out, const struct ri_centre *centre, int64_t now)
{
	size_t named = 0;

	for (size_t i = 0; i < centre->count; i++) {
		const struct ri_centre_node *node = &centre->nodes[i];
		bool done = node->ended && node->class == RI_CLASS_NONE;
		bool left = !done && node->phase == RI_LINK_LEAVING;
		bool gone = !node->here && !node->ended && !ri_link_life_is_none(&node->life);

		if ((!done && !left && !gone) || named++ >= SUSPECTS)
			continue;
		ri_text_add(out, left ? "  a rank of " : "  ");
		ri_centre_add_node(out, centre, i);
		if (done || left)
			ri_text_add(out, " had ended with 0\n");
		else if (node->closed)
			ri_text_add(out, " closed its connection without a word, as when its "
				"container is killed\n");
		else
			ri_text_addf(out, " has been silent for %lld s\n",
				(long long)(now - node->heard_at) / 1000);
	}
	if (named > SUSPECTS)
		ri_text_addf(out, "  and %zu more nodes are silent, or ranks of them had ended "
			"with 0\n", named - SUSPECTS);
}

/* Lines of a node below ours, as many whole ones as there are in so many bytes. */
static void add_below(struct ri_text *out, const char *lines, size_t most)
{
	for (const char *line = lines, *end; *line != '\0'; line = end) {
		end = line + strcspn(line, "\n");
		if ((size_t)(end - lines) > most)
			break;
		ri_text_addf(out, "  %.*s\n", (int)(end - line), line);
		end += *end == '\n';
	}
}

/* Where a rank has ended with 0 the others may be writing the last checkpoint. */
static bool may_order(const struct ri_centre *centre)
{
	return centre->orders && centre->fatal && centre->left == 0;
}

static const struct ri_centre_node *find_unheard(const struct ri_centre *centre, bool is_here)
{
	for (size_t i = 0; i < centre->count; i++)
		if (centre->nodes[i].here >= is_here &&
			ri_centre_is_unheard(centre, &centre->nodes[i]))
			return &centre->nodes[i];
	return NULL;
}

/*
 * What was sent just now, as the question where this process runs late, needs a moment to arrive:
 * no order waits for that, and no restart fails of it.
 */
static bool awaits_arrival(struct ri_centre *centre, int64_t now)
{
	if (centre->arrivals == ARRIVES_MOST || find_unheard(centre, true) == NULL)
		return false;
	centre->arrivals++;
	centre->settle_at = now + ARRIVES_MS;
	centre->ask_at = INT64_MAX;
	return true;
}

/* The job has failed, and does not wait for ever. */
static void withhold_order(struct ri_centre *centre, struct ri_text *lines, int64_t now)
{
	const struct ri_centre_node *node = may_order(centre) ? find_unheard(centre, false) : NULL;

	if (node == NULL)
		return;
	centre->order_at = now + RI_CENTRE_UNHEARD_MS;
	centre->order_look_at = now + ORDER_LOOK_MS;
	ri_text_add(lines, "  no rank is stopped before ");
	ri_centre_add_node(lines, centre, (size_t)(node - centre->nodes));
	ri_text_addf(lines, " is heard again, at most for %d s: its ranks may have ended with 0\n",
		RI_CENTRE_UNHEARD_MS / 1000);
}

/* It waited for a node that was silent: by now all is known of it, or too late. */
static void give_order(struct ri_centre *centre, int64_t now)
{
	if (now < centre->order_at && find_unheard(centre, false) == NULL &&
		centre->order_at > now + RI_CENTRE_WORDS_MS)
		centre->order_at = now + RI_CENTRE_WORDS_MS;
	centre->order_look_at = now + ORDER_LOOK_MS < centre->order_at ? now + ORDER_LOOK_MS
		: centre->order_at;
	if (now < centre->order_at)
		return;
	centre->order_at = 0;
	for (size_t i = 0; i < centre->count && may_order(centre); i++)
		if (centre->nodes[i].here)
			ri_decision_send(centre, i);
}

void ri_decision_send(struct ri_centre *centre, size_t node)
{
	struct ri_link_message message = { .kind = RI_LINK_VERDICT,
		.decision = centre->decision };
	struct ri_centre_node *member = &centre->nodes[node];
	bool culprit = centre->decision.verdict.node == (int64_t)node;
	bool rival = centre->tied && centre->ends[1].verdict.node == (int64_t)node;

	message.decision.order = may_order(centre) && centre->order_at == 0 &&
		member->taken && member->may_stop && (member->lives || (!culprit && !rival)) &&
		!(member->ended &&
			(member->class == RI_CLASS_NONE || member->class == RI_CLASS_STOPPED));
	member->told = true;
	centre->send(centre->context, member->session, &message);
}

/* The first decision stands. Each member that is connected gets it at once. */
static void decide(struct ri_centre *centre, const char *text, int64_t now)
{
	RI_TEXT(lines, RI_LINK_TEXT + RI_MAX_LINE);

	ri_text_add(&lines, text);
	centre->decided = true;
	if (centre->failed_at == 0)
		centre->failed_at = now;
	centre->settle_at = 0;
	withhold_order(centre, &lines, now);
	ri_joint_decide(centre, &lines);
	ri_link_text_set(centre->decision.text, RI_LINK_TEXT, lines.bytes);
	for (size_t i = 0; i < centre->count; i++)
		if (centre->nodes[i].here)
			ri_decision_send(centre, i);
}

void ri_decision_make(struct ri_centre *centre, const struct ri_link_end *end,
	const char *text, int64_t now)
{
	struct ri_verdict *verdict = &centre->decision.verdict;

	*verdict = end->verdict;
	ri_text_copy(verdict->host, sizeof(verdict->host),
		ri_centre_host(centre, (size_t)verdict->node));
	centre->fatal = end->fatal && end->verdict.class != RI_CLASS_STOPPED;
	decide(centre, text, now);
}

/* Losses alone: a node whose ranks lost a peer is not to blame for it. */
static void decide_losses(struct ri_centre *centre, int64_t now)
{
	const struct ri_link_end *first = &centre->ends[0];
	RI_TEXT(lines, RI_LINK_TEXT);

	ri_text_addf(&lines, "cannot tell which rank failed first: ranks of %zu %s lost others, "
		"and no rank failed of itself\n", centre->losers,
		centre->losers == 1 ? "node" : "nodes");
	add_suspects(&lines, centre, now);
	ri_text_add(&lines, "  the first to lose another was ");
	ri_centre_add_node(&lines, centre, (size_t)first->verdict.node);
	ri_text_add(&lines, ":\n");
	add_below(&lines, first->text, RI_LINK_TEXT);
	centre->fatal = first->fatal;
	centre->decision.verdict = (struct ri_verdict){ .why = first->verdict.why,
		.class = RI_CLASS_LOSS, .rank = -1, .node = -1, .mark = RI_CENTRE_LOSSES };
	decide(centre, lines.bytes, now);
}

/* The time is over, or all have been heard: the best that is known decides. */
static void decide_best(struct ri_centre *centre, int64_t now)
{
	const struct ri_link_end *best = &centre->ends[0], *other = &centre->ends[1];
	bool both = centre->end_count == 2;
	RI_TEXT(lines, RI_LINK_TEXT);

	if (best->verdict.class == RI_CLASS_LOSS) {
		decide_losses(centre, now);
		return;
	}
	centre->tied = both && ri_link_end_is_tie(best, other);
	if (centre->tied) {
		/* which of two comes first is not known: both are named */
		ri_text_addf(&lines, "two nodes failed within %llu ms, and their clocks are known "
			"to %llu ms, so either may be the first:\n",
			(unsigned long long)(other->at_us - best->at_us) / 1000,
			(unsigned long long)(best->error_us + other->error_us) / 1000 + 1);
		for (size_t i = 0; i < 2; i++)
			add_below(&lines, centre->ends[i].text,
				RI_LINK_TEXT / 2 - RI_MAX_QUOTE * 2);
		ri_decision_make(centre, best, lines.bytes, now);
		return;
	}
	ri_text_add(&lines, best->text);
	if (both && other->verdict.class == RI_CLASS_UNKNOWN &&
		ri_link_end_is_earlier(other, best)) {
		ri_text_add(&lines, "  before that, and without a word:\n");
		add_below(&lines, other->text, RI_LINK_TEXT);
	}
	ri_decision_make(centre, best, lines.bytes, now);
}

/* Keep the best two; of a node that says more than before, that. */
static void weigh(struct ri_centre *centre, const struct ri_link_end *end)
{
	struct ri_link_end *ends = centre->ends, first;
	size_t at = centre->end_count;

	for (size_t i = 0; i < centre->end_count; i++)
		if (ends[i].verdict.node == end->verdict.node)
			at = i;
	if (at == 2 && !ri_link_end_outweighs(end, &ends[1]))
		return;
	at = at == 2 ? 1 : at;
	ends[at] = *end;
	if (at == centre->end_count)
		centre->end_count++;
	if (centre->end_count == 2 && ri_link_end_outweighs(&ends[1], &ends[0])) {
		first = ends[0];
		ends[0] = ends[1];
		ends[1] = first;
	}
}

/*
 * Can it tell of no earlier end any more? An answer comes behind the failure, so that what is
 * heard after it is later: when all nodes have answered, or ended, no time need pass.
 */
static bool is_clear(const struct ri_centre_node *node)
{
	bool is_guest = !node->taken && !ri_link_life_is_none(&node->life);

	return node->answered || is_guest || (node->ended && !node->lives && !node->open &&
		node->class != RI_CLASS_LOSS);
}

static void ask(struct ri_centre *centre, enum ri_class class, int64_t now)
{
	struct ri_link_message message = { .kind = RI_LINK_ASK };

	centre->questions = centre->questions || (class == RI_CLASS_OWN && centre->keyed);
	message.ask.waits = centre->questions;
	centre->ask_at = now + RI_CENTRE_ASK_MS;
	for (size_t i = 0; i < centre->count; i++)
		if (centre->nodes[i].here && !is_clear(&centre->nodes[i]))
			centre->send(centre->context, centre->nodes[i].session, &message);
}

/*
 * Could no node tell an end any more that says more? Without questions that is known where all have
 * ended. A node that was clear once is not looked at again: thousands answer, one after the other.
 */
static bool all_are_heard(struct ri_centre *centre)
{
	bool ended = true;

	while (centre->questions && centre->clear < centre->count &&
		is_clear(&centre->nodes[centre->clear]))
		centre->clear++;
	if (centre->questions)
		return centre->clear == centre->count;
	for (size_t i = 0; i < centre->count && ended; i++)
		ended = centre->nodes[i].ended && !centre->nodes[i].lives &&
			centre->nodes[i].class != RI_CLASS_LOSS;
	return ended;
}

/* An end that another node's may explain, or precede: it gets the time to come. */
static void settle(struct ri_centre *centre, const struct ri_link_end *end, int64_t now)
{
	enum ri_class class = end->verdict.class;
	int64_t until = now + (class == RI_CLASS_OWN ? RI_CENTRE_OWN_MS : RI_CENTRE_SETTLE_MS);
	bool begins = centre->settle_at == 0;

	centre->losers += class == RI_CLASS_LOSS;
	if (centre->failed_at == 0)
		centre->failed_at = now;
	if (begins || until < centre->settle_at)
		centre->settle_at = until;
	weigh(centre, end);
	/* last: the helper of a node that ends may answer before this returns */
	if (begins || (class == RI_CLASS_OWN && centre->keyed && !centre->questions))
		ask(centre, class, now);
	if (!centre->decided && all_are_heard(centre))
		decide_best(centre, now);
}

/* "node 1 (gpu-0514): WORDS", for an end that is not one of the job; some name it themselves. */
static void tell_end(struct ri_centre *centre, size_t node, const char *words)
{
	RI_TEXT(name, RI_MAX_LINE);
	RI_TEXT(lines, RI_LINK_TEXT);

	if (centre->ends_told++ >= RI_CENTRE_ENDS)
		return;
	ri_centre_add_node(&name, centre, node);
	if (strncmp(words, name.bytes, name.length) != 0)
		ri_text_addf(&lines, "%s: ", name.bytes);
	ri_text_add(&lines, words);
	ri_centre_tell(centre, lines.bytes);
}

/* A rank of it has ended with 0. */
static void leave(struct ri_centre *centre, size_t node)
{
	centre->left += !centre->nodes[node].left;
	centre->nodes[node].left = true;
}

void ri_decision_take_end(struct ri_centre *centre, size_t node, const struct ri_link_end *said,
	int64_t now)
{
	static struct ri_link_end end;
	struct ri_centre_node *member = &centre->nodes[node];
	enum ri_class class = said->verdict.class;

	member->said_at = now;
	if (member->ended && !ri_link_class_outweighs(class, member->class))
		return;
	if (class != RI_CLASS_NONE && !centre->decided && ri_centre_is_disputed(centre, member)) {
		tell_end(centre, node, said->text);
		return;
	}
	member->ended = true;
	member->class = class;
	member->lives = said->lives;
	member->open = said->open;
	end = *said;
	end.verdict.node = (int64_t)node;
	if (class == RI_CLASS_NONE) {
		leave(centre, node);
	} else if (centre->decided || centre->gathers) {
		return;
	} else if (!end.fatal) {
		tell_end(centre, node, end.text);
	} else if (class == RI_CLASS_STOPPED && centre->end_count > 0 &&
		centre->ends[0].verdict.class > RI_CLASS_LOSS) {
		decide_best(centre, now);	/* a failure was there before the stop */
	} else if (class == RI_CLASS_STOPPED) {
		ri_decision_make(centre, &end, end.text, now);
	} else {
		settle(centre, &end, now);
	}
}

void ri_decision_take_phase(struct ri_centre *centre, size_t node, enum ri_link_phase phase,
	int64_t now)
{
	struct ri_centre_node *member = &centre->nodes[node];

	member->said_at = now;
	if (phase > member->phase)
		member->phase = phase;
	if (phase == RI_LINK_LEAVING)
		leave(centre, node);
}

void ri_decision_take_answer(struct ri_centre *centre, size_t node, int64_t now)
{
	struct ri_centre_node *member = &centre->nodes[node];

	member->said_at = now;
	member->answered = member->answered || centre->questions;
	if (centre->settle_at != 0 && all_are_heard(centre))
		decide_best(centre, now);
}

int64_t ri_decision_due(const struct ri_centre *centre)
{
	int64_t due = centre->settle_at == 0 ? INT64_MAX
		: centre->settle_at < centre->ask_at ? centre->settle_at : centre->ask_at;

	return centre->order_at != 0 && centre->order_look_at < due ? centre->order_look_at : due;
}

void ri_decision_pass(struct ri_centre *centre, int64_t now)
{
	if (centre->settle_at != 0 && now >= centre->settle_at && !awaits_arrival(centre, now))
		decide_best(centre, now);
	else if (centre->settle_at != 0 && now >= centre->ask_at)
		ask(centre, RI_CLASS_LOSS, now);
	if (centre->order_at != 0)
		give_order(centre, now);
}

void ri_centre_hurry(struct ri_centre *centre, int64_t now)
{
	if (centre->settle_at != 0)
		decide_best(centre, now);
}
