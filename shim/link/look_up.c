/* SPDX-License-Identifier: Apache-2.0 */
#include "link/look_up.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/helper.h"
#include "system/kept_fds.h"

enum { LOOK_UP_MS = 30000 };

struct question {
	const char *name;
	int fd;			/* for the answer */
};

/* Its answer: addresses, or an error of getaddrinfo(3) as their count. */
static void look_up(void *context)
{
	const struct question *question = context;
	struct ri_addresses answer;
	int fd = question->fd;

	/* the end of a connection, or of PID 1, is not to wait for us */
	if (fd != 0)
		fd = dup2(fd, 0);
	ri_close_between(1, ~0u);
	memset(&answer, 0, sizeof(answer));
	answer.count = ri_name_addresses(question->name, answer.list, RI_NAME_ADDRESSES);
	if (write(fd, &answer, sizeof(answer)) < 0)
		_exit(1);
}

const char *ri_look_up_begin(struct ri_look_up *look_up_, const char *name, int64_t now)
{
	struct question question = { .name = name };
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return strerror(errno);
	question.fd = ends[1];
	pid = ri_helper_start(&(struct ri_helper_task){
		.body = look_up, .context = &question, .signal = SIGCHLD,
	});
	close(ends[1]);
	if (pid == 0) {
		close(ends[0]);
		return strerror(errno);
	}
	*look_up_ = (struct ri_look_up){ .fd = ends[0], .pid = pid, .until = now + LOOK_UP_MS };
	return NULL;
}

const char *ri_look_up_end(struct ri_look_up *look_up_, struct ri_addresses *out)
{
	struct ri_look_up was = *look_up_;
	struct ri_addresses answer;
	ssize_t got;

	fcntl(was.fd, F_SETFL, O_NONBLOCK);
	got = read(was.fd, &answer, sizeof(answer));	/* of a pipe: all of it */
	close(was.fd);
	kill(was.pid, SIGKILL);
	while (waitpid(was.pid, NULL, 0) < 0 && errno == EINTR)
		;
	*look_up_ = (struct ri_look_up){ .fd = -1 };
	if (got != sizeof(answer))
		return "the name service does not answer";
	if (answer.count > 0)
		*out = answer;
	return answer.count > 0 ? NULL : answer.count == 0 ? "its name has no address"
		: answer.count == EAI_NONAME ? "no such name"
		: answer.count == EAI_AGAIN ? "its name cannot be resolved yet"
		: gai_strerror(answer.count);
}
