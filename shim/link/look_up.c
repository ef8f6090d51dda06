/* SPDX-License-Identifier: Apache-2.0 */
#include "link/look_up.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "system/name_service.h"
#include "system/spares.h"

enum { LOOK_UP_MS = 30000 };

socklen_t ri_socket_address_read(union ri_socket_address *out, const char *text, uint16_t port)
{
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &out->four.sin_addr) == 1) {
		out->four.sin_family = AF_INET;
		out->four.sin_port = htons(port);
		return sizeof(out->four);
	}
	if (inet_pton(AF_INET6, text, &out->six.sin6_addr) == 1) {
		out->six.sin6_family = AF_INET6;
		out->six.sin6_port = htons(port);
		return sizeof(out->six);
	}
	return 0;
}

/* Its answer: an address, or '?' and why there is none. */
__attribute__((noreturn)) static void look_up(const char *name, int fd)
{
	char answer[INET6_ADDRSTRLEN + 64] = "?";
	int error;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* the end of a connection, or of PID 1, is not to wait for us */
	if (fd != 0)
		fd = dup2(fd, 0);
	ri_close_between(1, ~0u);
	error = ri_name_resolve(name, answer, sizeof(answer));
	if (error != 0)
		ri_text_copy(answer + 1, sizeof(answer) - 1, error == EAI_NONAME ? "no such name"
			: error == EAI_AGAIN ? "its name cannot be resolved yet"
			: gai_strerror(error));
	if (error != 0)
		answer[0] = '?';
	_exit(write(fd, answer, strlen(answer)) < 0);
}

const char *ri_look_up_begin(struct ri_look_up *look_up_, const char *name, int64_t now)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return strerror(errno);
	pid = fork();
	if (pid == 0)
		look_up(name, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return strerror(errno);
	}
	*look_up_ = (struct ri_look_up){ .fd = ends[0], .pid = pid, .until = now + LOOK_UP_MS };
	return NULL;
}

const char *ri_look_up_end(struct ri_look_up *look_up_, char address[INET6_ADDRSTRLEN + 16])
{
	static char answer[INET6_ADDRSTRLEN + 64];
	struct ri_look_up was = *look_up_;
	ssize_t got;

	fcntl(was.fd, F_SETFL, O_NONBLOCK);
	got = read(was.fd, answer, sizeof(answer) - 1);
	close(was.fd);
	kill(was.pid, SIGKILL);
	while (waitpid(was.pid, NULL, 0) < 0 && errno == EINTR)
		;
	*look_up_ = (struct ri_look_up){ .fd = -1 };
	if (got <= 0)
		return "the name service does not answer";
	answer[got] = '\0';
	if (answer[0] == '?')
		return answer + 1;
	ri_text_copy(address, INET6_ADDRSTRLEN + 16, answer);
	return NULL;
}
